"""A line of text made into what a model reads, with the words it is made of kept track of."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..alignment.pieces import Segmentation, Sentence, Span, segment
from ..files import words_of
from .subwords import SentencePiece, Splitter, SubwordNmt
from .tags import TAGS
from .vocabulary import NUMBERS

CACHED_WORDS = 40_000
"""Words of each side whose pieces are remembered, the last used ones: bounds the memory on a text of any length."""

LONGEST_WORD = 1000
"""Letters; what is longer is no word but damage. It is one unknown piece: splitting it would take very long."""


@dataclass(frozen=True)
class EncodedLine:
    """One side of a pair: the indices the model takes and the sentence they stand for."""

    indices: list[int]
    """Without the end of sentence on the target side, with it on the source side; as many as pieces."""
    sentence: Sentence

    def __len__(self) -> int:
        return len(self.indices)


class LineCoder(Protocol):
    """Lines of one language made into what a model reads; counts the pieces that the model does not know."""

    seen: int
    unknown: int
    scheme: str

    def __call__(self, line: str) -> EncodedLine:
        """Return the pieces, indices and words of a line."""
        ...


class LineEncoder:
    """Tokenizes, splits into pieces and looks up the lines of one language.

    Words are grouped by the pieces as they are written, not by what the dictionary knows: an unknown piece that ends in
    ``@@`` still belongs to its word.
    """

    def __init__(
        self,
        dictionary: Any,
        splitter: Splitter,
        *,
        tokenizer: Callable[[str], list[str]] | None = None,
        lowercase: bool = False,
        front: Sequence[int] = (),
        end: Sequence[int] = (),
        tags: str = TAGS,
    ) -> None:
        """``front``, ``end``: the indices of what is added to each line: language tags, the end of sentence."""
        self._dictionary = dictionary
        self._splitter = splitter
        self.scheme = splitter.scheme
        """How pieces are marked; :func:`check_words_known` says whether words can be made of them."""
        self._words = "words" if splitter.scheme == NUMBERS else splitter.scheme
        self._tokenizer = tokenizer
        self._lowercase = lowercase
        self._front = [dictionary[index] for index in front]
        self._end = [dictionary[index] for index in end]
        self._is_tag = re.compile(tags).fullmatch
        self._pieces_of = functools.lru_cache(CACHED_WORDS)(self._split)
        self.seen = 0
        """Pieces so far, language tags not counted."""
        self.unknown = 0
        """Those among them that the dictionary lacks."""

    def __call__(self, line: str) -> EncodedLine:
        """The pieces, indices and words of a line."""
        words = words_of(line)
        front = next((n for n, word in enumerate(words) if not self._is_tag(word)), len(words))
        tags, words = [tag for tag in words[:front] if tag not in self._front], words[front:]
        if self._tokenizer is not None:
            words = self._tokenizer(" ".join(words))
        if self._lowercase:
            words = [word.lower() for word in words]
        split = self._word_by_word if isinstance(self._splitter, SubwordNmt) else self._whole
        return self._encoded([*self._front, *tags], *split(words))

    def _whole(self, words: list[str]) -> tuple[Sequence[str], list[str], list[int], Sequence[Span]]:
        """-> words, pieces, indices, spans."""
        pieces = self._splitter(words)
        found = segment(pieces, self._words)
        if isinstance(self._splitter, SentencePiece) and len(found.spans) != len(words):
            return self._word_by_word(words)  # its normalization has split or joined words
        if found.specials:
            pieces = [pieces[position] for start, stop in found.spans for position in range(start, stop)]
            found = segment(pieces, self._words)
        return found.words, pieces, [self._dictionary.index(piece) for piece in pieces], found.spans

    def _word_by_word(self, words: list[str]) -> tuple[Sequence[str], list[str], list[int], Sequence[Span]]:
        pieces: list[str] = []
        indices: list[int] = []
        spans: list[Span] = []
        for word in words:
            known = self._pieces_of(word)
            start = len(pieces)
            pieces += known[0]
            indices += known[1]
            spans.append((start, len(pieces)))
        return words, pieces, indices, spans

    def _split(self, word: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The pieces of a word and their indices. Pieces that the dictionary has are its own texts, not copies."""
        if len(word) > LONGEST_WORD:
            return (self._dictionary.unk_word,), (self._dictionary.unk(),)
        pieces = self._splitter([word]) or [self._dictionary.unk_word]  # a word that normalization makes vanish
        indices = tuple(self._dictionary.index(piece) for piece in pieces)
        unknown = self._dictionary.unk()
        named = zip(pieces, indices, strict=True)
        return tuple(piece if index == unknown else self._dictionary[index] for piece, index in named), indices

    def _encoded(
        self, tags: list[str], words: Sequence[str], pieces: list[str], indices: list[int], spans: Sequence[Span]
    ) -> EncodedLine:
        self.seen += len(indices)
        self.unknown += indices.count(self._dictionary.unk())
        front, last = len(tags), len(tags) + len(pieces)
        end = self._end
        specials = (*range(front), *range(last, last + len(end)))
        moved = tuple((start + front, stop + front) for start, stop in spans) if front else tuple(spans)
        each = tuple((position, position + 1) for position in range(front, last))
        return EncodedLine(
            [*map(self._dictionary.index, tags), *indices, *map(self._dictionary.index, end)],
            Sentence(
                (*tags, *pieces, *end),
                Segmentation(tuple(words), moved, specials),
                Segmentation(tuple(pieces), each, specials),
            ),
        )

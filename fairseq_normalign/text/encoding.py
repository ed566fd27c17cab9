"""A line of text made into what a model reads, with the words it is made of kept track of."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..links.pieces import Segmentation, Sentence, Span, crosses_words, segment
from .offsets import piece_ranges, piece_spans, piece_texts
from .subwords import AlreadyPieces, SentencePiece, Splitter, SubwordNmt
from .vocabulary import NUMBERS, TAGS, Dictionary
from .words import WordFinder, join_unspaced, lowered, may_be_unspaced, places_of, space_words, spaced_words, words_at

CACHED_WORDS = 40_000
"""Words of each side whose pieces are remembered, the last used ones: bounds the memory on a text of any length."""

LONGEST_WORD = 1000
"""Letters; what is longer is no word but damage. It is one unknown piece: splitting it would take very long."""


SHARED_LINES, LONGEST_SHARED = 4096, 2000
"""Lines, and letters of a line, whose words are remembered: both directions tokenize the lines of a window."""


@functools.lru_cache(SHARED_LINES)
def _tokenized(tokenizer: Callable[[str], list[str]], line: str, start: int, text: str) -> tuple[list[str], list[Span]]:
    """Return the words that the tokenizer makes of a text, and their places in the line, where the text has a start."""
    words = tokenizer(text)
    return words, [(start + one, start + other) for one, other in places_of(line[start:], words)]


@dataclass(frozen=True)
class Line:
    """One side of a pair: the indices the model takes and the sentence they stand for."""

    indices: list[int]
    """Without the end of sentence on the target side, with it on the source side; as many as pieces."""
    sentence: Sentence
    text: str = ""
    """The line as it was given."""
    places: tuple[Span, ...] = ()
    """The place ``(start, end)`` of each word in that line."""

    @property
    def given_words(self) -> tuple[str, ...]:
        """The words as they are written in the line; what stands there in pieces is put together."""
        written = words_at(self.text, self.places)
        words = self.sentence.by_word.words
        return tuple(
            word if not own or " " in own or "\t" in own else own for own, word in zip(written, words, strict=True)
        )

    def __len__(self) -> int:
        return len(self.indices)


class LineCoder(Protocol):
    """Lines of one language made into what a model reads; counts the pieces that the model does not know."""

    seen: int
    unknown: int
    scheme: str

    def __call__(self, line: str, places: Sequence[Span] | None = None) -> Line:
        """Return the pieces, indices and words of a line; ``places``: where its words are, if that is known."""
        ...


class LineEncoder:
    """Tokenizes, splits into pieces and looks up the lines of one language.

    Words are grouped by the pieces as they are written, not by what the dictionary knows: an unknown piece that ends in
    ``@@`` still belongs to its word.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        splitter: Splitter,
        *,
        tokenizer: Callable[[str], list[str]] | None = None,
        words: WordFinder | None = None,
        lowercase: bool = False,
        front: Sequence[int] = (),
        end: Sequence[int] = (),
        tags: str = TAGS,
    ) -> None:
        """``front``, ``end``: the indices of what is added to each line: language tags, the end of sentence.

        ``words`` finds the words of natural text; without it they are what the tokenizer makes, or spaces separate.
        """
        self._dictionary = dictionary
        self._splitter = splitter
        self.scheme = splitter.scheme
        """How pieces are marked; :func:`check_words_known` says whether words can be made of them."""
        self._words = "words" if splitter.scheme == NUMBERS else splitter.scheme
        self._tokenizer = tokenizer
        self._find = words
        self._lowercase = lowercase
        self._front = [dictionary[index] for index in front]
        self._end = [dictionary[index] for index in end]
        self._is_tag = re.compile(tags).fullmatch
        self._pieces_of = functools.lru_cache(CACHED_WORDS)(self._split)
        self.seen = 0
        """How many pieces were encoded so far, language tags not counted."""
        self.unknown = 0
        """How many of these pieces the dictionary lacks."""

    def __call__(self, line: str, places: Sequence[Span] | None = None) -> Line:
        """The pieces, indices and words of a line; ``places``: where its words are, if that is known."""
        given = space_words(line)
        words = words_at(line, given)
        count = next((n for n, word in enumerate(words) if not self._is_tag(word)), len(words))
        tags = [*self._front, *(tag for tag in words[:count] if tag not in self._front)]
        given, words = given[count:], words[count:]
        start = given[0][0] if given else len(line)
        in_pieces, is_sentencepiece = (isinstance(self._splitter, kind) for kind in (AlreadyPieces, SentencePiece))
        if in_pieces:
            places = None  # the pieces tell the words
        if self._find is not None and words:
            if places is None:
                places = [(start + one, start + other) for one, other in self._find(line[start:])]
            if is_sentencepiece or self._tokenizer is not None:
                inner = [(one - start, other - start) for one, other in places]
                return self._by_offsets(line, tags, places, line[start:], inner)
            words = [lowered(word) if self._lowercase else word for word in words_at(line, places)]
            return self._encoded(line, places, tags, *self._word_by_word(words))

        if places is not None:
            given = [place for place in places if place[0] >= start]
            words = words_at(line, given)
        elif self._tokenizer is not None and words:
            tokenize = _tokenized if len(line) <= LONGEST_SHARED else _tokenized.__wrapped__
            words, given = tokenize(self._tokenizer, line, start, " ".join(words))
        if self._lowercase:
            words = [word.lower() for word in words]
        if is_sentencepiece and may_be_unspaced(line):
            text, inner = join_unspaced(line, given)
            if text != spaced_words(line, given)[0]:
                return self._by_offsets(line, tags, given, text, inner)
        if isinstance(self._splitter, SubwordNmt):
            return self._encoded(line, given, tags, *self._word_by_word(words))

        pieces = self._splitter(words)
        if is_sentencepiece and any(map(crosses_words, pieces)):
            return self._by_offsets(line, tags, given, *spaced_words(line, given))
        found = segment(pieces, self._words)
        if is_sentencepiece and len(found.spans) != len(words):  # its normalization has split or joined words
            return self._encoded(line, given, tags, *self._word_by_word(words))
        if found.specials:
            pieces = [pieces[position] for start, stop in found.spans for position in range(start, stop)]
            found = segment(pieces, self._words)
        if in_pieces:  # from the first piece of each word to its last
            given = [(given[first][0], given[stop - 1][1]) for first, stop in segment(words, self._words).spans]
        indices = [self._dictionary.index(piece) for piece in pieces]
        return self._encoded(line, given, tags, found.words, pieces, indices, found.spans)

    def _by_offsets(self, line: str, tags: list[str], places: Sequence[Span], text: str, inner: Sequence[Span]) -> Line:
        """Pieces of ``text`` that belong to words by their characters; ``inner``: the words in that text."""
        text = lowered(text) if self._lowercase else text
        words = [lowered(word) if self._lowercase else word for word in words_at(line, places)]
        tokens = [text] if self._tokenizer is None else self._tokenizer(text)
        pieces = self._splitter(tokens) if all(len(word) <= LONGEST_WORD for word in words) else []
        spans = piece_spans(text, piece_texts(pieces, self._words, unknown=self._dictionary.unk_word))
        ranges = piece_ranges(inner, spans)
        if not ranges:
            return self._encoded(line, places, tags, *self._word_by_word(words))
        indices = [self._dictionary.index(piece) for piece in pieces]
        return self._encoded(line, places, tags, words, pieces, indices, ranges)

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
        self,
        line: str,
        places: Sequence[Span],
        tags: list[str],
        words: Sequence[str],
        pieces: Sequence[str],
        indices: list[int],
        spans: Sequence[Span],
    ) -> Line:
        self.seen += len(indices)
        self.unknown += indices.count(self._dictionary.unk())
        front, last = len(tags), len(tags) + len(pieces)
        end = self._end
        specials = (*range(front), *range(last, last + len(end)))
        moved = tuple((start + front, stop + front) for start, stop in spans) if front else tuple(spans)
        by_word = Segmentation(tuple(words), moved, specials)
        return Line(
            [*map(self._dictionary.index, tags), *indices, *map(self._dictionary.index, end)],
            Sentence.of((*tags, *pieces, *end), by_word),
            line,
            tuple(places),
        )


def line_of_pieces(
    indices: list[int],
    sentence: Sentence,
    scheme: str,
    *,
    find: WordFinder | None = None,
    text_of: Callable[[Sequence[str]], str] = " ".join,
    in_pieces: bool = False,
) -> Line:
    """Return what a model put out as a line: its text, and the words in it, found by ``find`` or made by the pieces.

    ``text_of`` makes natural text of the words that pieces make up; ``in_pieces``: the line is written in pieces.
    """
    if in_pieces:
        pieces = sentence.by_piece.words
        text, each = spaced_words(" ".join(pieces), space_words(" ".join(pieces)))
        place_of = {span[0]: place for span, place in zip(sentence.by_piece.spans, each, strict=True)}
        places = [(place_of[start][0], place_of[stop - 1][1]) for start, stop in sentence.by_word.spans]
        return Line(indices, sentence, text, tuple(places))
    text = text_of(sentence.by_word.words)
    if find is None:
        return Line(indices, sentence, text, tuple(places_of(text, sentence.by_word.words)))
    words = find(text)
    special = set(sentence.by_word.specials)
    texts = piece_texts(sentence.pieces, scheme, unknown="<unk>")
    spans = piece_spans(text, ["" if place in special else one for place, one in enumerate(texts)])
    ranges = piece_ranges(words, spans)
    by_word = Segmentation(tuple(words_at(text, words)) if ranges else (), tuple(ranges), sentence.by_word.specials)
    return Line(indices, Sentence(sentence.pieces, by_word, sentence.by_piece), text, tuple(words))


def batches_by_length(sizes: Sequence[tuple[int, int]], max_tokens: int) -> list[list[int]]:
    """Return the positions of pairs of like length, in batches of at most ``max_tokens`` pieces per side with padding.

    ``sizes`` are the lengths of source and target. A pair that is longer by itself is a batch by itself. Pairs are
    sorted by their longer side, so that neither side has much padding.
    """
    found: list[list[int]] = []
    longest = 0
    for position in sorted(range(len(sizes)), key=lambda position: (max(sizes[position]), sizes[position])):
        longest = max(longest, *sizes[position])
        if not found or (len(found[-1]) + 1) * longest > max_tokens:
            found.append([])
            longest = max(sizes[position])
        found[-1].append(position)
    return found

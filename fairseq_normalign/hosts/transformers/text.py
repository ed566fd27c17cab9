"""Lines made into what a model of ``transformers`` reads: by its own tokenizer, with the words kept track of.

Pieces belong to words by the characters they stand for: a fast tokenizer says which, for any other it is found out by
:mod:`fairseq_normalign.text.offsets`.

A model for many languages is told the source language by a piece next to the source, and the target language by a piece
that the decoder starts with (NLLB, M2M100, mBART) or that stands in front of the source (OPUS-MT with several target
languages, MADLAD, T5). Tokenizers write languages in their own way: ``deu_Latn``, ``de_DE``, ``de``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import NormalignError
from ...links.pieces import Segmentation, Sentence, Span
from ...text.encoding import CACHED_WORDS, LONGEST_WORD, Line
from ...text.offsets import piece_ranges, piece_spans, piece_texts, pieces_of_words
from ...text.vocabulary import TAGS
from ...text.words import (
    WordFinder,
    join_unspaced,
    lowered,
    may_be_unspaced,
    space_words,
    spaced_words,
    words_at,
)

END_OF_WORD = "</w>"
"""How FSMT marks the last piece of a word."""

Pieces = tuple[list[str], list[int], list[Span | None]]
"""Pieces as they are written, their indices, and their places in the text."""


@dataclass(frozen=True)
class Specials:
    """What a tokenizer puts in front of a text and behind it: indices."""

    front: tuple[int, ...]
    back: tuple[int, ...]


class Tokenizer:
    """One side, source or target, of a tokenizer of ``transformers``."""

    def __init__(self, tokenizer: Any, *, target: bool = False) -> None:
        """``tokenizer`` is this side's own: that of the target side is switched to it for good."""
        self.host = tokenizer
        self.specials = _specials(tokenizer, target)
        if target and hasattr(tokenizer, "_switch_to_target_mode"):
            tokenizer._switch_to_target_mode()
        self._target_indices = _target_indices(tokenizer) if target else None
        self.unknown: int | None = tokenizer.unk_token_id
        self.marks_ends = any(piece.endswith(END_OF_WORD) for piece in self.symbols())
        """Whether it splits words that are given, and would tokenize a text by its own rules (FSMT)."""
        self._scheme = "gpt2" if any("Ġ" in piece for piece in self.symbols()) else "sentencepiece"

    def __call__(self, text: str) -> Pieces:
        """Return the pieces of a text, without anything in front of it or behind it.

        What is written like a special piece in the text is text.
        """
        if self.host.is_fast:
            found = self.host(
                text, add_special_tokens=False, return_offsets_mapping=True, split_special_tokens=True, verbose=False
            )
            return found.tokens(), list(found["input_ids"]), [tuple(span) for span in found["offset_mapping"]]
        pieces = self.host.tokenize(text, split_special_tokens=True)
        return pieces, [self.index(piece) for piece in pieces], self.spans(text, pieces)

    def of_word(self, word: str) -> tuple[list[str], list[int]]:
        """Return the pieces of a single word and their indices; a word that is nothing to it is unknown."""
        if len(word) > LONGEST_WORD:
            pieces: list[str] = []
        elif self.marks_ends:
            if len(self.host.cache) > CACHED_WORDS:
                self.host.cache.clear()
            pieces = self.host.bpe(word.lower() if self.host.do_lower_case else word).split(" ")
        elif self.host.is_fast:
            pieces, indices, _ = self(word)
            if pieces:
                return pieces, indices
        else:
            pieces = self.host.tokenize(word, split_special_tokens=True)
        pieces = pieces or [str(self.host.unk_token)]
        return pieces, [self.index(piece) for piece in pieces]

    def index(self, piece: str) -> int:
        """Return the index of a piece as this side has it."""
        if self._target_indices is None:
            return int(self.host.convert_tokens_to_ids(piece))
        return self._target_indices.get(piece, self.unknown or 0)

    def symbols(self) -> list[str]:
        """Return every piece, by its index."""
        vocabulary = self._target_indices or self.host.get_vocab()
        symbols = [""] * (max(vocabulary.values(), default=-1) + 1)
        for piece, index in vocabulary.items():
            symbols[index] = piece
        return symbols

    def spans(self, text: str, pieces: Sequence[str]) -> list[Span | None]:
        """Return where in a text its pieces stand; None for special pieces."""
        unknown = str(self.host.unk_token)
        if self.marks_ends:
            bare = [None if piece == unknown else piece.removesuffix(END_OF_WORD) for piece in pieces]
            return piece_spans(text, bare)
        special = set(self.host.all_special_tokens) - {unknown}
        return piece_spans(text, piece_texts(pieces, self._scheme, unknown=unknown, specials=special))

    def pieces_of(self, indices: Sequence[int]) -> list[str]:
        """Return how the pieces with these indices are written."""
        return [str(piece) for piece in self.host.convert_ids_to_tokens(list(indices))]


def _specials(tokenizer: Any, target: bool) -> Specials:
    """Return the special pieces, found by encoding a short text with and without them."""
    side = {"text_target": "a"} if target else {"text": "a"}
    bare = list(tokenizer(**side, add_special_tokens=False)["input_ids"])
    whole = list(tokenizer(**side)["input_ids"])
    front = next(n for n in range(len(whole) - len(bare) + 1) if whole[n : n + len(bare)] == bare)
    return Specials(tuple(whole[:front]), tuple(whole[front + len(bare) :]))


def _target_indices(tokenizer: Any) -> dict[str, int] | None:
    """FSMT's tokenizer knows the target vocabulary by index only."""
    if not hasattr(tokenizer, "tgt_vocab_file"):
        return None
    return {piece: index for index, piece in tokenizer.decoder.items()}


class TokenizerLines:
    """Encodes the lines of one side; see :class:`fairseq_normalign.text.encoding.LineCoder`.

    Words are those that spaces separate, or what ``words`` finds in natural text. Where a piece of the whole line would
    reach into two words that spaces separate, or one would have none, words are split one by one; words found in
    natural text, and those of scripts without spaces, share the piece.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        words: WordFinder | None = None,
        lowercase: bool = False,
        tags: str = TAGS,
        front: Sequence[int] = (),
        back: Sequence[int] = (),
    ) -> None:
        """``front`` and ``back`` are the indices of what stands before and after every line and is no word."""
        self.tokenizer = tokenizer
        self.scheme = "words"  # pieces are told apart by characters, not by marks
        self._find = words
        self._lowercase = lowercase
        self._is_tag = re.compile(tags).fullmatch
        self._front, self._back = list(front), list(back)
        self._known: dict[str, tuple[list[str], list[int]]] = {}
        self.seen = 0
        self.unknown = 0

    def __call__(self, line: str, places: Sequence[Span] | None = None) -> Line:
        """Return the pieces, indices and words of a line; language tags in front of it are no words.

        ``places``: where its words are, if that is known.
        """
        tags, start = self._tags_of(line)
        find = self._find or space_words
        if places is None:
            places = [(start + one, start + other) for one, other in find(line[start:])]
        text, inner, natural = self._text(line, start, places)
        if self._lowercase:
            text = lowered(text)
        words = words_at(text, inner)
        return self._encoded(line, places, tags, words, *self._split(text, inner, words, natural))

    def _text(self, line: str, start: int, places: Sequence[Span]) -> tuple[str, list[Span], bool]:
        """What the tokenizer reads, the words in it, and whether they may share pieces."""
        if self._find is not None:
            return line[start:], [(one - start, other - start) for one, other in places], True
        spaced, inner = spaced_words(line, places)
        if not may_be_unspaced(line) or self.tokenizer.marks_ends:
            return spaced, inner, False
        text, joined = join_unspaced(line, places)
        return text, joined, text != spaced

    def _tags_of(self, line: str) -> tuple[list[int], int]:
        """The indices of the tags in front of a line that the model knows, and where they end."""
        found: list[int] = []
        for start, end in space_words(line):
            tag = line[start:end]
            index = self.tokenizer.index(tag) if self._is_tag(tag) else self.tokenizer.unknown
            if index is None or index == self.tokenizer.unknown:
                return found, start
            found.append(index)
        return found, len(line)

    def _split(
        self, text: str, places: Sequence[Span], words: Sequence[str], natural: bool
    ) -> tuple[list[str], list[int], list[Span]]:
        """-> pieces, indices, the range of pieces of each word; ``natural``: words may share pieces."""
        given = self._find is None and self.tokenizer.marks_ends
        if not given and all(len(word) <= LONGEST_WORD for word in words):
            pieces, indices, spans = self.tokenizer(text)
            ranges = piece_ranges(places, spans) if natural else word_ranges(places, spans)
            if ranges:
                return pieces, indices, ranges
        return self._word_by_word(words)

    def _word_by_word(self, words: Sequence[str]) -> tuple[list[str], list[int], list[Span]]:
        pieces: list[str] = []
        indices: list[int] = []
        ranges: list[Span] = []
        for word in words:
            known = self._known.get(word) or self._learn(word)
            ranges.append((len(pieces), len(pieces) + len(known[0])))
            pieces += known[0]
            indices += known[1]
        return pieces, indices, ranges

    def _learn(self, word: str) -> tuple[list[str], list[int]]:
        if len(self._known) >= CACHED_WORDS:
            self._known.clear()
        self._known[word] = self.tokenizer.of_word(word)
        return self._known[word]

    def _encoded(
        self,
        line: str,
        places: Sequence[Span],
        tags: list[int],
        words: Sequence[str],
        pieces: list[str],
        indices: list[int],
        ranges: Sequence[Span],
    ) -> Line:
        self.seen += len(indices)
        self.unknown += indices.count(self.tokenizer.unknown) if self.tokenizer.unknown is not None else 0
        front, back = [*self._front, *tags], self._back
        return Line(
            [*front, *indices, *back],
            sentence_of(self.tokenizer.pieces_of(front), words, pieces, ranges, self.tokenizer.pieces_of(back)),
            line,
            tuple(places),
        )


def sentence_of(
    front: Sequence[str], words: Sequence[str], pieces: Sequence[str], ranges: Sequence[Span], back: Sequence[str]
) -> Sentence:
    """Return pieces and words as a sentence; what is in no range, in front and behind above all, is no word."""
    every = (*front, *pieces, *back)
    moved = tuple((start + len(front), stop + len(front)) for start, stop in ranges)
    inside = sorted({position for span in moved for position in range(*span)})
    specials = tuple(sorted(set(range(len(every))).difference(inside)))
    return Sentence(
        every,
        Segmentation(tuple(words), moved, specials),
        Segmentation(
            tuple(every[position] for position in inside),
            tuple((position, position + 1) for position in inside),
            specials,
        ),
    )


def word_ranges(words: Sequence[Span], pieces: Sequence[Span | None]) -> list[Span] | None:
    """Return the range of pieces that makes up each word; None where a word has none of its own.

    >>> word_ranges([(0, 2), (3, 5)], [(0, 1), (1, 2), (2, 5)])
    [(0, 2), (2, 3)]
    >>> word_ranges([(0, 2), (3, 5)], [(0, 5)])
    """
    found = pieces_of_words(words, pieces)
    if [piece for group in found for piece in group] != list(range(len(pieces))) or not all(found):
        return None
    return [(group[0], group[-1] + 1) for group in found]


def joined_words(words: Sequence[Span], pieces: Sequence[Span | None]) -> tuple[list[Span], list[Span]]:
    """Return the words of a text that is given in pieces, and the range of pieces of each.

    Words that share a piece become one, and a word without pieces is left out.

    >>> joined_words([(0, 2), (2, 4), (5, 6)], [(0, 3), (3, 4), (5, 6)])
    ([(0, 4), (5, 6)], [(0, 2), (2, 3)])
    """
    places: list[Span] = []
    ranges: list[Span] = []
    for (start, stop), group in zip(words, pieces_of_words(words, pieces), strict=True):
        if not group:
            continue
        if ranges and group[0] < ranges[-1][1]:
            places[-1] = places[-1][0], stop
            ranges[-1] = ranges[-1][0], max(ranges[-1][1], group[-1] + 1)
        else:
            places.append((start, stop))
            ranges.append((group[0], group[-1] + 1))
    return places, ranges


CODE = re.compile(r"[a-z]{2,3}_[A-Za-z]{2,4}")
"""A language code where a tokenizer only lists its special pieces."""


def language_codes(tokenizer: Any) -> dict[str, int]:
    """Return the languages that a tokenizer marks by a piece of its own, and the index of that piece."""
    if not (hasattr(tokenizer, "src_lang") and hasattr(tokenizer, "prefix_tokens")):
        return {}
    known = getattr(tokenizer, "lang_code_to_id", None)
    if known:
        return dict(known)
    return {
        piece: tokenizer.convert_tokens_to_ids(piece) for piece in tokenizer.all_special_tokens if CODE.fullmatch(piece)
    }


def set_languages(tokenizer: Any, source: str | None, target: str | None, name: str) -> dict[str, int]:
    """Tell the tokenizer which languages it is about; return those it marks by a piece (none: an empty dict)."""
    codes = language_codes(tokenizer)
    if not codes:
        return {}
    for side, language in (("source", source), ("target", target)):
        if language not in codes:
            raise NormalignError(f"{name}: {_complaint(side, language, codes)}")
    tokenizer.src_lang, tokenizer.tgt_lang = source, target
    return codes


def _complaint(side: str, language: str | None, codes: dict[str, int]) -> str:
    some = ", ".join(list(codes)[:5])
    if language is None:
        return f"a model for {len(codes)} languages: its {side} language has to be given ({some}, ...)"
    near = difflib.get_close_matches(language, codes, n=3, cutoff=0.3)
    near += [code for code in codes if code.startswith(language[:2]) and code not in near][:3]
    return f"no {side} language '{language}'; did you mean {', '.join(near) or some}?"


def front_of_source(tokenizer: Tokenizer, config: Any, source: str | None, target: str | None, name: str) -> list[int]:
    """Return the pieces in front of the source that name the target language; none where the model needs none."""
    if target is None:
        return []
    for tag in (f">>{target}<<", f"<2{target}>"):
        index = tokenizer.index(tag)
        if index != tokenizer.unknown:
            return [index]
    supported = getattr(tokenizer.host, "supported_language_codes", None)
    if supported:
        near = ", ".join(tag.strip("<>") for tag in supported[:5])
        raise NormalignError(f"{name}: no target language '{target}'; this model has {near}, ...")
    tasks = getattr(config, "task_specific_params", None) or {}
    prefix = (tasks.get(f"translation_{source}_to_{target}") or {}).get("prefix")
    return tokenizer(prefix.strip())[1] if prefix else []


def start_of_target(config: Any, generation: Any, target: Tokenizer, code: int | None, codes: dict[str, int]) -> tuple:
    """Return what the decoder is given before the first piece.

    ``code``: the index of the target language, if it has a piece of its own. mBART's first models start with it alone,
    later ones with the end of sentence and then the language.
    """
    first = next(
        (
            value
            for value in (getattr(options, "decoder_start_token_id", None) for options in (generation, config))
            if value is not None
        ),
        None,
    )
    if code is not None:
        return (code,) if first is None or first in codes.values() else (first, code)
    if first is None:
        raise NormalignError("the model does not say what its decoder starts with (decoder_start_token_id)")
    return first, *target.specials.front


def languages_of(
    tokenizer: Any, config: Any, source: str | None, target: str | None, name: str
) -> tuple[str | None, str | None]:
    """Return the two languages: as they are given, or else as the model says. FSMT has one pair and no other."""
    pair = getattr(config, "langs", None)
    if not (isinstance(pair, list | tuple) and len(pair) == 2):
        pair = (getattr(tokenizer, "source_lang", None), getattr(tokenizer, "target_lang", None))
    elif any(given not in (None, own) for given, own in zip((source, target), pair, strict=True)):
        raise NormalignError(f"{name}: translates {pair[0]} to {pair[1]}, not {source} to {target}")
    return source or pair[0], target or pair[1]

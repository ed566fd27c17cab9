"""Lines made into what a model of ``transformers`` reads: by its own tokenizer, with the words kept track of.

Pieces belong to words by the characters they stand for: a fast tokenizer says which, for any other it is found out by
:mod:`fairseq_normalign.text.offsets`.

A model for many languages is told the source language by a piece next to the source, and the target language by a piece
that the decoder starts with (NLLB, M2M100, mBART) or that stands in front of the source (OPUS-MT with several target
languages, MADLAD, T5). Tokenizers write languages in their own way: ``deu_Latn``, ``de_DE``, ``de``.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...analysis.attention_batch import Inventory
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


class Tokenizer:
    """One side, source or target, of a tokenizer of ``transformers``."""

    def __init__(self, tokenizer: Any, *, target: bool = False) -> None:
        """``tokenizer`` is this side's own: that of the target side is switched to it for good."""
        self.host = tokenizer
        given = {"text_target" if target else "text": "a"}
        bare = list(tokenizer(**given, add_special_tokens=False)["input_ids"])
        whole = list(tokenizer(**given)["input_ids"])
        start = next(n for n in range(len(whole) - len(bare) + 1) if whole[n : n + len(bare)] == bare)
        self.front, self.back = whole[:start], whole[start + len(bare) :]
        """The indices of what it puts in front of a text and behind it."""
        if target and hasattr(tokenizer, "_switch_to_target_mode"):
            tokenizer._switch_to_target_mode()
        # FSMT's knows the pieces of the target by index only
        by_index = tokenizer.decoder.items() if target and hasattr(tokenizer, "tgt_vocab_file") else ()
        self._target_indices = {piece: index for index, piece in by_index}
        self.unknown: int | None = tokenizer.unk_token_id
        vocabulary = self.vocabulary
        self.marks_ends = any(piece.endswith(END_OF_WORD) for piece in vocabulary)
        """Whether it splits words that are given, and would tokenize a text by its own rules (FSMT)."""
        self._scheme = "gpt2" if any("Ġ" in piece for piece in vocabulary) else "sentencepiece"

    @property
    def vocabulary(self) -> Mapping[str, int]:
        """The index of every piece."""
        return self._target_indices or self.host.get_vocab()

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
        if self._target_indices:
            return self._target_indices.get(piece, self.unknown or 0)
        return int(self.host.convert_tokens_to_ids(piece))

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


def inventory_of(vocabulary: Mapping[str, int], tokenizer: Any) -> Inventory:
    """Return the pieces of a side by their indices; unknown words are no special piece."""
    special = dict(zip(tokenizer.all_special_tokens, tokenizer.all_special_ids, strict=True))
    known = {**special, **vocabulary}  # M2M100's languages are in no vocabulary
    symbols = [""] * (max(known.values(), default=-1) + 1)
    for piece, index in known.items():
        symbols[index] = piece
    return Inventory(symbols, frozenset(special.values()) - {tokenizer.unk_token_id})


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
        self._of_word = functools.lru_cache(CACHED_WORDS)(tokenizer.of_word)
        self.seen = 0
        self.unknown = 0

    def __call__(self, line: str, places: Sequence[Span] | None = None) -> Line:
        """Return the pieces, indices and words of a line; language tags in front of it are no words.

        ``places``: where its words are, if that is known.
        """
        tokenizer, front, start = self.tokenizer, list(self._front), len(line)
        for first, last in space_words(line):
            tag = line[first:last]
            index = tokenizer.index(tag) if self._is_tag(tag) else tokenizer.unknown
            if index is None or index == tokenizer.unknown:
                start = first
                break
            front.append(index)
        if places is None:
            places = [(start + one, start + other) for one, other in (self._find or space_words)(line[start:])]

        text, inner, may_share = line[start:], [(one - start, other - start) for one, other in places], True
        if self._find is None:
            text, inner = spaced = spaced_words(line, places)
            if may_be_unspaced(line) and not tokenizer.marks_ends:
                text, inner = join_unspaced(line, places)
            may_share = text != spaced[0]
        if self._lowercase:
            text = lowered(text)
        words = words_at(text, inner)

        ranges = None
        if (self._find or not tokenizer.marks_ends) and all(len(word) <= LONGEST_WORD for word in words):
            pieces, indices, spans = tokenizer(text)
            ranges = piece_ranges(inner, spans) if may_share else word_ranges(inner, spans)
        if not ranges:
            pieces, indices, ranges = [], [], []
            for word in words:
                some, numbers = self._of_word(word)
                ranges.append((len(pieces), len(pieces) + len(some)))
                pieces += some
                indices += numbers

        self.seen += len(indices)
        self.unknown += indices.count(tokenizer.unknown) if tokenizer.unknown is not None else 0
        around = tokenizer.pieces_of(front), tokenizer.pieces_of(self._back)
        sentence = sentence_of(around[0], words, pieces, ranges, around[1])
        return Line([*front, *indices, *self._back], sentence, line, tuple(places))


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


@dataclass(frozen=True)
class Direction:
    """Both sides of a tokenizer, and what tells the model which languages they are in."""

    source: Tokenizer
    target: Tokenizer
    languages: tuple[str | None, str | None]
    front: Sequence[int]
    """The indices of what stands in front of every source."""
    start: tuple[int, ...]
    """What the decoder is given before the first piece."""


def direction_of(sides: Sequence[Any], config: Any, generation: Any, source: Any, target: Any, name: str) -> Direction:
    """Make a tokenizer, given once for each side, that of a direction: ``source`` and ``target`` if they are given.

    ``config`` and ``generation`` are the model's; ``name`` is what messages call it.
    """
    pair = getattr(config, "langs", None)
    if not (isinstance(pair, list | tuple) and len(pair) == 2):
        pair = (getattr(sides[0], "source_lang", None), getattr(sides[0], "target_lang", None))
    elif any(given not in (None, own) for given, own in zip((source, target), pair, strict=True)):  # FSMT
        raise NormalignError(f"{name}: translates {pair[0]} to {pair[1]}, not {source} to {target}")
    languages = source, target = source or pair[0], target or pair[1]

    codes: dict[str, int] = {}  # of the languages that have a piece of their own
    if hasattr(sides[0], "src_lang") and hasattr(sides[0], "prefix_tokens"):
        listed = [piece for piece in sides[0].all_special_tokens if CODE.fullmatch(piece)]
        codes = dict(getattr(sides[0], "lang_code_to_id", None) or {})
        codes = codes or {piece: sides[0].convert_tokens_to_ids(piece) for piece in listed}
    some = ", ".join(list(codes)[:5])
    for side, language in zip(("source", "target"), languages, strict=True) if codes else ():
        if language is None:
            raise NormalignError(
                f"{name}: a model for {len(codes)} languages: its {side} language has to be given ({some}, ...)"
            )
        if language not in codes:
            near = difflib.get_close_matches(language, codes, n=3, cutoff=0.3)
            near += [code for code in codes if code.startswith(language[:2]) and code not in near][:3]
            raise NormalignError(f"{name}: no {side} language '{language}'; did you mean {', '.join(near) or some}?")
    for tokenizer in sides if codes else ():
        tokenizer.src_lang, tokenizer.tgt_lang = languages
    one, other = Tokenizer(sides[0]), Tokenizer(sides[1], target=True)

    first = getattr(generation, "decoder_start_token_id", None)
    first = getattr(config, "decoder_start_token_id", None) if first is None else first
    if codes:  # mBART's first models start with the language alone, later ones with the end of sentence before it
        code = codes[target]
        start = (code,) if first is None or first in codes.values() else (first, code)
        return Direction(one, other, languages, one.front, start)
    if first is None:
        raise NormalignError(f"{name}: does not say what its decoder starts with (decoder_start_token_id)")
    front: list[int] = []
    tags = [one.index(tag) for tag in (f">>{target}<<", f"<2{target}>")] if target is not None else []
    supported = getattr(one.host, "supported_language_codes", None)
    if any(index != one.unknown for index in tags):
        front = [index for index in tags if index != one.unknown][:1]
    elif target is not None and supported:
        some = ", ".join(tag.strip("<>") for tag in supported[:5])
        raise NormalignError(f"{name}: no target language '{target}'; this model has {some}, ...")
    elif target is not None:
        tasks = getattr(config, "task_specific_params", None) or {}
        prefix = (tasks.get(f"translation_{source}_to_{target}") or {}).get("prefix")
        front = one(prefix.strip())[1] if prefix else []
    return Direction(one, other, languages, [*one.front, *front], (first, *other.front))

"""What is drawn: a sentence pair, what each method says of it, and the gold links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..alignment.decide import Link, argmax_links, threshold_links
from ..alignment.gold import Gold
from ..alignment.pieces import Segmentation, Span
from ..alignment.readings import MethodReading, Reading
from ..alignment.steps_to_words import normalized, to_words
from ..errors import NormalignError


@dataclass(frozen=True)
class Side:
    """One sentence: the piece at every position, and which of them make up words."""

    pieces: tuple[str, ...]
    by_word: Segmentation

    @classmethod
    def of_words(cls, words: Iterable[str]) -> Side:
        """A sentence that is known in words only."""
        kept = tuple(words)
        return cls(kept, Segmentation(kept, tuple((n, n + 1) for n in range(len(kept))), ()))

    @property
    def words(self) -> tuple[str, ...]:
        """The words, in order."""
        return self.by_word.words

    @property
    def by_piece(self) -> Segmentation:
        """Every piece that is part of a word, on its own."""
        special = set(self.by_word.specials)
        kept = [position for position in range(len(self.pieces)) if position not in special]
        spans: tuple[Span, ...] = tuple((position, position + 1) for position in kept)
        return Segmentation(tuple(self.pieces[position] for position in kept), spans, self.by_word.specials)

    def at(self, level: str) -> Segmentation:
        """The segmentation at level 'word' or 'piece'."""
        return self.by_word if level == "word" else self.by_piece


@dataclass(frozen=True)
class ReadPair:
    """A sentence pair to draw."""

    id: int
    """0-based; a person reads it counted from 1, like the lines of a file."""
    source: Side
    target: Side
    readings: Mapping[str, MethodReading]
    """By the name of the method."""
    gold: Gold | None = None
    notes: tuple[str, ...] = field(default=())
    """Why the pair is shown: 'best', 'most improved' and the like."""


def soft_of(pair: ReadPair, choice: Reading, level: str = "word") -> np.ndarray | None:
    """The soft alignment [target, source] at a level; None for links alone, or where only words are known."""
    reading = _reading(pair, choice)
    if reading.words is not None:
        return reading.words[_layer(reading.words, choice)] if level == "word" else None
    if reading.steps is None:
        return None
    steps = reading.steps[_layer(reading.steps, choice)]
    if choice.head is not None:
        steps = _head(reading, choice)
    return to_words(steps, pair.target.at(level), pair.source.at(level), choice.setting)[0]


def links_of(pair: ReadPair, choice: Reading, *, threshold: float | None = None, level: str = "word") -> list[Link]:
    """The links of a choice: the argmax of every target word, or all whose share of their row exceeds ``threshold``."""
    reading = _reading(pair, choice)
    if reading.links is not None:
        return sorted(reading.links) if level == "word" else []
    soft = soft_of(pair, choice, level)
    if soft is None:
        return []
    return argmax_links(soft) if threshold is None else threshold_links(normalized(soft), threshold)


def _reading(pair: ReadPair, choice: Reading) -> MethodReading:
    if choice.method not in pair.readings:
        raise NormalignError(f"no method '{choice.method}' here; there are {', '.join(pair.readings)}")
    return pair.readings[choice.method]


def _layer(array: np.ndarray, choice: Reading) -> int:
    if not 0 <= choice.layer < len(array):
        raise NormalignError(f"{choice.method}: there is no layer {choice.layer + 1}; it has {len(array)}")
    return choice.layer


def _head(reading: MethodReading, choice: Reading) -> np.ndarray:
    count = reading.shape.heads
    if reading.heads is None or not 0 <= (choice.head or 0) < count:
        known = f"it has {count}" if count else "its heads were not kept (--normalign-dump-heads, --heads)"
        raise NormalignError(f"{choice.method}: there is no head {(choice.head or 0) + 1}; {known}")
    return reading.heads[choice.layer, choice.head]

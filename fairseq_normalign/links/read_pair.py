"""A sentence pair with what each method read for it, and its links: what is scored, drawn and put on the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import NormalignError
from .decide import Array, Link, best_sources, links_of_sources, normalized
from .gold import Gold
from .pieces import Sentence
from .readings import MethodReading, Reading
from .words import to_words


@dataclass(frozen=True)
class PairFlags:
    """What a check found of a pair: its score, and the words that have no partner."""

    score: float
    """Higher for better translations."""
    without_source: tuple[int, ...] = ()
    """Positions of target words that have no source."""
    without_target: tuple[int, ...] = ()
    """Positions of source words that have no target."""
    target_gains: tuple[float, ...] = ()
    """How much more probable each target word is with the source than without; empty where it is not known."""
    source_gains: tuple[float, ...] = ()


@dataclass(frozen=True)
class ReadPair:
    """A sentence pair, what each method read for it, and its gold links."""

    id: int
    """0-based; a person reads it counted from 1, like the lines of a file."""
    source: Sentence
    target: Sentence
    readings: Mapping[str, MethodReading]
    """Name of the method -> what it read."""
    gold: Gold | None = None
    notes: tuple[str, ...] = field(default=())
    """Why the pair is shown: 'best', 'most improved' and the like."""
    flags: PairFlags | None = None
    """What a check found, where the pair was checked."""


def soft_of(pair: ReadPair, reading: Reading, level: str = "word") -> Array | None:
    """Return the soft alignment [target, source] at level 'word' or 'piece'.

    None where the method gave links only, or where the pieces are not known.

    >>> sides = Sentence.of_words(["ja"]), Sentence.of_words(["yes"])
    >>> pair = ReadPair(0, *sides, {"norms": MethodReading(words=np.array([[[0.5]]]))})
    >>> soft_of(pair, Reading("norms", 0))
    array([[0.5]])
    """
    found = _found(pair, reading)
    layers = found.steps if found.words is None else found.words
    if layers is None:
        return None
    if not 0 <= reading.layer < len(layers):
        raise NormalignError(f"{reading.method}: there is no layer {reading.layer + 1}; it has {len(layers)}")
    soft: Array = layers[reading.layer]
    if found.words is not None:
        return soft if level == "word" else None
    if reading.head is not None:
        count = found.shape.heads
        if found.heads is None or not 0 <= reading.head < count:
            known = f"it has {count}" if count else "its heads were not kept when it was read"
            raise NormalignError(f"{reading.method}: there is no head {reading.head + 1}; {known}")
        soft = found.heads[reading.layer, reading.head]
    return to_words(soft, pair.target.at(level), pair.source.at(level), reading.step)[0]


def links_of(pair: ReadPair, reading: Reading, *, threshold: float | None = None, level: str = "word") -> list[Link]:
    """Return the links of a reading: the best source word of each target word.

    With ``threshold`` every link whose share of its row is larger.

    >>> sides = Sentence.of_words(["ja"]), Sentence.of_words(["yes"])
    >>> links_of(ReadPair(0, *sides, {"norms": MethodReading(words=np.array([[[0.5]]]))}), Reading("norms", 0))
    [(0, 0)]
    """
    found = _found(pair, reading)
    if found.links is not None:
        return sorted(found.links) if level == "word" else []
    soft = soft_of(pair, reading, level)
    if soft is None:
        return []
    if threshold is None:
        return links_of_sources(best_sources(soft))
    return [(source, target) for source, target in np.argwhere(threshold < normalized(soft).T).tolist()]


def _found(pair: ReadPair, reading: Reading) -> MethodReading:
    if reading.method not in pair.readings:
        raise NormalignError(f"no method '{reading.method}' here; there are {', '.join(pair.readings)}")
    return pair.readings[reading.method]

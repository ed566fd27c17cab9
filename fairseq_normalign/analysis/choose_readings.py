"""Which readings of a model to multiply, without gold. numpy only.

Every layer and head is judged in both steps on some sentence pairs, by the mean share that a lexicon
(:mod:`.lexicon`) of these very pairs gives to the source words that it links: its *support*. The best reading at AWI
and the best at AWO become an expert. A reading has to find clearly more support than a straight line through the
sentence, which knows positions and no words; where one of the two does not, the other is used alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..links.experts import AWO_EXPONENT, Expert, default_expert
from ..links.readings import Reading
from ..links.steps_to_words import STEPS
from .decisions import PairDecisions
from .layer_choice import RESAMPLINGS, SURE
from .lexicon import word_shares

LEAST_PAIRS = 100
"""With fewer sentence pairs the lexicon knows too little to tell a good reading from a bad one."""
MARGIN = 0.1
"""A reading is supported when it gets this far on the way from the diagonal to what the lexicon itself would link.
The best of many readings that know nothing is a little above the diagonal by chance."""
LOOKS = ("awi", "awo")
"""The order of an expert's readings: the look after the word first."""


@dataclass(frozen=True)
class RatedReading:
    """A reading and how much the lexicon supports it."""

    reading: Reading
    support: float
    """Mean share that the lexicon gives to the source words it links."""
    above_diagonal: float
    """The share of resamplings of the sentences in which it is above the diagonal by the MARGIN."""

    @property
    def is_supported(self) -> bool:
        """Whether it knows more than positions."""
        return self.above_diagonal >= SURE


@dataclass(frozen=True)
class ReadingChoice:
    """The expert that was chosen for one model, and how far to trust it."""

    expert: Expert
    stability: tuple[float, ...]
    """For each reading of the expert: the share of resamplings of the sentences that choose it; 0 for a default."""
    ranked: tuple[RatedReading, ...]
    """Every reading, the best first; empty where there was too little text."""
    diagonal: float
    """The support of the diagonal."""
    pairs: int
    """Sentence pairs that were judged by."""
    doubts: tuple[str, ...]
    """Why the choice is unsure; empty when it is not."""

    @property
    def is_sure(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.doubts


def choose_readings(
    pairs: Sequence[PairDecisions], *, layers: int, method: str = "norms", seed: int = 12345
) -> ReadingChoice:
    """Choose the readings of one model from its decisions on some pairs, those of single heads included.

    ``layers``: decoder layers of the model. With fewer than LEAST_PAIRS pairs the expert is the default one.
    """
    readings = _candidates(pairs, method)
    if len(pairs) < LEAST_PAIRS or not readings:
        doubt = f"only {len(pairs)} sentence pairs to choose by; the default is used"
        return ReadingChoice(default_expert(layers, method=method), (0.0, 0.0), (), 0.0, len(pairs), (doubt,))
    support = _Support(pairs, readings, seed)
    best = [support.best_of(step) for step in LOOKS if any(one.step == step for one in readings)]
    chosen = [number for number in best if support.rated[number].is_supported]
    doubts = [support.lacking(number) for number in best if number not in chosen]
    stability = [support.stability(number) for number in chosen]
    doubts += [support.close(number) for number, share in zip(chosen, stability, strict=True) if share < SURE]
    if not chosen:
        doubts.append("the default is used")
    expert = expert_of([readings[number] for number in chosen]) if chosen else default_expert(layers, method=method)
    order = sorted(range(len(readings)), key=lambda number: (-support.rated[number].support, number))
    ranked = tuple(support.rated[number] for number in order)
    return ReadingChoice(expert, tuple(stability or (0.0, 0.0)), ranked, support.diagonal, len(pairs), tuple(doubts))


def expert_of(readings: Sequence[Reading]) -> Expert:
    """The product of a look after the word and a look before it, or of one of them alone.

    The look before counts in full beside a single head, and as a root beside a layer whose heads are summed.
    """
    full = len(readings) == 1 or readings[0].head is not None
    return Expert(tuple(readings), tuple([1.0, 1.0 if full else AWO_EXPONENT][: len(readings)]))


def _candidates(pairs: Sequence[PairDecisions], method: str) -> list[Reading]:
    """Every layer and head that decided, in both steps."""
    if not pairs:
        return []
    found = []
    for step in STEPS:
        layers = pairs[0].layers.get((method, step), [])
        heads = pairs[0].heads.get((method, step), [])
        for layer in range(len(layers)):
            count = len(heads[layer]) if layer < len(heads) else 0
            found += [Reading(method, layer, head, step) for head in (None, *range(count))]
    return found


class _Support:
    """What the lexicon says of K readings on N sentence pairs."""

    def __init__(self, pairs: Sequence[PairDecisions], readings: Sequence[Reading], seed: int) -> None:
        shares = word_shares([(pair.source, pair.target) for pair in pairs])
        self.readings = readings
        given = np.array(
            [_given(share, _decisions(pair, readings, share)) for share, pair in zip(shares, pairs, strict=True)]
        )  # [N, K + 2], last the diagonal and the lexicon's own choice
        words = np.array([len(pair.target) for pair in pairs], dtype=float)
        draws = np.random.default_rng(seed).multinomial(len(pairs), np.full(len(pairs), 1 / len(pairs)), RESAMPLINGS)
        self.resampled = (draws @ given) / np.maximum(draws @ words, 1)[:, None]  # [R, K + 2]
        support = given.sum(axis=0) / max(1.0, words.sum())
        diagonal, highest = self.resampled[:, -2:-1], self.resampled[:, -1:]
        above = (self.resampled > diagonal + MARGIN * (highest - diagonal)).mean(axis=0)
        self.diagonal = float(support[-2])
        self.rated = [RatedReading(reading, float(support[k]), float(above[k])) for k, reading in enumerate(readings)]

    def _of(self, step: str) -> list[int]:
        return [k for k, reading in enumerate(self.readings) if reading.step == step]

    def best_of(self, step: str) -> int:
        """The number of the reading with most support; the first wins a tie, so all heads before one."""
        return max(self._of(step), key=lambda k: (self.rated[k].support, -k))

    def stability(self, number: int) -> float:
        """The share of resamplings in which this reading is the best of its step."""
        same = self._of(self.readings[number].step)
        return float(np.mean(np.array(same)[self.resampled[:, same].argmax(axis=1)] == number))

    def lacking(self, number: int) -> str:
        one = self.rated[number]
        return (
            f"no reading at {one.reading.step.upper()} finds clearly more support than the diagonal "
            f"({self.diagonal:.3f}); the best is {one.reading.spec} ({one.support:.3f})"
        )

    def close(self, number: int) -> str:
        others = [k for k in self._of(self.readings[number].step) if k != number]
        next_best = max(others, key=lambda k: (self.rated[k].support, -k))
        return (
            f"{self.readings[next_best].spec} is close to {self.readings[number].spec}: "
            f"{100 * self.stability(number):.0f}% of resamplings of the sentences choose the same"
        )


def _decisions(pair: PairDecisions, readings: Sequence[Reading], share: np.ndarray) -> np.ndarray:
    """-> ``[K + 2, T]``: the source word that each reading links, -1 for none; then the diagonal, then the lexicon."""
    rows = [
        pair.layers[one.method, one.step][one.layer]
        if one.head is None
        else pair.heads[one.method, one.step][one.layer][one.head]
        for one in readings
    ]
    height, width = len(pair.target), len(pair.source)
    diagonal = (2 * np.arange(height) + 1) * width // max(1, 2 * height)
    return np.stack([*rows, diagonal, share.argmax(axis=1) if width else np.full(height, -1)])


def _given(share: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """share ``[T, S]``, decided ``[K, T]`` -> ``[K]``: the sum of the shares of what was decided for."""
    if not share.shape[1]:
        return np.zeros(len(decided))
    found = share[np.arange(share.shape[0])[None, :], np.maximum(decided, 0)]
    return np.where(decided >= 0, found, 0.0).sum(axis=1)

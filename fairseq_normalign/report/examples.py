"""Sentences worth showing: best, worst, typical, and most improved over another method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..alignment.readings import Reading, every_reading
from ..alignment.score import score
from ..errors import NormalignError
from .counts import aer_of, argmax_counts
from .pairs import ReadPair, links_of

SHORT = 5
"""Sentences with fewer target words say little; they are taken only where there are no others."""


@dataclass(frozen=True)
class Example:
    """A pair, the AER of the choices it was looked at with, and why it is shown (in ``pair.notes``)."""

    pair: ReadPair
    rates: dict[Reading, float]


def best_choice(pairs: Sequence[ReadPair], method: str) -> Reading:
    """The layer and setting of a method, all heads together, of the lowest AER over all pairs."""
    totals = np.sum([argmax_counts(pair) for pair in pairs], axis=0)
    sure = sum(len(pair.gold.sure) for pair in pairs if pair.gold is not None)
    every = [choice for name, reading in pairs[0].readings.items() for choice in every_reading(name, reading.shape)]
    rated = [
        (float(aer_of(counts, sure)), place, choice)
        for place, (choice, counts) in enumerate(zip(every, totals, strict=True))
        if choice.method == method and choice.head is None
    ]
    if not rated:
        raise NormalignError(f"no method '{method}' here; there are {', '.join(pairs[0].readings)}")
    return min(rated)[2]


def choose_examples(
    pairs: Sequence[ReadPair], choice: Reading, baseline: Reading | None = None, *, each: int = 3
) -> list[Example]:
    """``each`` examples of every kind, judged with ``choice``; a pair of several kinds comes once."""
    choices = [choice] if baseline is None else [choice, baseline]
    usable = [pair for pair in pairs if pair.gold is not None and pair.gold.sure]
    long = [pair for pair in usable if len(pair.target.words) >= SHORT]
    usable = long if len(long) >= 4 * each else usable
    rates = {pair.id: {one: _rate(pair, one) for one in choices} for pair in usable}
    aer = {number: found[choice] for number, found in rates.items()}
    whole = score([pair.gold for pair in usable if pair.gold], [links_of(pair, choice) for pair in usable]).aer
    kinds = {
        "best": lambda pair: (aer[pair.id], -len(pair.target.words)),
        "typical": lambda pair: (abs(aer[pair.id] - whole), pair.id),
        "worst": lambda pair: (-aer[pair.id], -len(pair.target.words)),
    }
    if baseline is not None:
        named = f"most improved by {choice.method} over {baseline.method}"
        kinds[named] = lambda pair: (aer[pair.id] - rates[pair.id][baseline], pair.id)
    notes: dict[int, list[str]] = {}
    for kind, order in kinds.items():
        for pair in sorted(usable, key=order)[:each]:
            notes.setdefault(pair.id, []).append(kind)
    by_id = {pair.id: pair for pair in usable}
    return [Example(replace(by_id[number], notes=tuple(why)), rates[number]) for number, why in notes.items()]


def _rate(pair: ReadPair, choice: Reading) -> float:
    assert pair.gold is not None
    return score([pair.gold], [links_of(pair, choice)]).aer

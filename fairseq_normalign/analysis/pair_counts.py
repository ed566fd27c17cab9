"""How the links of each reading of a sentence pair agree with its gold. numpy only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import NormalignError
from ..links.read_pair import ReadPair
from ..links.readings import Reading, every_reading
from ..links.score import COUNTS, Counts, count_links, count_sources, gold_block, metrics_of
from .decisions import decisions_of


def readings_of(pair: ReadPair) -> list[Reading]:
    """Return each reading of a pair, in the order of :func:`pair_counts`."""
    return [reading for name, found in pair.readings.items() for reading in every_reading(name, found.shape)]


def pair_counts(pair: ReadPair) -> Counts:
    """Return the counts of each reading of a pair, [readings, 5]; zeros where the pair has no gold.

    The columns are those of :data:`..alignment.score.COUNTS`.
    """
    if pair.gold is None:
        return np.zeros((len(readings_of(pair)), len(COUNTS)), dtype=np.int64)
    decided = decisions_of(pair)
    gold = gold_block([pair.gold])
    counts: list[np.ndarray] = [np.zeros((0, len(COUNTS)), dtype=np.int64)]
    for name, found in pair.readings.items():
        if found.links is not None:
            counts.append(count_links([pair.gold], [found.links]))
            continue
        rows = [decided.of(reading) for reading in every_reading(name, found.shape)]
        counts.append(count_sources(gold.repeated(len(rows)), rows))
    return np.concatenate(counts)


def best_reading(pairs: Sequence[ReadPair], method: str) -> Reading:
    """Return the layer and step of a method, all heads together, with the lowest AER over all pairs."""
    rates = metrics_of(np.sum([pair_counts(pair) for pair in pairs], axis=0))["aer"].tolist()
    rated = [
        (rate, place, reading)
        for place, (reading, rate) in enumerate(zip(readings_of(pairs[0]), rates, strict=True))
        if reading.method == method and reading.head is None
    ]
    if not rated:
        raise NormalignError(f"no method '{method}' here; there are {', '.join(pairs[0].readings)}")
    return min(rated)[2]

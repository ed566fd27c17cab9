"""Error rates with their intervals: the rows of a comparison of alignments. Error rates are fractions of 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..links.score import Counts, bootstrap, compare_to_first, metrics_of


@dataclass(frozen=True)
class Sampling:
    """How intervals are made: the number of resamplings of the sentences, and their random seed."""

    samples: int = 1000
    seed: int = 12345


DEFAULT_SAMPLING = Sampling()


@dataclass(frozen=True)
class ErrorRate:
    """The scores of one system; the mean over seeds where there are several."""

    aer: float
    low: float
    high: float
    """The middle 95% of the AER on resamplings of the sentences."""
    spread: float | None
    """Standard deviation of the AER over seeds; None with one seed."""
    precision: float
    recall: float
    links: float
    counts: Counts | None = field(default=None, repr=False, compare=False)
    """[N, 5] of the sentences, all seeds together; kept while systems are tested."""


@dataclass(frozen=True)
class LayerRow:
    """The error rates of a method in a step, at each layer."""

    method: str
    step: str
    layers: tuple[ErrorRate, ...]
    """The bottom layer first; a method that reads the whole model has one."""
    mean: float
    """Mean AER of the layers."""
    best: int
    """The 0-based layer with the lowest AER (mean over seeds)."""
    mean_norm: tuple[float, ...]
    """The mean of what the method read, for each layer."""


@dataclass(frozen=True)
class HeadRow:
    """The error rates of a method in a step, at each head."""

    method: str
    step: str
    aer: tuple[tuple[float, ...], ...]
    """AER of each layer and head: [layer][head]."""
    mean_norm: tuple[tuple[float, ...], ...]
    """Mean length of the vector that each head adds: [layer][head]."""
    spearman: float
    pearson: float
    """Correlation of the mean norm of the heads with their AER: negative where heads that add more align better."""


@dataclass(frozen=True)
class System:
    """One line of the table: a system that aligns, and its error rate."""

    name: str
    figure: ErrorRate
    direction: str = "forward"
    """forward, reverse, both (symmetrized), decided (readings multiplied) or other (an added file)."""
    method: str | None = None
    step: str | None = None
    layers: tuple[int, ...] = ()
    """The 0-based layer it is read from, for each seed."""
    heads: tuple[int, ...] = ()
    pairs_per_second: float | None = None
    p_value: float | None = None
    """How probable a difference to the best system as large as this would be if both were equally good; for the best
    few only."""


def error_rate(counts: Sequence[Counts], sampling: Sampling) -> ErrorRate:
    """Return the error rate of one system from the counts [N, 5] of each seed.

    >>> error_rate([np.array([[2, 2, 2, 1, 1]])], Sampling(samples=10)).aer
    0.5
    """
    metrics = [metrics_of(one.sum(axis=0)) for one in counts]
    values = np.array([float(one["aer"]) for one in metrics])
    resampled = np.mean([one["aer"] for one in bootstrap(counts, sampling.samples, seed=sampling.seed)], axis=0)
    low, high = np.quantile(resampled, [0.025, 0.975]).tolist()
    return ErrorRate(
        aer=float(values.mean()),
        low=low,
        high=high,
        spread=float(values.std(ddof=1)) if len(values) > 1 else None,
        precision=float(np.mean([one["precision"] for one in metrics])),
        recall=float(np.mean([one["recall"] for one in metrics])),
        links=float(np.mean([one[:, 0].sum() for one in counts])),
        counts=np.sum(counts, axis=0),
    )


BEST = 5
"""How many systems are tested against the best one, itself included."""


def tested(systems: Sequence[System], sampling: Sampling) -> list[System]:
    """Return the systems with the p-values of the best few: each against the best, by paired randomization."""
    ranked = sorted(range(len(systems)), key=lambda place: systems[place].figure.aer)[:BEST]
    counts = [systems[place].figure.counts for place in ranked]
    known = [one for one in counts if one is not None]
    found = list(systems)
    if 1 < len(known) == len(counts):
        tests = compare_to_first(known, samples=1, trials=sampling.samples, seed=sampling.seed)
        for place, test in zip(ranked[1:], tests, strict=True):
            found[place] = replace(found[place], p_value=test.p_randomization)
    return [replace(system, figure=replace(system.figure, counts=None)) for system in found]

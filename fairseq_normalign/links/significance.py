"""Confidence intervals of scores, and tests whether two systems differ, by resampling the counts of sentences.

K systems, N sentences; counts are ``[N, 5]`` in the order of :data:`~.score.COUNTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import NormalignError
from .score import METRICS, metrics_of

_CELLS = 1 << 22  # draws held at once
_ROUNDING = 1e-12  # a difference as large as the observed one counts, whatever the order it was summed in


@dataclass(frozen=True)
class SignificanceTest:
    """A system against the first: ``difference`` of a metric (system minus first) and two-sided p-values."""

    difference: float
    p_bootstrap: float
    p_randomization: float


def bootstrap(
    systems: Sequence[np.ndarray], samples: int, *, seed: int, alpha: float = 0.5
) -> list[dict[str, np.ndarray]]:
    """Return the metrics of each system on the same resamplings of the sentences: K dicts of arrays [samples].

    >>> bootstrap([np.array([[1, 1, 1, 1, 1]])], 3, seed=1)[0]["aer"].tolist()
    [0.0, 0.0, 0.0]
    """
    stacked = _stacked(systems, samples)
    sums = np.concatenate([weights @ stacked for weights in _resamplings(len(stacked), samples, seed)])
    sums = sums.reshape(samples, len(systems), -1)
    return [metrics_of(sums[:, system], alpha=alpha) for system in range(len(systems))]


def intervals(resampled: dict[str, np.ndarray], level: float = 0.95) -> dict[str, tuple[float, float]]:
    """Return the middle ``level`` of what :func:`bootstrap` gave for one system, by metric.

    >>> intervals(bootstrap([np.array([[1, 1, 1, 1, 1]])], 3, seed=1)[0])["aer"]
    (0.0, 0.0)
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    return {name: tuple(np.quantile(resampled[name], tails).tolist()) for name in METRICS}


def compare_to_first(
    systems: Sequence[np.ndarray], *, samples: int, trials: int, seed: int, metric: str = "aer", alpha: float = 0.5
) -> list[SignificanceTest]:
    """Test each system but the first against the first, in one metric: K - 1 tests.

    Paired bootstrap: how often the difference on a resampling strays from its mean by as much as the observed
    difference. Approximate randomization: how often exchanging the two systems' outputs on random sentences gives a
    difference as large. Both count the observed case itself, so no p is 0.

    >>> same = np.array([[1, 1, 1, 1, 1]])
    >>> compare_to_first([same, same], samples=9, trials=9, seed=1)[0].difference
    0.0
    """
    if metric not in METRICS:
        raise NormalignError(f"unknown metric '{metric}'; choose one of {', '.join(METRICS)}")
    resampled = [values[metric] for values in bootstrap(systems, samples, seed=seed, alpha=alpha)]

    def value(counts: np.ndarray) -> np.ndarray:
        return metrics_of(counts, alpha=alpha)[metric]

    first = systems[0]
    comparisons = []
    for system, sampled in zip(systems[1:], resampled[1:], strict=True):
        observed = float(value(system.sum(axis=0)) - value(first.sum(axis=0)))
        differences = sampled - resampled[0]
        strayed = np.count_nonzero(np.abs(differences - differences.mean()) >= abs(observed) - _ROUNDING)
        shuffled = _exchanged(first, system, value, trials, seed)
        as_large = np.count_nonzero(np.abs(shuffled) >= abs(observed) - _ROUNDING)
        comparisons.append(SignificanceTest(observed, (strayed + 1) / (samples + 1), (as_large + 1) / (trials + 1)))
    return comparisons


def _exchanged(
    first: np.ndarray, system: np.ndarray, value: Callable[[np.ndarray], np.ndarray], trials: int, seed: int
) -> np.ndarray:
    """``[trials]``: the difference after exchanging the two systems on a random half of the sentences."""
    generator = np.random.default_rng(seed)
    gap = (first - system).astype(np.float64)
    differences = []
    for many in _chunks(len(first), trials):
        moved = generator.integers(2, size=(many, len(first)), dtype=np.int8).astype(np.float64) @ gap
        differences.append(value(system.sum(axis=0) + moved) - value(first.sum(axis=0) - moved))
    return np.concatenate(differences)


def _stacked(systems: Sequence[np.ndarray], samples: int) -> np.ndarray:
    """``[N, 5 K]``."""
    if samples < 1:
        raise NormalignError(f"the number of bootstrap samples is at least 1, not {samples}")
    if not systems or not len(systems[0]):
        raise NormalignError("there are no sentences to draw samples from")
    return np.concatenate(systems, axis=1).astype(np.float64)


def _resamplings(sentences: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """How often each sentence was drawn: arrays ``[some, sentences]``, ``samples`` rows in all."""
    generator = np.random.default_rng(seed)
    for many in _chunks(sentences, samples):
        drawn = generator.integers(sentences, size=(many, sentences)) + np.arange(many)[:, None] * sentences
        yield np.bincount(drawn.ravel(), minlength=many * sentences).reshape(many, sentences).astype(np.float64)


def _chunks(sentences: int, samples: int) -> Iterator[int]:
    at_once = max(1, _CELLS // sentences)
    for start in range(0, samples, at_once):
        yield min(at_once, samples - start)

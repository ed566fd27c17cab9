"""Statistics of more numbers than fit in memory. numpy only.

Moments are exact. A rank correlation is that of values rounded down to 32 steps per octave (2.2% apart): values closer
than that count as ties and share the mean of their ranks, as ties do in Spearman's coefficient anyhow. Memory is that
of one table of counts, however many pairs there are. A sample is uniform over everything seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STEPS = 32
"""Steps of a scale in each octave."""


class Moments:
    """Mean, standard deviation, largest and smallest of K streams of numbers."""

    def __init__(self, streams: int) -> None:
        self.count = np.zeros(streams, dtype=np.int64)
        self.mean = np.zeros(streams)
        self._squares = np.zeros(streams)
        self.largest = np.full(streams, -np.inf)
        self.smallest = np.full(streams, np.inf)

    def add(self, values: np.ndarray) -> None:
        """Add to every stream: [N, K]."""
        if not len(values):
            return
        values = values.astype(np.float64)
        mean = values.mean(axis=0)
        self._merge(np.int64(len(values)), mean, ((values - mean) ** 2).sum(axis=0))
        self.largest = np.maximum(self.largest, values.max(axis=0))
        self.smallest = np.minimum(self.smallest, values.min(axis=0))

    def add_to(self, streams: np.ndarray, values: np.ndarray) -> None:
        """Add each value to a stream of its own: [N], [N]."""
        size = len(self.count)
        count = np.bincount(streams, minlength=size)
        values = values.astype(np.float64)
        total = np.bincount(streams, values, minlength=size)
        mean = np.divide(total, count, out=np.zeros(size), where=count > 0)
        self._merge(count, mean, np.bincount(streams, (values - mean[streams]) ** 2, minlength=size))
        np.maximum.at(self.largest, streams, values)
        np.minimum.at(self.smallest, streams, values)

    def _merge(self, count: np.ndarray | np.int64, mean: np.ndarray, squares: np.ndarray) -> None:
        """Two parts of a stream make one (Chan et al. 1983): no digits are lost, unlike in sums of squares."""
        total = self.count + count
        share = np.divide(count, total, out=np.zeros(len(self.mean)), where=total > 0)
        apart = mean - self.mean
        self.mean = self.mean + apart * share
        self._squares = self._squares + squares + apart**2 * self.count * share
        self.count = total

    @property
    def deviation(self) -> np.ndarray:
        """[K]: the standard deviation (of the population)."""
        return np.sqrt(np.divide(self._squares, self.count, out=np.zeros(len(self.mean)), where=self.count > 0))

    @property
    def variation(self) -> np.ndarray:
        """[K]: deviation over mean."""
        return np.divide(self.deviation, self.mean, out=np.zeros(len(self.mean)), where=self.mean > 0)


@dataclass(frozen=True)
class Scale:
    """Positive numbers from ``2**low`` to ``2**high``; what is outside counts as the end it is nearer to."""

    low: int
    high: int

    @property
    def size(self) -> int:
        """How many steps there are."""
        return (self.high - self.low) * STEPS + 1

    def steps(self, values: np.ndarray) -> np.ndarray:
        """Any shape of numbers -> their steps."""
        with np.errstate(divide="ignore"):
            logarithms = np.log2(values.astype(np.float64))
        return np.floor((np.clip(logarithms, self.low, self.high) - self.low) * STEPS).astype(np.int64)


SHARE_SCALE = Scale(-40, 0)
"""Weights and ratios: from 1e-12 to 1."""
LENGTH_SCALE = Scale(-20, 20)
"""Lengths of vectors: from a millionth to a million."""
RANK_SCALE = Scale(0, 24)
"""Ranks from 1 to sixteen million."""


class RankCorrelation:
    """Spearman's coefficient of pairs that stream by."""

    def __init__(self, x: Scale, y: Scale) -> None:
        self.x, self.y = x, y
        self._counts = np.zeros(x.size * y.size, dtype=np.int64)

    def add(self, x: np.ndarray, y: np.ndarray) -> None:
        """[N], [N]."""
        cells = self.x.steps(x) * self.y.size + self.y.steps(y)
        places, counts = np.unique(cells, return_counts=True)
        self._counts[places] += counts

    @property
    def count(self) -> int:
        """How many pairs there were."""
        return int(self._counts.sum())

    def spearman(self) -> float:
        """In [-1, 1]; NaN where either side never varies."""
        table = self._counts.reshape(self.x.size, self.y.size)
        by_x, by_y = table.sum(axis=1), table.sum(axis=0)
        total = int(by_x.sum())
        if not total:
            return float("nan")
        x, y = (_centred_ranks(counts, total) for counts in (by_x, by_y))
        spread = np.sqrt((by_x * x**2).sum()) * np.sqrt((by_y * y**2).sum())
        rows, columns = np.nonzero(table)
        together = (table[rows, columns] * x[rows] * y[columns]).sum()
        return float(together / spread) if spread > 0 else float("nan")


def _centred_ranks(counts: np.ndarray, total: int) -> np.ndarray:
    """Mean rank of the ties at each step, as a share of all, about its mean."""
    before = np.cumsum(counts) - counts
    return (before + (counts + 1) / 2) / total - (total + 1) / 2 / total


class Sample:
    """A uniform sample of what streams by, K numbers each, of at most ``size``."""

    def __init__(self, size: int, columns: int, seed: int = 1) -> None:
        self._keys: np.ndarray = np.empty(0)
        self.rows: np.ndarray = np.empty((0, columns))
        """[at most size, K]."""
        self._size = size
        self._chance = np.random.default_rng(seed)

    def add(self, rows: np.ndarray) -> None:
        """[N, K]. Each gets a random number; those with the smallest stay."""
        keys = self._chance.random(len(rows))
        chosen = np.flatnonzero(keys < self._keys.max()) if len(self._keys) == self._size else np.arange(len(rows))
        keys = np.concatenate([self._keys, keys[chosen]])
        rows = np.concatenate([self.rows, rows[chosen]])
        if len(keys) > self._size:
            kept = np.argpartition(keys, self._size)[: self._size]
            keys, rows = keys[kept], rows[kept]
        self._keys, self.rows = keys, rows

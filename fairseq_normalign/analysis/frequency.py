"""How often a piece occurs, and how much attention it gets (Kobayashi et al. 2020, Figure 6). numpy only."""

from __future__ import annotations

import numpy as np

from .attention_batch import PAD, Observed
from .streams import LENGTH_SCALE, RANK_SCALE, SHARE_SCALE, Moments, RankCorrelation, Sample
from .tables import Analysis, Table

BANDS = 25
"""Number of ranges of ranks, each twice as wide as the one before: the points of the curve."""


Both = tuple[RankCorrelation, RankCorrelation]
"""With alpha and with ||f(x)||."""


class Frequency(Analysis):
    """Rank of a piece's frequency against alpha and ||f(x)|| of each of its occurrences.

    An occurrence's alpha is the mean over the queries that see it, then over heads; a layer alone, and all together.
    """

    def __init__(self, ranks: np.ndarray, *, points: int = 2000, seed: int = 1) -> None:
        """``ranks`` [V]: the rank of each piece, 1 for the most frequent."""
        self._ranks = ranks
        self.points = Sample(points, 3, seed)
        """Rank, alpha, ||f(x)||: means over all heads of all layers."""
        self.bands = Moments(BANDS), Moments(BANDS)
        """Means of alpha and of ||f(x)||, by the octave of the rank."""
        self._layers: list[Both] = []
        self._all = _correlations()

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        real = observed.keys != PAD
        ranks = self._ranks[observed.keys[real]]
        seen_by = observed.visible.sum(axis=1).clip(1)  # [B, S]
        found = []
        for number, layer in enumerate(observed.layers):
            if number == len(self._layers):
                self._layers.append(_correlations())
            received = (layer.weights * observed.visible[:, None]).sum(axis=2, dtype=float) / seen_by[:, None]
            alpha, length = (by_head.transpose(0, 2, 1)[real] for by_head in (received, layer.lengths))  # [N, H]
            _add(self._layers[number], ranks, alpha.mean(axis=1), length.mean(axis=1))
            found.append((alpha, length))
        alpha, length = (np.concatenate(part, axis=1).mean(axis=1) for part in zip(*found, strict=True))
        _add(self._all, ranks, alpha, length)
        octaves = np.log2(ranks).astype(int).clip(0, BANDS - 1)
        for moments, values in zip(self.bands, (alpha, length), strict=True):
            moments.add_to(octaves, values)
        self.points.add(np.stack([ranks, alpha, length], axis=1))

    def tables(self) -> list[Table]:
        """Correlations, and means by octave of the rank."""
        every: list[tuple[str | int, Both]] = [("all", self._all)]
        every += list(enumerate(self._layers, start=1))
        rows = [(name, both[0].count, *(one.spearman() for one in both)) for name, both in every]
        alpha, length = self.bands
        bands = [
            (2**band, int(alpha.count[band]), float(alpha.mean[band]), float(length.mean[band]))
            for band in range(BANDS)
            if alpha.count[band]
        ]
        note = "Spearman, against the rank of frequency (1: the most frequent)"
        return [
            Table("rank of frequency", ("layer", "occurrences", "alpha", "||f(x)||"), rows, note),
            Table("by rank", ("from rank", "occurrences", "alpha", "||f(x)||"), bands),
        ]


def _correlations() -> Both:
    return RankCorrelation(RANK_SCALE, SHARE_SCALE), RankCorrelation(RANK_SCALE, LENGTH_SCALE)


def _add(both: Both, ranks: np.ndarray, alpha: np.ndarray, length: np.ndarray) -> None:
    both[0].add(ranks, alpha)
    both[1].add(ranks, length)

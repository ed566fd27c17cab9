"""Whether alpha and ||f(x)|| cancel out (Kobayashi et al. 2020, Table 2, Figures 4, 5, 10-12). numpy only."""

from __future__ import annotations

import numpy as np

from .attention_batch import Categories, Observed
from .streams import LENGTH_SCALE, SHARE_SCALE, Moments, RankCorrelation, Sample
from .tables import Analysis, Table


class Relation(Analysis):
    """Rank correlation of alpha and ||f(x)|| by category, over every pair of query and key in every head."""

    def __init__(self, categories: Categories, *, points: int = 2000, seed: int = 1) -> None:
        """``points``: how many pairs of each category to sample."""
        names = categories.names
        self.categories = categories
        self.correlations = [RankCorrelation(SHARE_SCALE, LENGTH_SCALE) for _ in names]
        self.samples = [Sample(points, 2, seed) for _ in names]
        """A sample for each category; its rows are alpha and ||f(x)||."""
        self._weights: list[Moments] = []
        self._lengths: list[Moments] = []
        self._heads: list[int] = []

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        category = self.categories.of(observed.keys)
        for number, layer in enumerate(observed.layers):
            heads = layer.weights.shape[1]
            if number == len(self._heads):
                self._heads.append(heads)
                self._weights.append(Moments(heads * len(self.categories.names)))
                self._lengths.append(Moments(heads * len(self.categories.names)))
            lengths = np.broadcast_to(layer.lengths[:, :, None, :], layer.weights.shape)
            for place in range(len(self.categories.names)):
                chosen = observed.visible & (category == place)[:, None, :]  # [B, T, S]
                alpha = layer.weights.transpose(0, 2, 3, 1)[chosen]  # [N, H]
                length = lengths.transpose(0, 2, 3, 1)[chosen]
                self._add(number, place, alpha, length)

    def _add(self, layer: int, place: int, alpha: np.ndarray, length: np.ndarray) -> None:
        if not alpha.size:
            return
        streams = np.broadcast_to(place * alpha.shape[1] + np.arange(alpha.shape[1]), alpha.shape).ravel()
        self._weights[layer].add_to(streams, alpha.ravel())
        self._lengths[layer].add_to(streams, length.ravel())
        self.correlations[place].add(alpha.ravel(), length.ravel())
        self.samples[place].add(np.stack([alpha.ravel(), length.ravel()], axis=1))

    def heatmaps(self, place: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return mean alpha and mean ||f(x)|| of one category, per layer [H]."""
        return tuple(  # type: ignore[return-value]
            [moments.mean.reshape(-1, heads)[place] for moments, heads in zip(every, self._heads, strict=True)]
            for every in (self._weights, self._lengths)
        )

    def tables(self) -> list[Table]:
        """Return table 2 of the paper, and the means behind the heatmaps."""
        rows = [
            (name, correlation.count, correlation.spearman())
            for name, correlation in zip(self.categories.names, self.correlations, strict=True)
            if correlation.count
        ]
        heads = []
        for place, name in enumerate(self.categories.names):
            if not self.correlations[place].count:
                continue
            weights, lengths = self.heatmaps(place)
            for layer, (alphas, norms) in enumerate(zip(weights, lengths, strict=True)):
                pairs = zip(alphas.tolist(), norms.tolist(), strict=True)
                heads += [(name, layer + 1, head + 1, *pair) for head, pair in enumerate(pairs)]
        return [
            Table("alpha and ||f(x)||", ("category", "pairs", "spearman"), rows, "values within 2.2% count as ties"),
            Table("mean of each head", ("category", "layer", "head", "alpha", "||f(x)||"), heads, detail=True),
        ]

"""How much a position takes from others, and how much it keeps (Kobayashi et al. 2021). numpy only."""

from __future__ import annotations

import numpy as np

from .attention_batch import PAD, Categories, Observed
from .streams import RANK_SCALE, SHARE_SCALE, Moments, RankCorrelation
from .tables import Analysis, Cell, Table


class Mixing(Analysis):
    """The mixing ratio of each layer, with and without residual connection and LayerNorm."""

    needs_mixing = True

    def __init__(self, categories: Categories, ranks: np.ndarray | None = None) -> None:
        """``categories`` and ``ranks`` [V] are those of the queries, the positions that mix."""
        self.categories = categories
        self._ranks = ranks
        self.layers: dict[str, list[Moments]] = {}
        """Variant -> the moments of each layer; their streams are all queries, then the queries of each category."""
        self._seen = np.zeros(len(categories.names), dtype=bool)
        self._correlations: dict[str, list[RankCorrelation]] = {}

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        real = observed.queries != PAD
        pieces = observed.queries[real]
        category = self.categories.of_piece[pieces]
        self._seen[category] = True
        for number, layer in enumerate(observed.layers):
            for variant, ratio in layer.mixing.items():
                moments = self.layers.setdefault(variant, [])
                correlations = self._correlations.setdefault(variant, [])
                if number == len(moments):
                    moments.append(Moments(1 + len(self.categories.names)))
                    correlations.append(RankCorrelation(RANK_SCALE, SHARE_SCALE))
                moments[number].add_to(np.zeros(len(pieces), dtype=int), ratio[real])
                moments[number].add_to(1 + category, ratio[real])
                if self._ranks is not None:
                    correlations[number].add(self._ranks[pieces], ratio[real])

    def tables(self) -> list[Table]:
        """Return tables by layer and variant, and by category of the position that mixes."""
        seen = [place for place in range(len(self.categories.names)) if self._seen[place]]
        rows: list[tuple[Cell, ...]] = []
        kinds: list[tuple[Cell, ...]] = []
        for variant, layers in self.layers.items():
            for number, moments in enumerate(layers):
                spearman = self._correlations[variant][number].spearman()
                rows.append((variant, number + 1, float(moments.mean[0]), float(moments.deviation[0]), spearman))
                kinds.append((variant, number + 1, *moments.mean[1:][seen].tolist()))
            means = np.array([moments.mean for moments in layers]).mean(axis=0)
            rows.append((variant, "mean", float(means[0]), None, None))
            kinds.append((variant, "mean", *means[1:][seen].tolist()))
        names = (self.categories.names[place] for place in seen)
        note = "spearman: of the ratio and the rank of frequency (1: the most frequent)"
        return [
            Table("mixing ratio", ("variant", "layer", "mean", "deviation", "spearman"), rows, note),
            Table("mixing ratio by category", ("variant", "layer", *names), kinds),
        ]

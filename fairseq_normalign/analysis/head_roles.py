"""What single heads do (Voita et al. 2019): confidence, relative positions, rare words. numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .attention_batch import PAD, Observed
from .tables import Analysis, Cell, Table

FARTHEST = 512
"""Relative positions that are counted apart, to the left and to the right."""
POSITIONAL = 0.9
"""A head is positional where this share of its maxima lies at one relative position."""
RAREST = 2
"""How many of the least frequent pieces that a query sees count as rare."""
RARE = 0.5
"""A head is one of rare words where this share of its maxima, and twice what chance gives, lies on rare pieces."""
FEWEST = 4
"""Queries that see fewer pieces of text than this are not counted for rare words."""


@dataclass
class _Counts:
    """Counts of one layer with H heads."""

    queries: int
    confidence: np.ndarray
    positions: np.ndarray
    """[H, 2 * FARTHEST + 1]: maxima by relative position, key minus query."""
    judged: int
    rare: np.ndarray
    chance: float

    @classmethod
    def of(cls, heads: int) -> _Counts:
        return cls(0, np.zeros(heads), np.zeros((heads, 2 * FARTHEST + 1), dtype=np.int64), 0, np.zeros(heads), 0.0)


@dataclass
class Heads(Analysis):
    """Queries that are special pieces (start and end of a sentence) are left out everywhere.

    Confidence: mean of the largest weight, special keys left out. Positions: of the largest weight of all keys. Rare
    words: whether that key is one of the two least frequent that the query sees.
    """

    special_queries: frozenset[int]
    special_keys: frozenset[int]
    ranks: np.ndarray | None = None
    """[V], of the keys."""
    extra: dict[str, Sequence[np.ndarray]] = field(default_factory=dict)
    """More columns by name (AER, relevance), per layer [H]."""
    layers: list[_Counts] = field(default_factory=list)

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        asking = (observed.queries != PAD) & ~np.isin(observed.queries, sorted(self.special_queries))  # [B, T]
        words = ~np.isin(observed.keys, sorted(self.special_keys)) & (observed.keys != PAD)  # [B, S]
        seen = observed.visible & words[:, None, :]  # [B, T, S]
        rare, judged = self._rare(observed, seen)
        judged &= asking
        shares = rare.sum(axis=-1) / observed.visible.sum(axis=-1).clip(1)  # [B, T]
        for number, layer in enumerate(observed.layers):
            if number == len(self.layers):
                self.layers.append(_Counts.of(layer.weights.shape[1]))
            counts = self.layers[number]
            largest = np.where(seen[:, None], layer.weights, 0).max(axis=-1)  # [B, H, T]
            best = np.where(observed.visible[:, None], layer.weights, -1).argmax(axis=-1)  # [B, H, T]
            counts.queries += int(asking.sum())
            counts.confidence += (largest * asking[:, None]).sum(axis=(0, 2), dtype=float)
            apart = (best - np.arange(best.shape[-1])).clip(-FARTHEST, FARTHEST) + FARTHEST
            for head in range(best.shape[1]):
                counts.positions[head] += np.bincount(apart[:, head][asking], minlength=2 * FARTHEST + 1)
            hit = np.take_along_axis(np.broadcast_to(rare[:, None], layer.weights.shape), best[..., None], -1)[..., 0]
            counts.judged += int(judged.sum())
            counts.rare += (hit & judged[:, None]).sum(axis=(0, 2))
            counts.chance += float(shares[judged].sum())

    def _rare(self, observed: Observed, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """-> the rare keys of each query [B, T, S], and whether the query sees enough to tell [B, T]."""
        if self.ranks is None or seen.shape[-1] < RAREST:
            return np.zeros_like(seen), np.zeros(seen.shape[:2], dtype=bool)
        ranks = np.where(seen, self.ranks[observed.keys][:, None, :], -1)
        limit = np.partition(ranks, -RAREST, axis=-1)[..., -RAREST, None]
        return seen & (ranks >= limit), seen.sum(axis=-1) >= FEWEST

    def confidence(self) -> list[np.ndarray]:
        """Return the confidence of the heads, per layer [H]."""
        return [counts.confidence / max(1, counts.queries) for counts in self.layers]

    def positional(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return per layer the most frequent relative position of the maxima [H], and its share [H]."""
        return [
            (counts.positions.argmax(axis=1) - FARTHEST, counts.positions.max(axis=1) / max(1, counts.queries))
            for counts in self.layers
        ]

    def rare_words(self) -> list[tuple[np.ndarray, float]]:
        """Return per layer the share of maxima on rare pieces [H], and the share expected by chance."""
        return [(counts.rare / max(1, counts.judged), counts.chance / max(1, counts.judged)) for counts in self.layers]

    def functions(self) -> list[list[str]]:
        """Return the role of each head of each layer, empty where it has none."""
        named = []
        for (places, shares), (rare, chance) in zip(self.positional(), self.rare_words(), strict=True):
            layer = []
            for place, share, often in zip(places, shares, rare, strict=True):
                what = [f"position {place:+d}"] if share >= POSITIONAL else []
                what += ["rare words"] if often >= max(RARE, 2 * chance) and chance > 0 else []
                layer.append(", ".join(what))
            named.append(layer)
        return named

    def tables(self) -> list[Table]:
        """Return one table with a row per head."""
        rows: list[tuple[Cell, ...]] = []
        every = zip(self.confidence(), self.positional(), self.rare_words(), self.functions(), strict=True)
        for layer, (confidence, (places, shares), (rare, chance), functions) in enumerate(every):
            for head, function in enumerate(functions):
                figures = float(confidence[head]), f"{places[head]:+d}", float(shares[head]), float(rare[head]), chance
                extra = (float(column[layer][head]) for column in self.extra.values())
                rows.append((layer + 1, head + 1, *figures, *extra, function))
        columns = ("layer", "head", "confidence", "position", "share", "rare", "by chance", *self.extra, "function")
        return [Table("heads", columns, rows, "share: of maxima at that position; rare: on the two rarest pieces seen")]

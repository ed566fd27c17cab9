"""Where attention goes, by weight and by length of what is added (Kobayashi et al. 2020, Figure 3). numpy only."""

from __future__ import annotations

import numpy as np

from .attention_batch import PAD, Categories, Observed
from .tables import Analysis, Table


class CategoryShares(Analysis):
    """Per layer: the sum over the keys of a category, averaged over queries and heads."""

    def __init__(self, categories: Categories) -> None:
        self.categories = categories
        self._weights: list[np.ndarray] = []
        self._norms: list[np.ndarray] = []
        self._rows: list[int] = []
        self._keys = np.zeros(len(categories.names), dtype=np.int64)

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        category = self.categories.of(observed.keys)
        self._keys += np.bincount(category[category != PAD], minlength=len(self._keys))
        member = (category[:, None, :] == np.arange(len(self._keys))[None, :, None]).astype(float)  # [B, C, S]
        queries = observed.queries != PAD
        for number, layer in enumerate(observed.layers):
            if number == len(self._rows):
                self._weights.append(np.zeros(len(self._keys)))
                self._norms.append(np.zeros(len(self._keys)))
                self._rows.append(0)
            received = (layer.weights * queries[:, None, :, None]).sum(axis=2, dtype=float)  # [B, H, S]
            self._weights[number] += np.einsum("bhs,bcs->c", received, member)
            self._norms[number] += np.einsum("bhs,bcs->c", received * layer.lengths, member)
            self._rows[number] += int(queries.sum()) * layer.weights.shape[1]

    @property
    def weights(self) -> np.ndarray:
        """[layers, C]: alpha; a layer adds up to 1."""
        return np.array(self._weights) / np.array(self._rows)[:, None]

    @property
    def norms(self) -> np.ndarray:
        """[layers, C]: ||alpha f(x)||."""
        return np.array(self._norms) / np.array(self._rows)[:, None]

    def tables(self) -> list[Table]:
        """Shares by layer; how often each category occurs."""
        seen = np.flatnonzero(self._keys)
        names = tuple(self.categories.names[place] for place in seen)
        rows: list[tuple] = [("keys", None, *(self._keys / max(1, int(self._keys.sum())))[seen].tolist())]
        shares = self.norms / self.norms.sum(axis=1, keepdims=True)
        for title, table in (("alpha", self.weights), ("||alpha f(x)||", shares)):
            rows += [(title, number + 1, *row[seen].tolist()) for number, row in enumerate(table)]
            rows.append((title, "mean", *table.mean(axis=0)[seen].tolist()))
        lengths = [("||alpha f(x)||", number + 1, *row[seen].tolist()) for number, row in enumerate(self.norms)]
        return [
            Table("share of each category", ("of", "layer", *names), rows, "keys: how many of the positions there are"),
            Table("sum of ||alpha f(x)|| that a query gets from each category", ("of", "layer", *names), lengths),
        ]

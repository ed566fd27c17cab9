"""How much the transformation f of each head can stretch (Kobayashi et al. 2020, Figure 9, Appendix B). numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .tables import Table


@dataclass(frozen=True)
class Projections:
    """The parameters of one attention layer that make f; weights as ``torch.nn.Linear`` keeps them."""

    heads: int
    value_weight: np.ndarray
    """[H * D, C]."""
    value_bias: np.ndarray | None
    """[H * D]."""
    out_weight: np.ndarray
    """[E, H * D]."""


def singular_values(projections: Projections) -> np.ndarray:
    """Return the singular values of each head's f as a linear map of ``[x 1]``: [H, D + 1]; all others are zero.

    ``f~(x~) = x~ [[W_V, 0], [b_V, 1]] [[W_O, 0], [0, 1]]``. Both factors are thin, so the values are those of the
    product of their small triangular parts.
    """
    inner, width = projections.value_weight.shape
    size = inner // projections.heads
    bias = np.zeros(inner) if projections.value_bias is None else projections.value_bias
    found = []
    for head in range(projections.heads):
        part = slice(head * size, (head + 1) * size)
        first = np.zeros((width + 1, size + 1))
        first[:-1, :-1] = projections.value_weight[part].T
        first[-1, :-1] = bias[part]
        first[-1, -1] = 1
        second = np.zeros((projections.out_weight.shape[0] + 1, size + 1))
        second[:-1, :-1] = projections.out_weight[:, part]
        second[-1, -1] = 1
        small = np.linalg.qr(first)[1] @ np.linalg.qr(second)[1].T
        found.append(np.linalg.svd(small, compute_uv=False))
    return np.array(found)


def singular_tables(layers: Sequence[np.ndarray]) -> list[Table]:
    """Return tables of singular values given per layer as [H, D + 1]: largest and smallest per head, then all."""
    rows, whole = [], []
    for layer, heads in enumerate(layers):
        for head, values in enumerate(heads):
            ratio = float(values[0] / values[-1]) if values[-1] > 0 else float("inf")
            rows.append((layer + 1, head + 1, float(values[0]), float(np.median(values)), float(values[-1]), ratio))
            whole += [(layer + 1, head + 1, place + 1, float(value)) for place, value in enumerate(values)]
    return [
        Table("singular values of f", ("layer", "head", "largest", "median", "smallest", "ratio"), rows),
        Table("every singular value", ("layer", "head", "number", "value"), whole, detail=True),
    ]

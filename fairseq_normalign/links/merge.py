"""Soft alignments between pieces made into soft alignments between words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import NormalignError

REDUCTIONS = ("sum", "mean", "max")


def merge(
    soft: np.ndarray,
    target_spans: Sequence[tuple[int, int]],
    source_spans: Sequence[tuple[int, int]],
    *,
    source: str = "sum",
    target: str = "mean",
) -> np.ndarray:
    """Merge pieces into words: ``[..., T, S]`` -> ``[..., len(target_spans), len(source_spans)]``.

    A word's pieces are summed on the source side and averaged on the target side (Li et al. 2019), or as ``source`` and
    ``target`` say (sum, mean or max), the source side first. Positions outside every span are dropped. Half precision
    is widened to float32, integers to float64.

    >>> merge(np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]), [(0, 2)], [(0, 1), (1, 3)]).tolist()
    [[0.375, 0.625]]
    """
    soft = np.asarray(soft)
    if soft.ndim < 2:
        raise ValueError(f"a soft alignment is [..., target, source], not of shape {soft.shape}")
    if soft.dtype.kind != "f":
        soft = soft.astype(np.float64)
    elif soft.dtype.itemsize < 4:
        soft = soft.astype(np.float32)
    by_source = _merge_last(soft, source_spans, source, "source")
    by_both = _merge_last(np.swapaxes(by_source, -1, -2), target_spans, target, "target")
    return np.ascontiguousarray(np.swapaxes(by_both, -1, -2))


def _merge_last(soft: np.ndarray, spans: Sequence[tuple[int, int]], how: str, side: str) -> np.ndarray:
    """Merge the last axis: ``[..., P]`` -> ``[..., len(spans)]``."""
    if how not in REDUCTIONS:
        raise NormalignError(f"unknown way '{how}' to merge the {side} side; choose one of {', '.join(REDUCTIONS)}")
    if not len(spans):
        return np.zeros((*soft.shape[:-1], 0), dtype=soft.dtype)
    borders = np.asarray(spans, dtype=np.intp)
    flat = borders.reshape(-1)
    if flat[0] < 0 or flat[-1] > soft.shape[-1] or (flat[::2] >= flat[1::2]).any() or (np.diff(flat) < 0).any():
        raise ValueError(
            f"{side} spans {list(spans)} are not ordered, non-empty ranges within {soft.shape[-1]} positions"
        )
    # reduceat takes [start, stop, start, stop, ...]; every second result is what lies between two words
    cuts = flat[:-1] if flat[-1] == soft.shape[-1] else flat
    combine = np.maximum if how == "max" else np.add
    merged = combine.reduceat(soft, cuts, axis=-1)[..., ::2]
    return merged / (borders[:, 1] - borders[:, 0]).astype(soft.dtype) if how == "mean" else merged

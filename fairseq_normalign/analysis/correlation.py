"""Correlation of two arrays. numpy only."""

from __future__ import annotations

import numpy as np


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Return the linear correlation of two arrays [K]; NaN where one does not vary.

    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    1.0
    """
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum() / scale) if scale else float("nan")


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Return the rank correlation of two arrays [K]; equal values share their mean rank.

    >>> spearman(np.array([1.0, 2.0, 30.0]), np.array([3.0, 2.0, 1.0]))
    -1.0
    """
    return pearson(_ranks(x), _ranks(y))


def _ranks(values: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]

"""What every layer and head decides for a sentence pair. numpy only."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

Choice = tuple[str, str]
"""A method and a setting, for example ('norms', 'awi')."""


@dataclass
class PairDecisions:
    """The source word of every target word, -1 for none, by every layer and head."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    layers: dict[Choice, list[np.ndarray]] = field(default_factory=dict)
    """A layer each, the bottom first: [target words]."""
    heads: dict[Choice, list[np.ndarray]] = field(default_factory=dict)
    """A layer each: [H, target words]."""
    means: dict[str, list[float]] = field(default_factory=dict)
    """By method, a layer each: the mean over decoder steps and source positions of what was read."""
    peaks: dict[Choice, list[float]] = field(default_factory=dict)
    """A layer each: the mean over target words of the largest share in a row."""
    head_means: dict[str, list[list[float]]] = field(default_factory=dict)
    """The same of every head."""


def best_sources(soft: np.ndarray, null: np.ndarray, policy: str = "best") -> np.ndarray:
    """The source word of every target word, or -1: soft [..., T, S], null [..., T] -> [..., T].

    As :func:`..alignment.decide.argmax_links` decides, for any number of soft alignments of one pair.
    """
    if not soft.shape[-1]:
        return np.full(soft.shape[:-1], -1)
    best = soft.argmax(axis=-1)
    best[~soft.any(axis=-1)] = -1
    if policy == "unaligned":
        best[null > soft.max(axis=-1)] = -1
    return best

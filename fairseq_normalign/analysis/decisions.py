"""What every layer and head decides for a sentence pair. numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..alignment.gold import Gold
from ..errors import NormalignError

MethodSetting = tuple[str, str]
"""A method and a setting, for example ('norms', 'awi')."""


@dataclass
class PairDecisions:
    """The source word of every target word, -1 for none, by every layer and head."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    layers: dict[MethodSetting, list[np.ndarray]] = field(default_factory=dict)
    """A layer each, the bottom first: [target words]."""
    heads: dict[MethodSetting, list[np.ndarray]] = field(default_factory=dict)
    """A layer each: [H, target words]."""
    soft: dict[MethodSetting, list[np.ndarray]] = field(default_factory=dict)
    """A layer each: [target words, source words], rows adding up to one; kept only where it is asked for."""
    means: dict[str, list[float]] = field(default_factory=dict)
    """By method, a layer each: the mean over decoder steps and source positions of what was read."""
    peaks: dict[MethodSetting, list[float]] = field(default_factory=dict)
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


def check_gold(name: str, golds: Sequence[Gold], decisions: Sequence[PairDecisions | None]) -> None:
    """Refuse gold of other words than the text's; ``name`` is its file. It would be scored without a sign."""
    for number, (gold, pair) in enumerate(zip(golds, decisions, strict=True), start=1):
        if pair is None:
            continue
        for source, target in sorted(gold.possible):
            if source >= len(pair.source) or target >= len(pair.target):
                raise NormalignError(
                    f"{name}: sentence {number} links word {source + 1} to word {target + 1}, but the pair has "
                    f"{len(pair.source)} and {len(pair.target)} words; is the text tokenized as the gold's?"
                )

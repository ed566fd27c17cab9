"""The attention weights and norms of one batch of text, for the analyses. numpy only.

Shapes: B sentences, H heads, T queries (positions that attend), S keys (positions attended to).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

PAD = -1
"""Marks positions of :attr:`Observed.queries` and :attr:`Observed.keys` that hold no piece."""

PUNCTUATION, OTHERS = "punctuation", "others"


@dataclass(frozen=True)
class ObservedLayer:
    """One attention layer."""

    weights: np.ndarray
    """[B, H, T, S]: alpha."""
    lengths: np.ndarray
    """[B, H, S]: ||f_h(x)||, the length of each head's transformed vectors."""
    inputs: np.ndarray
    """[B, S]: ||x||."""
    mixing: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Variant of the block -> its mixing ratio [B, T]; empty unless it was asked for."""


@dataclass(frozen=True)
class Observed:
    """Every attention layer of one kind, on one batch."""

    kind: str
    """encoder, decoder or cross; in 'decoder' no query sees what comes after it."""
    queries: np.ndarray
    """[B, T]: the piece at each query, by its number in its inventory; PAD where there is none."""
    keys: np.ndarray
    """[B, S]."""
    layers: Sequence[ObservedLayer]

    @functools.cached_property
    def visible(self) -> np.ndarray:
        """[B, T, S]: which keys each query really sees."""
        both = (self.queries != PAD)[:, :, None] & (self.keys != PAD)[:, None, :]
        if self.kind != "decoder":
            return both
        return both & np.tri(self.queries.shape[1], self.keys.shape[1], dtype=bool)


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


@dataclass(frozen=True)
class Inventory:
    """The pieces of one language: how they are written, which of them are no text, how often they occur."""

    symbols: Sequence[str]
    special: frozenset[int]
    """End and start of a sentence, separators, masks, tags."""
    counts: np.ndarray | None = None
    """[V]."""

    def ranks(self, counts: np.ndarray | None = None) -> np.ndarray:
        """The rank of each piece by its frequency, the most frequent first: [V], from 1.

        Special pieces, which are in every sentence, have rank 1, as in Kobayashi et al. 2020.
        """
        counts = self.counts if counts is None else counts
        if counts is None:
            raise ValueError("no counts")
        special = sorted(self.special)
        order = np.argsort(-np.asarray(counts, dtype=float), kind="stable")
        order = order[~np.isin(order, special)]
        ranks = np.ones(len(self.symbols))
        ranks[order] = np.arange(len(order)) + (2 if special else 1)
        return ranks


@dataclass(frozen=True)
class Categories:
    """A category for every piece of an inventory."""

    names: tuple[str, ...]
    of_piece: np.ndarray
    """[V]: a place in ``names``."""

    def of(self, pieces: np.ndarray) -> np.ndarray:
        """Any shape of piece numbers -> their categories; PAD stays PAD."""
        return np.where(pieces == PAD, PAD, self.of_piece[pieces])


def categorize(inventory: Inventory, defined: Mapping[str, str] | None = None) -> Categories:
    """Return the category of each piece; by default each special piece by its name, punctuation, and the others.

    ``defined``: pattern by name, matched against whole pieces, subword marks off; the first that fits wins over the
    defaults.
    """
    patterns = [(name, re.compile(pattern)) for name, pattern in (defined or {}).items()]
    found = []
    for number, symbol in enumerate(inventory.symbols):
        is_special = number in inventory.special
        bare = symbol if is_special else symbol.removesuffix("@@").lstrip("▁Ġ").removeprefix("##")
        punctuation = bare and all(unicodedata.category(letter)[0] == "P" for letter in bare)
        default = symbol if is_special else PUNCTUATION if punctuation else OTHERS
        fits = (name for name, pattern in patterns if pattern.fullmatch(bare) or pattern.fullmatch(symbol))
        found.append(next(fits, default))
    tops = [*(defined or {}), *(inventory.symbols[number] for number in sorted(inventory.special)), PUNCTUATION]
    used = set(found)
    names = tuple(name for name in dict.fromkeys([*tops, OTHERS]) if name in used)
    place = {name: number for number, name in enumerate(names)}
    return Categories(names, np.array([place[name] for name in found]))

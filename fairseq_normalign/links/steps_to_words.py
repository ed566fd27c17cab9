"""From decoder steps and source positions to words: which row of a soft alignment belongs to which target word."""

from __future__ import annotations

import numpy as np

from ..errors import NormalignError
from .decide import Array
from .merge import merge
from .pieces import Segmentation
from .shares import merge_shared, shares_of

STEPS = ("awo", "awi")
"""AWO: the decoder step at which the word is the output. AWI: the step at which it is the input, one later."""


def rows_of(soft: Array, step: str) -> Array:
    """Return the rows of the target pieces: [..., T + 1 decoder steps, S] -> [..., T target pieces, S].

    Step 0 has the start symbol as input and the first piece as output; the last step has the last piece as input.

    >>> rows_of(np.array([[1.0], [2.0], [3.0]]), "awi").tolist()
    [[2.0], [3.0]]
    """
    if step not in STEPS:
        raise NormalignError(f"unknown step '{step}'; choose one of {', '.join(STEPS)}")
    return soft[..., 1:, :] if step == "awi" else soft[..., :-1, :]


def to_words(soft: Array, target: Segmentation, source: Segmentation, step: str) -> tuple[Array, Array]:
    """Merge pieces into words: [..., T + 1 steps, S] -> [..., target words, source words], null [..., target words].

    Pieces are merged as Li et al. 2019 do: sum over source pieces, mean over target pieces. Null is the largest value
    on a source position that belongs to no word (end of sentence, language tags), averaged over the target pieces.

    >>> from fairseq_normalign.links.pieces import segment
    >>> source, target = segment(["Haus@@", "tür", "</s>"], specials={"</s>"}), segment(["door"])
    >>> words, null = to_words(np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]), target, source, "awo")
    >>> words.tolist(), null.tolist()
    ([[0.75]], [0.25])
    """
    rows = rows_of(soft, step)
    if target.shares_pieces or source.shares_pieces:
        return _with_shares(rows, shares_of(target, rows.shape[-2]), source)
    words = merge(rows, target.spans, source.spans)
    if not source.specials:
        return words, np.zeros(words.shape[:-1], dtype=words.dtype)
    special = rows[..., list(source.specials)].max(axis=-1, keepdims=True)
    return words, merge(special, target.spans, [(0, 1)])[..., 0]


def _with_shares(rows: Array, target_shares: Array, source: Segmentation) -> tuple[Array, Array]:
    """Merge pieces that several words share: [..., T, S] -> [..., target words, source words], [..., target words]."""
    words = merge_shared(rows, target_shares, shares_of(source, rows.shape[-1]))
    special = rows[..., list(source.specials)].max(axis=-1, keepdims=True, initial=0)
    return words, merge_shared(special, target_shares, np.ones((1, 1)))[..., 0]


def normalized(soft: Array) -> Array:
    """Return rows that add up to one: [..., T, S] -> [..., T, S]. Values below zero count as zero; zero rows stay.

    >>> normalized(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    soft = np.maximum(soft, 0)
    total = soft.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    shares: Array = soft / total
    return shares

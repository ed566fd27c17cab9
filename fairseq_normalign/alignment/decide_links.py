"""Links of one soft alignment, by the name of the way they are decided."""

from __future__ import annotations

import numpy as np

from .decide import Link, argmax_links, mutual_argmax_links
from .experts import agree
from .steps_to_words import normalized
from .symmetrize import AGREED, symmetrize_soft

DECISIONS = ("argmax", "mutual", "grow-diag")
"""``argmax``: the best source word of every target word. ``mutual``: pairs of words that are each other's best.
``grow-diag``: the best source words and the best target words of the one soft alignment, combined as two directions
are combined; links with little agreement are dropped."""


def agreed_links(
    forward: np.ndarray, backward: np.ndarray | None, symmetrization: str, floor: float
) -> tuple[list[Link], np.ndarray]:
    """Return the links that two directions agree on, and their agreement [T, S].

    ``forward`` is [T, S], ``backward`` [S, T] or None for one direction by itself; ``symmetrization`` is one of
    :data:`~fairseq_normalign.alignment.symmetrize.SOFT_SYMMETRIZATIONS`; links with an agreement of ``floor`` or less
    are dropped.

    >>> agreed_links(np.array([[0.9, 0.1]]), np.array([[1.0], [1.0]]), "agreed-intersection", 0.1)[0]
    [(0, 0)]
    """
    agreed = agree(forward, backward)
    return symmetrize_soft(agreed, symmetrization, floor=floor), agreed


def decide_links(
    soft: np.ndarray,
    decision: str = "argmax",
    *,
    null: np.ndarray | None = None,
    policy: str = "best",
    floor: float = 0.0,
) -> list[Link]:
    """Return the links of ``soft`` [T, S], sorted (source, target).

    ``decision`` is one of :data:`DECISIONS`; ``null`` [T] and ``policy`` are those of
    :func:`~fairseq_normalign.alignment.decide.argmax_links`; ``floor`` is the agreement that a link of ``grow-diag``
    must exceed.

    >>> decide_links(np.array([[0.9, 0.1], [0.8, 0.2]]))
    [(0, 0), (0, 1)]
    >>> decide_links(np.array([[0.9, 0.1], [0.8, 0.2]]), "mutual")
    [(0, 0)]
    """
    best = argmax_links(soft, null=null, policy=policy)
    if decision == "argmax":
        return best
    linked = np.zeros((len(soft), 1), dtype=bool)
    linked[[target for _, target in best]] = True
    rows = np.where(linked, normalized(soft), 0)
    if decision == "mutual":
        return mutual_argmax_links(rows, normalized(rows.T))
    return agreed_links(rows, None, f"{AGREED}{decision}", floor)[0]

"""Links of one soft alignment, by the name of the way they are decided."""

from __future__ import annotations

import numpy as np

from ..errors import NormalignError
from .decide import Link, best_sources, links_of_sources, mutual_argmax_links, threshold_links, top_k_links
from .experts import agree
from .itermax import itermax_links
from .steps_to_words import normalized
from .symmetrize import AGREED, symmetrize_soft

DECISIONS = ("argmax", "mutual", "itermax", "grow-diag", "top-k:K", "threshold:X")
"""``argmax``: the best source word of every target word. ``mutual``: pairs of words that are each other's best.
``itermax``: ``mutual``, and once more among the words it left over. ``grow-diag``: the best source words and the best
target words of the one soft alignment, combined as two directions are combined; links with little agreement are
dropped. ``top-k:2``: the two best source words of every target word. ``threshold:0.3``: every source word with a share
of more than 0.3 of its target word."""

_WITH_NUMBER = {"top-k": int, "threshold": float}


def parse_decision(text: str) -> tuple[str, float]:
    """Return the name of a decision and its number, 0 where it has none.

    >>> parse_decision("top-k:2"), parse_decision("mutual")
    (('top-k', 2), ('mutual', 0))
    """
    name, _, given = text.partition(":")
    if name not in _WITH_NUMBER:
        if text not in DECISIONS:
            raise NormalignError(f"unknown decision '{text}'; choose one of {', '.join(DECISIONS)}")
        return text, 0
    try:
        number = _WITH_NUMBER[name](given)
    except ValueError:
        number = -1
    if not (number >= 1 if name == "top-k" else 0 <= number <= 1):
        allowed = "a whole number from 1 on, as in top-k:2" if name == "top-k" else "from 0 to 1, as in threshold:0.3"
        raise NormalignError(f"decision '{text}': the number is {allowed}")
    return name, number


def decided_by_rows(decision: str) -> bool:
    """Return whether each target word is decided by itself, so that its shares say how sure a link is.

    >>> decided_by_rows("top-k:2"), decided_by_rows("mutual")
    (True, False)
    """
    return parse_decision(decision)[0] in ("argmax", "top-k", "threshold")


def agreed_links(
    forward: np.ndarray, backward: np.ndarray | None, symmetrization: str, floor: float
) -> tuple[list[Link], np.ndarray]:
    """Return the links that two directions agree on, and their agreement [T, S].

    ``forward`` is [T, S], ``backward`` [S, T] or None for one direction by itself; ``symmetrization`` is one of
    :data:`~fairseq_normalign.links.symmetrize.SOFT_SYMMETRIZATIONS`; links with an agreement of ``floor`` or less
    are dropped.

    >>> agreed_links(np.array([[0.9, 0.1]]), np.array([[1.0], [1.0]]), "agreed-intersection", 0.1)[0]
    [(0, 0)]
    """
    agreed = agree(forward, backward)
    return symmetrize_soft(agreed, symmetrization, floor=floor), agreed


def decide_agreed(agreed: np.ndarray, decision: str, floor: float = 0.0) -> list[Link]:
    """Return the links of what two directions agree on, [T, S], by one of :data:`DECISIONS`.

    Links with an agreement of ``floor`` or less are dropped; ``threshold:X`` has its own.

    >>> decide_agreed(np.array([[0.9, 0.1], [0.8, 0.2]]), "top-k:2", floor=0.1)
    [(0, 0), (0, 1), (1, 1)]
    """
    name, _ = parse_decision(decision)
    if name == "grow-diag":
        return symmetrize_soft(agreed, f"{AGREED}{decision}", floor=floor)
    links = _decide(agreed, agreed.T, decision)
    return links if name == "threshold" else [(s, t) for s, t in links if agreed[t, s] > floor]


def decide_links(
    soft: np.ndarray,
    decision: str = "argmax",
    *,
    null: np.ndarray | None = None,
    policy: str = "best",
    floor: float = 0.0,
) -> list[Link]:
    """Return the links of ``soft`` [T, S], sorted (source, target); the rest as in :func:`decide_with_shares`.

    >>> decide_links(np.array([[0.9, 0.1], [0.8, 0.2]]))
    [(0, 0), (0, 1)]
    >>> decide_links(np.array([[0.9, 0.1], [0.8, 0.2]]), "mutual")
    [(0, 0)]
    """
    return decide_with_shares(soft, decision, null=null, policy=policy, floor=floor)[0]


def decide_with_shares(
    soft: np.ndarray,
    decision: str = "argmax",
    *,
    null: np.ndarray | None = None,
    policy: str = "best",
    floor: float = 0.0,
) -> tuple[list[Link], np.ndarray]:
    """Return the links of ``soft`` [T, S], sorted (source, target), and what says how sure each of them is, [T, S].

    That is the share of its row where each target word is decided by itself, else how much rows and columns agree.
    ``decision`` is one of :data:`DECISIONS`; ``null`` [T] and ``policy`` are those of
    :func:`~fairseq_normalign.links.decide.argmax_links`; ``floor`` is the agreement that a link of ``grow-diag``
    must exceed.

    >>> links, shares = decide_with_shares(np.array([[0.9, 0.1], [0.8, 0.2]]), "grow-diag")
    >>> links, shares.round(2).tolist()
    ([(0, 0), (0, 1), (1, 1)], [[0.73, 0.11], [0.55, 0.49]])
    """
    best = best_sources(soft, null, policy)
    shares = normalized(soft)
    if decision == "argmax":
        return links_of_sources(best), shares
    linked = best >= 0
    rows = shares if linked.all() else np.where(linked[:, None], shares, 0)
    if decision == "grow-diag":
        return agreed_links(rows, None, f"{AGREED}{decision}", floor)
    links = _decide(rows, normalized(rows.T), decision)
    return links, shares if decided_by_rows(decision) else agree(soft)


def _decide(forward: np.ndarray, backward: np.ndarray, decision: str) -> list[Link]:
    """Return the links of ``forward`` [T, S] and, where both sides choose, ``backward`` [S, T]."""
    name, number = parse_decision(decision)
    if name == "mutual":
        return mutual_argmax_links(forward, backward)
    if name == "itermax":
        return itermax_links(forward, backward)
    if name == "threshold":
        return threshold_links(forward, number)
    return top_k_links(forward, int(number) if name == "top-k" else 1)

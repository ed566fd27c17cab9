"""Links from the soft alignments of one direction or of two.

A link is a (source, target) pair of word positions from 0; lists of links are sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NormalignError
from .symmetrize import AGREED, SOFT_SYMMETRIZATIONS, symmetrize

Array = NDArray[Any]
"""An array of numbers of any type; docstrings say the shape."""

Link = tuple[int, int]

NULL_POLICIES = ("best", "unaligned")
"""What happens to a target word that gives more to the end of the sentence or a tag than to any source word: it is
linked to its best source word, or left unaligned."""

DECISIONS = ("argmax", "mutual", "itermax", "mwmf", "grow-diag", "top-k:K", "threshold:X")
"""``argmax``: the best source word of every target word. ``mutual``: pairs of words that are each other's best.
``itermax``: ``mutual``, and once more among the words it left over. ``mwmf``: one-to-one links, as many as possible,
whose agreement has the largest sum. ``grow-diag``: the best source words and the best
target words of the one soft alignment, combined as two directions are combined; links with little agreement are
dropped. ``top-k:2``: the two best source words of every target word. ``threshold:0.3``: every source word with a share
of more than 0.3 of its target word."""

DISCOUNT = 0.9
"""What a pair of words counts in the second round of ``itermax`` when one of the two is linked already."""

ALONE = 0.5
"""What a pair of words counts, under a root, whose neighbours on the diagonal do not agree at all."""


def decide(
    soft: Array,
    decision: str = "argmax",
    *,
    backward: Array | None = None,
    null: Array | None = None,
    policy: str = "best",
    floor: float = 0.0,
) -> tuple[list[Link], Array]:
    """Return the links of ``soft`` [T, S], sorted (source, target), and how sure each of them is, [T, S].

    ``decision`` is one of :data:`DECISIONS`. With ``backward`` [S, T], the soft alignment of the other direction, links
    are decided on what both agree on (see :func:`agree`), and ``decision`` may also be one of
    :data:`~fairseq_normalign.links.symmetrize.SOFT_SYMMETRIZATIONS`. Which of the two is called forward does not
    matter, but for "agreed-priority". How sure a link is: how much rows and columns, or the two directions, agree on
    it; its share of its row where each target word is decided by itself.

    ``null`` [T] and ``policy`` are those of :func:`best_sources`. Links with an agreement of ``floor`` or less are
    dropped where two directions, or rows and columns in ``grow-diag``, agree.

    >>> links, shares = decide(np.array([[0.9, 0.1], [0.8, 0.2]]), "grow-diag")
    >>> links, shares.round(2).tolist()
    ([(0, 0), (0, 1), (1, 1)], [[0.73, 0.11], [0.55, 0.49]])
    >>> decide(np.array([[0.9, 0.1]]), "agreed-intersection", backward=np.array([[1.0], [1.0]]), floor=0.1)[0]
    [(0, 0)]
    """
    if backward is None:
        name, _ = parse_decision(decision)
        best = best_sources(soft, null, policy)
        shares = normalized(soft)
        if name == "argmax":
            return links_of_sources(best), shares
        linked = best >= 0
        rows = shares if linked.all() else np.where(linked[:, None], shares, 0)
        if name != "grow-diag":
            links = _decide(rows, normalized(rows.T), decision)
            return links, shares if name in ("top-k", "threshold") else agree(soft)

    agreed = agree(rows) if backward is None else agree(soft, backward)
    if decision == "grow-diag":
        decision = f"{AGREED}{decision}"
    if not decision.startswith(AGREED):
        links = _decide(agreed, agreed.T, decision)
        if decision.startswith("threshold"):  # has its own limit
            return links, agreed
    elif decision not in SOFT_SYMMETRIZATIONS:
        choices = ", ".join(SOFT_SYMMETRIZATIONS)
        raise NormalignError(f"unknown symmetrization '{decision}'; choose one of {choices}")
    else:
        links = joined(agreed, decision.removeprefix(AGREED), directions=1 if backward is None else 2)
    return [(source, target) for source, target in links if agreed[target, source] > floor], agreed


def joined(agreed: Array, way: str, *, directions: int) -> list[Link]:
    """Return the links that rows and columns of ``agreed`` [T, S] have in common in this way, sorted.

    With two directions the same links are found whichever text is called the source, but for "priority".

    >>> joined(np.array([[0.9, 0.1], [0.8, 0.2]]), "intersection", directions=1)
    [(0, 0)]
    """
    by_target = [(source, target) for target, source in enumerate(best_sources(agreed).tolist()) if source >= 0]
    by_source = [(source, target) for source, target in enumerate(best_sources(agreed.T).tolist()) if target >= 0]
    links = symmetrize(by_target, by_source, way)
    if directions == 1 or way == "priority":
        return sorted(links)
    # growing goes from left to right in the source, so a link can depend on which text is the source: those are kept
    # that join either way
    first, second = ([(target, source) for source, target in side] for side in (by_source, by_target))
    return sorted(set(links) & {(source, target) for target, source in symmetrize(first, second, way)})


def parse_decision(text: str) -> tuple[str, float]:
    """Return the name of a decision and its number, 0 where it has none.

    >>> parse_decision("top-k:2"), parse_decision("mutual")
    (('top-k', 2), ('mutual', 0))
    """
    name, _, given = text.partition(":")
    if name not in ("top-k", "threshold"):
        if text not in DECISIONS:
            raise NormalignError(f"unknown decision '{text}'; choose one of {', '.join(DECISIONS)}")
        return text, 0
    try:
        number = int(given) if name == "top-k" else float(given)
    except ValueError:
        number = -1
    if not (number >= 1 if name == "top-k" else 0 <= number <= 1):
        allowed = "a whole number from 1 on, as in top-k:2" if name == "top-k" else "from 0 to 1, as in threshold:0.3"
        raise NormalignError(f"decision '{text}': the number is {allowed}")
    return name, number


def best_sources(
    soft: Array, null: Array | None = None, policy: str = "best", *, source_lengths: Array | None = None
) -> NDArray[np.intp]:
    """Return the best source word of each target word, -1 for none: [..., T, S] -> [..., T].

    The first of several equal values wins; a row of zeros has no best source word. ``null`` [..., T] is the largest
    value on positions that are not words (end of sentence, tags); with ``policy`` "unaligned" a target word whose null
    is larger than all its words gets -1. ``source_lengths`` [...] says how many columns of each matrix are words,
    where the matrices are padded. NaN is an error.

    >>> best_sources(np.array([[0.9, 0.1], [0.4, 0.6], [0.0, 0.0]])).tolist()
    [0, 1, -1]
    >>> best_sources(np.array([[0.9, 0.1], [0.2, 0.3]]), np.array([0.0, 0.5]), "unaligned").tolist()
    [0, -1]
    """
    if policy not in NULL_POLICIES:
        raise NormalignError(f"unknown NULL policy '{policy}'; choose one of {', '.join(NULL_POLICIES)}")
    _refuse_nan(soft)
    if not soft.shape[-1]:
        return np.full(soft.shape[:-1], -1)
    has_value = soft.any(axis=-1)
    if source_lengths is not None:
        is_word = np.arange(soft.shape[-1]) < source_lengths[..., None]
        soft = np.where(is_word[..., None, :], soft, -np.inf)
    best: NDArray[np.intp] = soft.argmax(axis=-1)
    best[~has_value] = -1
    if policy == "unaligned" and null is not None:
        null = np.asarray(null)
        if null.shape != soft.shape[:-1]:
            raise ValueError(f"null is of shape {null.shape}, the soft alignment of {soft.shape}")
        if np.isnan(null).any():
            raise NormalignError(f"the null weight of target word {int(np.argwhere(np.isnan(null))[0][-1]) + 1} is NaN")
        best[null > soft.max(axis=-1)] = -1
    return best


def links_of_sources(best: Array) -> list[Link]:
    """Return the links of the source words [T] that :func:`best_sources` chose.

    >>> links_of_sources(np.array([1, -1, 0]))
    [(0, 2), (1, 0)]
    """
    return sorted((source, target) for target, source in enumerate(best.tolist()) if source >= 0)


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


# -- what two directions agree on -------------------------------------------------------------------------------------


def agreement(forward: Array, backward: Array) -> Array:
    """Return how much both directions give to each pair of words: the geometric mean of their shares.

    ``forward`` is ``[T, S]``, ``backward`` is ``[S, T]``, rows of both adding up to one -> ``[T, S]``. The product of
    two shares is large only where both are large (Liang et al. 2006), and takes account of how sure each model is.

    >>> agreement(np.array([[0.25, 0.75]]), np.array([[1.0], [0.75]])).tolist()
    [[0.5, 0.75]]
    """
    if forward.shape != backward.shape[::-1]:
        raise ValueError(f"forward {forward.shape} and backward {backward.shape} are not of the same sentence pair")
    agreed: Array = np.sqrt(forward * backward.T)
    return agreed


def agree(forward: Array, backward: Array | None = None) -> Array:
    """Return how much two directions agree on each pair of words, its neighbours included: -> ``[T, S]``.

    ``forward`` is ``[T, S]``, ``backward`` ``[S, T]``. Without it one direction agrees with itself, its rows with its
    columns: a source word that several target words claim is shared among them, as the model of the other direction
    would do. Both are multiplied by :func:`neighbour_support`, and their :func:`agreement` is taken again.

    >>> agree(np.array([[0.8, 0.2], [0.3, 0.7]])).round(2).tolist()
    [[0.84, 0.14], [0.2, 0.83]]
    """
    one = normalized(np.ascontiguousarray(forward, dtype=np.float64))  # rounding depends on the order in memory
    other = normalized(one.T if backward is None else np.ascontiguousarray(backward, dtype=np.float64))
    support = neighbour_support(agreement(one, other))
    one = normalized(one * support)
    return agreement(one, normalized(one.T if backward is None else other * support.T))


def neighbour_support(agreed: Array, alone: float = ALONE) -> Array:
    """Return a factor for each pair of words: the root of ``alone`` plus the mean agreement of its neighbours.

    ``[T, S]`` -> ``[T, S]``. Words next to each other mostly have translations next to each other, so the neighbours
    are the pair of previous words and the pair of next words. Sentences begin and end together: before the two first
    words and after the two last ones the agreement is 1.

    >>> neighbour_support(np.array([[0.5, 0.0], [0.0, 0.7]])).round(2).tolist()
    [[1.16, 0.71], [0.71, 1.12]]
    """
    height, width = agreed.shape
    framed = np.zeros((height + 2, width + 2))
    framed[1:-1, 1:-1] = agreed
    framed[0, 0] = framed[-1, -1] = 1.0
    support: Array = np.sqrt(alone + (framed[:-2, :-2] + framed[2:, 2:]) / 2)
    return support


# -- the decisions ----------------------------------------------------------------------------------------------------


def _decide(forward: Array, backward: Array, decision: str) -> list[Link]:
    """Return the links of ``forward`` [T, S] and, where both sides choose, ``backward`` [S, T]."""
    name, number = parse_decision(decision)
    if name == "mutual":
        return sorted(_mutual(forward, backward))
    if name == "itermax":
        return _itermax(forward, backward)
    if name == "mwmf":
        return max_weight_links(agreement(forward, backward))
    if name == "threshold":
        _refuse_nan(forward)
        chosen = forward > number
    else:
        best = best_sources(forward)
        chosen = np.zeros(forward.shape, dtype=bool)  # a zero is never linked next to a larger value
        order = np.argsort(-forward, axis=1, kind="stable")[:, : max(1, int(number))]
        np.put_along_axis(chosen, order, np.take_along_axis(forward, order, axis=1) != 0, axis=1)
        chosen[best < 0] = False
    return [(source, target) for source, target in np.argwhere(chosen.T).tolist()]


def _mutual(forward: Array, backward: Array) -> set[Link]:
    """Return the pairs of words that are each other's best; ``forward`` is [T, S], ``backward`` [S, T]."""
    found_backward = {(source, target) for target, source in links_of_sources(best_sources(backward))}
    return found_backward & set(links_of_sources(best_sources(forward)))


def _itermax(forward: Array, backward: Array) -> list[Link]:
    """Mutual argmax, and again among the words it left over (Jalili Sabet et al. 2020, SimAlign).

    In the second round a pair of words that are both linked is left out, and one of which one word is linked counts
    :data:`DISCOUNT` times its value. As in SimAlign there is no second round when one side is linked completely, or has
    two words or fewer.
    """
    found = _mutual(forward, backward)
    target_free, source_free = (np.ones(size) for size in forward.shape)
    for source, target in found:
        target_free[target] = source_free[source] = 0
    if min(forward.shape) > 2 and target_free.any() and source_free.any():
        weights = np.array([0.0, DISCOUNT, 1.0])[(target_free[:, None] + source_free).astype(int)]
        found |= _mutual(forward * weights, backward * weights.T)
    return sorted(found)


def max_weight_links(weights: Array) -> list[Link]:
    """Return the one-to-one links between words, as many as possible, whose weights have the largest sum.

    ``weights`` is [T, S]; a zero is no link. SimAlign calls this "mwmf". The assignment is found row by row, each time
    by a shortest augmenting path (Jonker and Volgenant 1987).

    >>> max_weight_links(np.array([[0.9, 0.8], [0.7, 0.1]]))
    [(0, 1), (1, 0)]
    """
    _refuse_nan(weights)
    if weights.shape[0] > weights.shape[1]:
        return sorted((source, target) for target, source in max_weight_links(weights.T))
    rows, columns = weights.shape
    largest = weights.max(initial=0.0)
    bonus = (min(rows, columns) + 1) * largest  # one link more is worth more than any weights
    costs = np.where(weights > 0, -(weights + bonus), 0.0)
    row_of = np.full(columns + 1, -1)  # the last column stands for the row that is looking for one
    price_of_row, price_of_column = np.zeros(rows), np.zeros(columns + 1)
    for row in range(rows):
        row_of[columns] = row
        column = columns
        shortest, came_from = np.full(columns, np.inf), np.full(columns, columns)
        visited = np.zeros(columns + 1, dtype=bool)
        while row_of[column] >= 0:
            visited[column] = True
            here = row_of[column]
            paths = costs[here] - price_of_row[here] - price_of_column[:columns]
            better = ~visited[:columns] & (paths < shortest)
            shortest[better], came_from[better] = paths[better], column
            column = int(np.where(visited[:columns], np.inf, shortest).argmin())
            step = shortest[column]
            price_of_row[row_of[visited]] += step
            price_of_column[visited] -= step
            shortest[~visited[:columns]] -= step
        while column != columns:
            row_of[column] = row_of[came_from[column]]
            column = int(came_from[column])
    links = [(source, int(target)) for source, target in enumerate(row_of[:columns]) if target >= 0]
    return [(source, target) for source, target in links if weights[target, source] > 0]


def _refuse_nan(soft: Array) -> None:
    if np.isnan(soft).any():
        *_, target, source = np.argwhere(np.isnan(soft))[0]
        raise NormalignError(f"the soft alignment of target word {target + 1}, source word {source + 1} is NaN")

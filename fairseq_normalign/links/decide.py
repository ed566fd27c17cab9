"""Links from soft alignments. A link is a (source, target) pair of word positions from 0; lists of links are sorted."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import NormalignError

Array = NDArray[Any]
"""An array of numbers of any type; docstrings say the shape."""

NULL_POLICIES = ("best", "unaligned")
"""What happens to a target word that gives more to the end of the sentence or a tag than to any source word: it is
linked to its best source word, or left unaligned."""

Link = tuple[int, int]


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
        best[_checked_null(null, soft) > soft.max(axis=-1)] = -1
    return best


def links_of_sources(best: Array) -> list[Link]:
    """Return the links of the source words [T] that :func:`best_sources` chose.

    >>> links_of_sources(np.array([1, -1, 0]))
    [(0, 2), (1, 0)]
    """
    return sorted((source, target) for target, source in enumerate(best.tolist()) if source >= 0)


def argmax_links(soft: ArrayLike, *, null: Array | None = None, policy: str = "best") -> list[Link]:
    """Link each target word to its best source word, as :func:`best_sources` chooses it.

    ``soft`` is [T, S], ``null`` is [T].

    >>> argmax_links([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    [(0, 0), (0, 2), (1, 1)]
    """
    return links_of_sources(best_sources(_matrix(soft), null, policy))


def top_k_links(soft: ArrayLike, k: int, *, null: Array | None = None, policy: str = "best") -> list[Link]:
    """Link each target word to its ``k`` largest source words; the first of several equal values wins.

    ``soft`` is [T, S]. A zero is never linked beside a larger value. ``k`` = 1 is :func:`argmax_links`.

    >>> top_k_links([[0.5, 0.1, 0.4], [1.0, 0.0, 0.0]], 2)
    [(0, 0), (0, 1), (2, 0)]
    """
    if k < 1:
        raise NormalignError(f"top-k needs k of at least 1, not {k}")
    soft = _matrix(soft)
    best = best_sources(soft, null, policy)
    order = np.argsort(-soft, axis=1, kind="stable")[:, :k]
    chosen = np.take_along_axis(soft, order, axis=1) != 0
    chosen[:, :1] = True
    chosen &= (best >= 0)[:, None]
    targets, ranks = np.nonzero(chosen)
    return _sorted_links(order[targets, ranks], targets)


def threshold_links(soft: ArrayLike, threshold: float) -> list[Link]:
    """Link each pair of words whose value is larger than ``threshold``; ``soft`` is [T, S].

    >>> threshold_links([[0.5, 0.1, 0.4], [0.9, 0.05, 0.05]], 0.3)
    [(0, 0), (0, 1), (2, 0)]
    """
    soft = _matrix(soft)
    _refuse_nan(soft)
    targets, sources = np.nonzero(soft > threshold)
    return _sorted_links(sources, targets)


def mutual_argmax_links(
    forward: ArrayLike,
    backward: ArrayLike,
    *,
    forward_null: Array | None = None,
    backward_null: Array | None = None,
    policy: str = "best",
) -> list[Link]:
    """Link the pairs of words that are each other's best.

    ``forward`` is [T, S]; ``backward`` is [S, T], the soft alignment of the model of the other direction.
    The nulls are [T] and [S].

    >>> mutual_argmax_links([[0.9, 0.1], [0.6, 0.4]], [[0.7, 0.3], [0.5, 0.5]])
    [(0, 0)]
    """
    forward, backward = _matrix(forward), _matrix(backward)
    if forward.shape != backward.shape[::-1]:
        raise NormalignError(f"forward {forward.shape} and backward {backward.shape} are not of the same sentence pair")
    found_backward = set(argmax_links(backward, null=backward_null, policy=policy))
    found_forward = argmax_links(forward, null=forward_null, policy=policy)
    return [(source, target) for source, target in found_forward if (target, source) in found_backward]


def link_final_punctuation(links: Iterable[Link], source: Sequence[str], target: Sequence[str]) -> list[Link]:
    """Apply the rule for sentence-final punctuation of some published figures; no other function applies it.

    When both sentences end in punctuation, the two last words are linked to each other and to nothing else.

    >>> link_final_punctuation([(0, 0), (0, 1)], ["ja", "."], ["yes", "!"])
    [(0, 0), (1, 1)]
    """
    if not (source and target and _is_punctuation(source[-1]) and _is_punctuation(target[-1])):
        return sorted(links)
    last = (len(source) - 1, len(target) - 1)
    return sorted({(s, t) for s, t in links if s != last[0] and t != last[1]} | {last})


def _is_punctuation(word: str) -> bool:
    return bool(word) and all(unicodedata.category(letter).startswith("P") for letter in word)


def _matrix(soft: ArrayLike) -> Array:
    soft = np.asarray(soft)
    if soft.ndim != 2:
        raise ValueError(f"a soft alignment is [target, source], not of shape {soft.shape}")
    return soft


def _refuse_nan(soft: Array) -> None:
    if np.isnan(soft).any():
        *_, target, source = np.argwhere(np.isnan(soft))[0]
        raise NormalignError(f"the soft alignment of target word {target + 1}, source word {source + 1} is NaN")


def _checked_null(null: ArrayLike, soft: Array) -> Array:
    null = np.asarray(null)
    if null.shape != soft.shape[:-1]:
        raise ValueError(f"null is of shape {null.shape}, the soft alignment of {soft.shape}")
    if np.isnan(null).any():
        raise NormalignError(f"the null weight of target word {int(np.argwhere(np.isnan(null))[0][-1]) + 1} is NaN")
    return null


def _sorted_links(sources: Array, targets: Array) -> list[Link]:
    return sorted(zip(sources.tolist(), targets.tolist(), strict=True))

"""Links from soft alignments. Every function returns sorted (source, target) pairs, 0-based."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np

from ..errors import NormalignError

NULL_POLICIES = ("best", "unaligned")

Link = tuple[int, int]


def argmax_links(soft: np.ndarray, *, null: np.ndarray | None = None, policy: str = "best") -> list[Link]:
    """Link every target word to the source word of its largest value; the first one wins a tie.

    ``soft`` is ``[T, S]``; ``null``, ``[T]``, the largest value on positions that are no words (end of sentence, tags).
    With ``policy`` "unaligned" a target word whose null is larger than all its words stays unaligned; with "best" null
    is ignored. A row of zeros stays unaligned; NaN is an error.
    """
    soft = _checked(soft)
    best = _best(soft, null, policy)
    return sorted((int(best[t]), t) for t in range(len(best)) if best[t] >= 0)


def top_k_links(soft: np.ndarray, k: int, *, null: np.ndarray | None = None, policy: str = "best") -> list[Link]:
    """Link every target word to its ``k`` largest source words; the first wins a tie.

    ``soft`` is ``[T, S]``. Zeros beside the largest value are no links. ``k`` = 1 is :func:`argmax_links`.
    """
    if k < 1:
        raise NormalignError(f"top-k needs k of at least 1, not {k}")
    soft = _checked(soft)
    best = _best(soft, null, policy)
    order = np.argsort(-soft, axis=1, kind="stable")[:, :k]
    chosen = np.take_along_axis(soft, order, axis=1) != 0
    chosen[:, :1] = True
    chosen &= (best >= 0)[:, None]
    targets, ranks = np.nonzero(chosen)
    return _sorted_links(order[targets, ranks], targets)


def threshold_links(soft: np.ndarray, threshold: float) -> list[Link]:
    """Link every pair whose value is larger than ``threshold``; ``soft`` is ``[T, S]``."""
    targets, sources = np.nonzero(_checked(soft) > threshold)
    return _sorted_links(sources, targets)


def mutual_argmax_links(
    forward: np.ndarray,
    backward: np.ndarray,
    *,
    forward_null: np.ndarray | None = None,
    backward_null: np.ndarray | None = None,
    policy: str = "best",
) -> list[Link]:
    """Link the pairs that are each other's argmax.

    ``forward`` is ``[T, S]``; ``backward`` is ``[S, T]``, the soft alignment of the model of the other direction.
    The nulls are ``[T]`` and ``[S]``.
    """
    forward, backward = _checked(forward), _checked(backward)
    if forward.shape != backward.shape[::-1]:
        raise NormalignError(f"forward {forward.shape} and backward {backward.shape} are not of the same sentence pair")
    back = set(argmax_links(backward, null=backward_null, policy=policy))
    ahead = argmax_links(forward, null=forward_null, policy=policy)
    return [(source, target) for source, target in ahead if (target, source) in back]


def link_final_punctuation(links: Iterable[Link], source: Sequence[str], target: Sequence[str]) -> list[Link]:
    """The sentence-final punctuation rule of some published figures. Nothing here applies it by itself.

    When both sentences end in punctuation, the two last words are linked to each other and to nothing else.
    """
    if not (source and target and _is_punctuation(source[-1]) and _is_punctuation(target[-1])):
        return sorted(links)
    last = (len(source) - 1, len(target) - 1)
    return sorted({(s, t) for s, t in links if s != last[0] and t != last[1]} | {last})


def _is_punctuation(word: str) -> bool:
    return bool(word) and all(unicodedata.category(letter).startswith("P") for letter in word)


def _checked(soft: np.ndarray) -> np.ndarray:
    soft = np.asarray(soft)
    if soft.ndim != 2:
        raise ValueError(f"a soft alignment is [target, source], not of shape {soft.shape}")
    if np.isnan(soft).any():
        target, source = np.argwhere(np.isnan(soft))[0]
        raise NormalignError(f"the soft alignment of target word {target + 1}, source word {source + 1} is NaN")
    return soft


def _best(soft: np.ndarray, null: np.ndarray | None, policy: str) -> np.ndarray:
    """``[T]``: the source word of each target word, or -1."""
    if policy not in NULL_POLICIES:
        raise NormalignError(f"unknown NULL policy '{policy}'; choose one of {', '.join(NULL_POLICIES)}")
    if soft.shape[1] == 0:
        return np.full(soft.shape[0], -1)
    best = soft.argmax(axis=1)
    best[~soft.any(axis=1)] = -1
    if policy == "unaligned" and null is not None:
        null = np.asarray(null)
        if null.shape != soft.shape[:1]:
            raise ValueError(f"null is of shape {null.shape}, the soft alignment of {soft.shape}")
        if np.isnan(null).any():
            raise NormalignError(f"the null weight of target word {int(np.argmax(np.isnan(null))) + 1} is NaN")
        best[null > soft.max(axis=1)] = -1
    return best


def _sorted_links(sources: np.ndarray, targets: np.ndarray) -> list[Link]:
    return sorted(zip(sources.tolist(), targets.tolist(), strict=True))

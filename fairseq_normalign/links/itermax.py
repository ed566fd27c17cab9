"""Itermax: mutual argmax, and again among the words it left over (Jalili Sabet et al. 2020, SimAlign)."""

from __future__ import annotations

import numpy as np

from ..errors import NormalignError
from .decide import Link, mutual_argmax_links


def itermax_links(
    soft: np.ndarray, backward: np.ndarray | None = None, *, rounds: int = 2, discount: float = 0.9
) -> list[Link]:
    """Links by repeated mutual argmax; sorted (source, target) pairs, 0-based.

    ``soft`` is ``[T, S]``, a soft alignment or a similarity; ``backward``, ``[S, T]``, that of the other direction, or
    None for the same numbers turned round. In each further round a pair of words that are both linked already is left
    out, and one of which one word is linked counts ``discount`` times its value. As in SimAlign there is no further
    round when one side is linked throughout, and for a side of two words or fewer there is only the first, which is
    :func:`~fairseq_normalign.links.decide.mutual_argmax_links`.

        >>> soft = np.array([[0.9, 0.1, 0.5], [0.8, 0.2, 0.1], [0.1, 0.1, 0.6]])
        >>> itermax_links(soft, rounds=1), itermax_links(soft, rounds=2)
        ([(0, 0), (2, 2)], [(0, 0), (0, 1), (2, 2)])
    """
    if rounds < 1:
        raise NormalignError(f"itermax needs at least one round, not {rounds}")
    if not 0 <= discount <= 1:
        raise NormalignError(f"the discount of itermax is from 0 to 1, not {discount}")
    forward = np.asarray(soft)
    turned = forward.T if backward is None else np.asarray(backward)
    found = set(mutual_argmax_links(forward, turned))
    for _ in range(rounds - 1 if min(forward.shape) > 2 else 0):
        linked_sources, linked_targets = ({link[side] for link in found} for side in (0, 1))
        if len(linked_targets) == forward.shape[0] or len(linked_sources) == forward.shape[1]:
            break
        weights = _weights(forward.shape, found, discount)
        new = set(mutual_argmax_links(forward * weights, turned * weights.T)) - found
        if not new:
            break
        found |= new
    return sorted(found)


def _weights(shape: tuple[int, ...], links: set[Link], discount: float) -> np.ndarray:
    """``[T, S]``: 1 where neither word is linked, ``discount`` where one is, 0 where both are."""
    target_free, source_free = np.ones(shape[0], dtype=bool), np.ones(shape[1], dtype=bool)
    for source, target in links:
        target_free[target] = source_free[source] = False
    free = target_free[:, None].astype(float) + source_free[None, :]
    return np.where(free == 2, 1.0, np.where(free == 1, discount, 0.0))

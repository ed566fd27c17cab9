"""One alignment from those of two directions: from links, as fast_align's atools makes it, or from soft alignments."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ..errors import NormalignError
from .decide import Array, Link, best_sources

_STRAIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
_DIAGONAL = (*_STRAIGHT, (1, 1), (-1, 1), (1, -1), (-1, -1))

DEFAULT = "grow-diag"
"""How links of two directions are combined where nothing is chosen."""


def symmetrize(forward: Iterable[Link], backward: Iterable[Link], method: str = DEFAULT) -> list[Link]:
    """Combine two alignments of one sentence, both as (source, target), into one; sorted.

    ``method`` is one of :data:`SYMMETRIZATIONS`. The order of the two matters only in the "final" step, which looks at
    ``forward`` first.

    >>> symmetrize([(0, 0), (1, 1)], [(0, 0), (1, 0)], "intersection")
    [(0, 0)]
    """
    if method not in SYMMETRIZATIONS:
        raise NormalignError(f"unknown symmetrization '{method}'; choose one of {', '.join(SYMMETRIZATIONS)}")
    return sorted(SYMMETRIZATIONS[method](set(forward), set(backward)))


def agreement(forward: np.ndarray, backward: np.ndarray) -> np.ndarray:
    """Return how much both directions give to each pair of words: the geometric mean of their shares.

    ``forward`` is ``[T, S]``, ``backward`` is ``[S, T]``, rows of both adding up to one -> ``[T, S]``. A product of
    what two models believe is large only where both believe it (Liang et al. 2006), and weighs what a link cannot: how
    sure each of them is.

    >>> agreement(np.array([[0.25, 0.75]]), np.array([[1.0], [0.75]])).tolist()
    [[0.5, 0.75]]
    """
    if forward.shape != backward.shape[::-1]:
        raise ValueError(f"forward {forward.shape} and backward {backward.shape} are not of the same sentence pair")
    agreed: Array = np.sqrt(forward * backward.T)
    return agreed


def symmetrize_soft(agreed: np.ndarray, method: str, *, floor: float = 0.0) -> list[Link]:
    """Return links from the :func:`agreement` [T, S] of two directions.

    ``method`` is one of :data:`SOFT_SYMMETRIZATIONS`.
    The best source word of every target word and the best target word of every source word are combined as
    :func:`symmetrize` combines links. Of these, links with an agreement of ``floor`` or less are dropped.

    >>> symmetrize_soft(np.array([[0.9, 0.1], [0.2, 0.6]]), "agreed-grow-diag")
    [(0, 0), (1, 1)]
    """
    if method not in SOFT_SYMMETRIZATIONS:
        raise NormalignError(f"unknown symmetrization '{method}'; choose one of {', '.join(SOFT_SYMMETRIZATIONS)}")
    sources, targets = best_sources(agreed).tolist(), best_sources(agreed.T).tolist()
    of_targets = {(source, target) for target, source in enumerate(sources) if source >= 0}
    of_sources = {(source, target) for source, target in enumerate(targets) if target >= 0}
    links = symmetrize(of_targets, of_sources, method.removeprefix(AGREED))
    return [(source, target) for source, target in links if agreed[target, source] > floor]


def _intersection(forward: set[Link], backward: set[Link]) -> set[Link]:
    return forward & backward


def _union(forward: set[Link], backward: set[Link]) -> set[Link]:
    return forward | backward


class _Growing:
    """An alignment that grows from the intersection, and which words it covers."""

    def __init__(self, forward: set[Link], backward: set[Link]) -> None:
        self.links = forward & backward
        self.sources = {source for source, _ in self.links}
        self.targets = {target for _, target in self.links}

    def add(self, source: int, target: int) -> None:
        self.links.add((source, target))
        self.sources.add(source)
        self.targets.add(target)

    def grow(self, candidates: set[Link], neighbours: tuple[Link, ...]) -> None:
        """Sweep over the candidates in order until nothing changes; what a sweep adds counts at once."""
        waiting = sorted(candidates - self.links)
        grown = True
        while grown and waiting:
            left = []
            for source, target in waiting:
                free = source not in self.sources or target not in self.targets
                if free and any((source + ds, target + dt) in self.links for ds, dt in neighbours):
                    self.add(source, target)
                else:
                    left.append((source, target))
            grown = len(left) < len(waiting)
            waiting = left

    def finish(self, candidates: set[Link], *, both_free: bool) -> None:
        for source, target in sorted(candidates - self.links):
            free = (source not in self.sources, target not in self.targets)
            if all(free) if both_free else any(free):
                self.add(source, target)


def _grow(neighbours: tuple[Link, ...], final: str | None = None) -> Callable[[set[Link], set[Link]], set[Link]]:
    def combine(forward: set[Link], backward: set[Link]) -> set[Link]:
        growing = _Growing(forward, backward)
        growing.grow(forward | backward, neighbours)
        if final:
            growing.finish(forward, both_free=final == "and")
            growing.finish(backward, both_free=final == "and")
        return growing.links

    return combine


SYMMETRIZATIONS: dict[str, Callable[[set[Link], set[Link]], set[Link]]] = {
    "intersection": _intersection,
    "union": _union,
    "grow": _grow(_STRAIGHT),
    "grow-diag": _grow(_DIAGONAL),
    "grow-diag-final": _grow(_DIAGONAL, "or"),
    "grow-diag-final-and": _grow(_DIAGONAL, "and"),
}

AGREED = "agreed-"
SOFT_SYMMETRIZATIONS = tuple(f"{AGREED}{method}" for method in SYMMETRIZATIONS)
"""The names for soft alignments: the two directions are multiplied before links are decided."""

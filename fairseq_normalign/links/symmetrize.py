"""One alignment from the links of two directions, as fast_align's atools makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..errors import NormalignError

if TYPE_CHECKING:
    from .decide import Link

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
    "intersection": set.intersection,
    "union": set.union,
    "grow": _grow(_STRAIGHT),
    "grow-diag": _grow(_DIAGONAL),
    "grow-diag-final": _grow(_DIAGONAL, "or"),
    "grow-diag-final-and": _grow(_DIAGONAL, "and"),
}

AGREED = "agreed-"
SOFT_SYMMETRIZATIONS = tuple(f"{AGREED}{method}" for method in SYMMETRIZATIONS)
"""The names for soft alignments: the two directions are multiplied before links are decided."""

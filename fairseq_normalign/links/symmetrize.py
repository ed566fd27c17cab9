"""One alignment from the links of two directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..errors import NormalignError

if TYPE_CHECKING:
    from .decide import Link

_ALONG_TARGET, _ALONG_SOURCE = ((0, 1), (0, -1)), ((1, 0), (-1, 0))
_STRAIGHT = (*_ALONG_SOURCE, *_ALONG_TARGET)
_DIAGONAL = (*_STRAIGHT, (-1, 1), (-1, -1), (1, -1), (1, 1))
"""In this order the alignment-scripts' published links come out exactly; atools' rules do not depend on it."""

DEFAULT = "grow-diag"
"""How links of two directions are combined where nothing is chosen."""


def symmetrize(forward: Iterable[Link], backward: Iterable[Link], method: str = DEFAULT) -> list[Link]:
    """Combine two alignments of one sentence, both as (source, target), into one; sorted.

    ``method`` is one of :data:`SYMMETRIZATIONS`. The order of the two matters in the "final" steps, which look at
    ``forward`` first, and in "priority", which keeps all links of ``forward``.

    >>> symmetrize([(0, 0), (1, 1)], [(0, 0), (1, 0)], "intersection")
    [(0, 0)]
    """
    if method not in SYMMETRIZATIONS:
        raise NormalignError(f"unknown symmetrization '{method}'; choose one of {', '.join(SYMMETRIZATIONS)}")
    return sorted(SYMMETRIZATIONS[method](set(forward), set(backward)))


class _Growing:
    """An alignment that grows, and which words it covers."""

    def __init__(self, links: Iterable[Link]) -> None:
        self.links = set(links)
        self.sources = {source for source, _ in self.links}
        self.targets = {target for _, target in self.links}

    def add(self, link: Link) -> None:
        self.links.add(link)
        self.sources.add(link[0])
        self.targets.add(link[1])

    def free(self, link: Link) -> int:
        """Return how many of the two words have no link yet."""
        return (link[0] not in self.sources) + (link[1] not in self.targets)

    def beside(self, link: Link, neighbours: tuple[Link, ...]) -> bool:
        """Return whether one of the neighbours is linked."""
        source, target = link
        return not self.links.isdisjoint([(source + ds, target + dt) for ds, dt in neighbours])

    def sweep(self, candidates: set[Link], may_join: Callable[[Link], bool], *, once: bool = False) -> None:
        """Add the candidates that may join, in order, until nothing changes; what a sweep adds counts at once."""
        waiting = sorted(candidates - self.links)
        grown = True
        while grown and waiting:
            left = []
            for link in waiting:
                if may_join(link):
                    self.add(link)
                else:
                    left.append(link)
            grown = len(left) < len(waiting) and not once
            waiting = left


_Combine = Callable[[set["Link"], set["Link"]], set["Link"]]


def _koehn(neighbours: tuple[Link, ...], final: int = 0) -> _Combine:
    """atools: a neighbour joins if one of its words is free; at the end links with ``final`` free words do."""

    def combine(forward: set[Link], backward: set[Link]) -> set[Link]:
        growing = _Growing(forward & backward)
        growing.sweep(forward | backward, lambda link: growing.free(link) > 0 and growing.beside(link, neighbours))
        for candidates in (forward, backward) if final else ():
            growing.sweep(candidates, lambda link: growing.free(link) >= final, once=True)
        return growing.links

    return combine


def _both_free(final: bool) -> _Combine:
    """The alignment-scripts: links look for neighbours to add, in order, and both words of those must be free."""

    def combine(forward: set[Link], backward: set[Link]) -> set[Link]:
        growing, union = _Growing(forward & backward), forward | backward
        before = -1
        while before < len(growing.links):
            before = len(growing.links)
            for link in sorted(union):
                for ds, dt in _DIAGONAL if link in growing.links else ():
                    near = link[0] + ds, link[1] + dt
                    if near in union and growing.free(near) == 2:
                        growing.add(near)
        for candidates in (forward, backward) if final else ():
            growing.sweep(candidates, lambda link: growing.free(link) == 2, once=True)
        return growing.links

    return combine


def _och(forward: set[Link], backward: set[Link]) -> set[Link]:
    """machine.py's OCH: a link joins if both words are free, or if a straight neighbour is linked."""
    growing = _Growing(forward & backward)
    growing.sweep(forward | backward, lambda link: growing.free(link) == 2 or growing.beside(link, _STRAIGHT))
    return growing.links


def _priority(forward: set[Link], backward: set[Link]) -> set[Link]:
    """machine.py's priority: all of ``forward``; links of ``backward`` join if both words are free, or if they have
    linked neighbours along the source or along the target, not both."""
    growing = _Growing(forward)
    growing.sweep(
        backward,
        lambda link: (
            growing.free(link) == 2 or growing.beside(link, _ALONG_SOURCE) != growing.beside(link, _ALONG_TARGET)
        ),
    )
    return growing.links


SYMMETRIZATIONS: dict[str, _Combine] = {
    "intersection": set.intersection,
    "union": set.union,
    "grow": _koehn(_STRAIGHT),
    "grow-diag": _koehn(_DIAGONAL),
    "grow-diag-final": _koehn(_DIAGONAL, final=1),
    "grow-diag-final-and": _koehn(_DIAGONAL, final=2),
    "grow-diag-free": _both_free(final=False),
    "grow-diag-free-final": _both_free(final=True),
    "och": _och,
    "priority": _priority,
}
"""The first six as fast_align's atools has them; ``grow-diag-free`` and its final form are "grow-diagonal" and
"grow-diagonal-final" of the alignment-scripts, behind many published figures; ``och`` and ``priority`` are SIL's
machine.py's."""

AGREED = "agreed-"
SOFT_SYMMETRIZATIONS = tuple(f"{AGREED}{method}" for method in SYMMETRIZATIONS)
"""The names for soft alignments: the two directions are multiplied before links are decided."""

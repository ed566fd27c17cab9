"""The good pairs of a bitext written by themselves, after every pair has a score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from ..errors import NormalignError
from ..files import open_output
from ..jobs import Bitext


def best_pairs(scores: Sequence[float | None], *, share: float | None = None, least: float | None = None) -> list[bool]:
    """Return for each pair whether it is kept: those with a score of at least ``least``, or the best ``share`` of all.

    A pair without a score is never kept; of equal scores the earlier pair comes first.

    >>> best_pairs([0.2, None, 0.9, 0.2], share=0.5)
    [True, False, True, False]
    >>> best_pairs([0.2, None, 0.9, 0.2], least=0.5)
    [False, False, True, False]
    """
    known = [(-value, number) for number, value in enumerate(scores) if value is not None]
    if least is not None:
        chosen = {number for value, number in known if -value >= least}
    else:
        assert share is not None
        chosen = {number for _, number in sorted(known)[: math.floor(share * len(scores) + 1e-9)]}
    return [number in chosen for number in range(len(scores))]


def write_kept(bitext: Bitext, kept: Sequence[bool], source: str | Path, target: str | Path) -> int:
    """Write the lines of the pairs that are kept to two files; return how many there are."""
    with open_output(source) as sources, open_output(target) as targets:
        count = 0
        for number, (one, other) in enumerate(bitext.pairs()):
            if number >= len(kept):
                raise NormalignError(f"{bitext.source}: has grown since its pairs were checked; check them again")
            if kept[number]:
                sources.write(f"{one}\n")
                targets.write(f"{other}\n")
                count += 1
    return count

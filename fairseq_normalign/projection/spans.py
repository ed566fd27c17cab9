"""One span of source words carried to the target: which target words it takes, and how sure that is.

The rules, for a span of source words and the links of the sentence pair:

1. Its target words are those linked to a word of the span. A span of all source words takes all target words.
2. Unlinked target words between two of its target words belong to it: they never cut it in two.
3. Where words that are linked elsewhere lie between, ``gaps`` decides: "close" takes everything from the first to the
   last, "split" makes a range of each part, "main" takes the part with most linked words (the first of equals).
4. A span without any link takes the unlinked target words between the targets of its nearest linked neighbours, if
   there are any and nothing else lies between; this is a guess, and said so. Otherwise it takes nothing.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import NormalignError
from ..links.decide import Link
from ..links.pieces import Span

GAPS = ("close", "split", "main")


class LinkedPair:
    """The links of one sentence pair, looked up from either side.

    >>> pair = LinkedPair(2, 3, [(0, 2), (1, 0)])
    >>> pair.targets
    [[2], [0]]
    """

    def __init__(
        self, source_length: int, target_length: int, links: Iterable[Link], scores: Mapping[Link, float] | None = None
    ) -> None:
        """``scores``: how sure each link is, from 0 to 1; links without one count as 1."""
        self.source_length = source_length
        self.target_length = target_length
        self.scores = scores or {}
        self.targets: list[list[int]] = [[] for _ in range(source_length)]
        """The target words of each source word."""
        for source, target in links:
            if not (0 <= source < source_length and 0 <= target < target_length):
                raise NormalignError(
                    f"link {source}-{target} is out of range: {source_length} source and {target_length} target words"
                )
            self.targets[source].append(target)

    @functools.cached_property
    def sources(self) -> list[list[int]]:
        """The source words of each target word."""
        found: list[list[int]] = [[] for _ in range(self.target_length)]
        for source, targets in enumerate(self.targets):
            for target in targets:
                found[target].append(source)
        return found

    def score(self, source: int, target: int) -> float:
        """How sure a link is."""
        return self.scores.get((source, target), 1.0)


class Projected(NamedTuple):
    """What a span became: ranges of target words in order, none when it is lost."""

    ranges: tuple[Span, ...]
    confidence: float
    """From 0 to 1; see :func:`confidence_of`."""
    guessed: bool = False
    """Placed between its neighbours, without a link of its own."""
    left_out: int = 0
    """Linked target words that are in none of the ranges."""
    own: frozenset[int] = frozenset()
    """All target words linked to the span."""


def project_span(pair: LinkedPair, span: Span, *, gaps: str = "close", with_confidence: bool = True) -> Projected:
    """Carry the source words ``span`` (a half-open range) to the target; without its confidence is faster.

    >>> pair = LinkedPair(3, 5, [(0, 0), (0, 4), (1, 2), (2, 3)])
    >>> project_span(pair, (0, 1)).ranges, project_span(pair, (0, 1), gaps="split").ranges
    (((0, 5),), ((0, 1), (4, 5)))
    """
    if gaps not in GAPS:
        raise NormalignError(f"unknown way '{gaps}' to treat gaps; choose one of {', '.join(GAPS)}")
    start, end = span
    if start >= end or not pair.target_length:
        return Projected((), 0.0)
    own = frozenset(itertools.chain.from_iterable(pair.targets[start:end]))
    if end - start == pair.source_length:
        everything = ((0, pair.target_length),)
        return Projected(everything, confidence_of(pair, span, everything) if with_confidence else 0.0, own=own)
    if not own:
        between = _between_neighbours(pair, span)
        return Projected((between,), 0.0, guessed=True) if between else Projected((), 0.0)
    ranges = ((min(own), max(own) + 1),) if gaps == "close" else tuple(_parts(pair, own))
    if gaps == "main":
        ranges = (max(ranges, key=lambda part: sum(part[0] <= target < part[1] for target in own)),)
    kept = len(own) if gaps == "close" else sum(any(first <= target < last for first, last in ranges) for target in own)
    confidence = confidence_of(pair, span, ranges) if with_confidence else 0.0
    return Projected(ranges, confidence, left_out=len(own) - kept, own=own)


def confidence_of(pair: LinkedPair, span: Span, ranges: Sequence[Span]) -> float:
    """How sure a projection is: the mean, over its source and its target words, of their best link into the other side.

    A word without such a link counts as 0, so unlinked source words and foreign words in a gap lower it.
    """
    targets = [target for first, last in ranges for target in range(first, last)]
    inside = set(targets)
    best = [
        max((pair.score(source, target) for target in pair.targets[source] if target in inside), default=0.0)
        for source in range(*span)
    ]
    best += [
        max((pair.score(source, target) for source in pair.sources[target] if span[0] <= source < span[1]), default=0.0)
        for target in targets
    ]
    return sum(best) / len(best) if best else 0.0


def _parts(pair: LinkedPair, own: frozenset[int]) -> list[Span]:
    """The ranges of ``own``; they are cut only where words linked to something else lie between."""
    found: list[Span] = []
    for target in sorted(own):
        if found and not any(pair.sources[between] for between in range(found[-1][1], target)):
            found[-1] = found[-1][0], target + 1
        else:
            found.append((target, target + 1))
    return found


def _between_neighbours(pair: LinkedPair, span: Span) -> Span | None:
    """The unlinked target words between the targets of the nearest linked words before and after the span."""
    before = next((pair.targets[source] for source in reversed(range(span[0])) if pair.targets[source]), None)
    after = next((pair.targets[source] for source in range(span[1], pair.source_length) if pair.targets[source]), None)
    if before is None and after is None:
        return None
    start = max(before) + 1 if before is not None else 0
    end = min(after) if after is not None else pair.target_length
    if start >= end or any(pair.sources[target] for target in range(start, end)):
        return None
    return start, end

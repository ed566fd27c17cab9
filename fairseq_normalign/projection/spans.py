"""One span of source words carried to the target: which target words it takes, and how sure that is.

The rules, for a span of source words and the links of the sentence pair:

1. Its target words are those linked to a word of the span. A span of all source words takes all target words.
2. Unlinked target words between two of its target words belong to it: they never cut it in two.
3. Where words that are linked elsewhere lie between, ``gaps`` decides: "main" takes the part with most linked words
   (the first of equals), "close" takes everything from the first to the last, "split" makes a range of each part.
4. A span without any link takes the unlinked target words between the targets of its nearest linked neighbours, if
   there are any and nothing else lies between; this is a guess, and reported as one. Otherwise it takes nothing.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import NormalignError
from ..links.decide import Link
from ..links.gold import Gold
from ..links.pieces import Span

GAPS = ("main", "close", "split")

LONGEST = 6
"""Words of the longest spans that :func:`score_spans` projects."""


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

    @functools.cached_property
    def linked_before(self) -> list[int]:
        """For each target word, and for the end, how many words before it are linked."""
        return [0, *itertools.accumulate(int(bool(sources)) for sources in self.sources)]

    @functools.cached_property
    def nearest_linked(self) -> tuple[list[int], list[int]]:
        """For each place between source words, the nearest linked word before it and after it; -1 if there is none.

        >>> LinkedPair(3, 1, [(1, 0)]).nearest_linked
        ([-1, -1, 1, 1], [1, 1, -1, -1])
        """
        linked = [word if targets else -1 for word, targets in enumerate(self.targets)]
        after = [-1]
        for word in reversed(linked):
            after.append(after[-1] if word < 0 else word)
        return [-1, *itertools.accumulate(linked, max)], after[::-1]

    def score(self, source: int, target: int) -> float:
        """How sure a link is."""
        return self.scores.get((source, target), 1.0)


class Projected(NamedTuple):
    """What a span became: ranges of target words in order, none when it is lost."""

    ranges: tuple[Span, ...]
    guessed: bool = False
    """Placed between its neighbours, without a link of its own."""
    left_out: int = 0
    """Linked target words that are in none of the ranges."""
    own: Sequence[int] = ()
    """All target words linked to the span, in order."""


def project_span(pair: LinkedPair, span: Span, *, gaps: str = "main", within: Span | None = None) -> Projected:
    """Carry the source words ``span`` (a half-open range) to the target words, or to those ``within`` a range alone.

    >>> pair = LinkedPair(3, 5, [(0, 0), (0, 4), (1, 2), (2, 3)])
    >>> project_span(pair, (0, 1), gaps="close").ranges, project_span(pair, (0, 1), gaps="split").ranges
    (((0, 5),), ((0, 1), (4, 5)))
    """
    if gaps not in GAPS:
        raise NormalignError(f"unknown way '{gaps}' to treat gaps; choose one of {', '.join(GAPS)}")
    start, end = span
    low, high = within or (0, pair.target_length)
    if start >= end or low >= high:
        return Projected(())
    everything = sorted(set(itertools.chain.from_iterable(pair.targets[start:end])))
    own = [target for target in everything if low <= target < high] if within else everything
    if end - start == pair.source_length:
        ranges: tuple[Span, ...] = ((low, high),)
    elif not own:
        before, after = pair.nearest_linked[0][start], pair.nearest_linked[1][end]
        if everything or (before < 0 and after < 0):
            return Projected(())
        first = max(low, max(pair.targets[before]) + 1 if before >= 0 else 0)
        last = min(high, min(pair.targets[after]) if after >= 0 else pair.target_length)
        if first >= last or pair.linked_before[first] != pair.linked_before[last]:
            return Projected(())
        return Projected(((first, last),), guessed=True)
    elif gaps == "close":
        ranges = ((own[0], own[-1] + 1),)
    else:
        parts: list[list[int]] = []  # [start, end, own words]: cut only where words linked elsewhere lie between
        for target in own:
            if parts and pair.linked_before[parts[-1][1]] == pair.linked_before[target]:
                parts[-1] = [parts[-1][0], target + 1, parts[-1][2] + 1]
            else:
                parts.append([target, target + 1, 1])
        if gaps == "main":
            parts = [max(parts, key=lambda part: part[2])]
        ranges = tuple((first, last) for first, last, _ in parts)
    kept = sum(any(first <= target < last for first, last in ranges) for target in own) if gaps == "main" else len(own)
    return Projected(ranges, left_out=len(everything) - kept, own=own)


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


def score_spans(
    pairs: Iterable[tuple[Gold, Sequence[Link], int, int]],
    *,
    gaps: str = "main",
    longest: int = LONGEST,
    contiguous: bool = False,
) -> dict[str, float]:
    """Project spans of every pair (gold, links, source length, target length) through its links and through the sure
    links of the gold by the same rules, and compare the target words. The spans are all ranges of up to ``longest``
    source words that each have a sure link.

    Returns the number of ``spans``, the percentage ``exact`` of those that agree, ``P``, ``R`` and ``F1`` of target
    words in percent, and how many spans are ``lost``. With ``contiguous``, only spans count whose sure links make one
    range without a gap of other words.
    """
    spans = exact = lost = common = projected = wanted = 0
    for gold, links, source_length, target_length in pairs:
        sure = LinkedPair(source_length, target_length, sorted(gold.sure))
        given = LinkedPair(source_length, target_length, links)
        for start, end in itertools.combinations(range(source_length + 1), 2):
            if end - start > longest or not all(sure.targets[start:end]):
                continue
            if contiguous and len(project_span(sure, (start, end), gaps="split").ranges) > 1:
                continue
            ours, theirs = (
                {word for part in project_span(side, (start, end), gaps=gaps).ranges for word in range(*part)}
                for side in (given, sure)
            )
            spans, exact, lost = spans + 1, exact + (ours == theirs), lost + (not ours)
            common, projected, wanted = common + len(ours & theirs), projected + len(ours), wanted + len(theirs)
    return {
        "spans": spans,
        "exact": 100 * exact / max(1, spans),
        "P": 100 * common / max(1, projected),
        "R": 100 * common / max(1, wanted),
        "F1": 200 * common / max(1, projected + wanted),
        "lost": lost,
    }

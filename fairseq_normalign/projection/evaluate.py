"""How well links carry spans: every span of the gold projected through the gold links and through others.

The spans are all ranges of up to six source words of which every word has a sure link. The reference is what the sure
links make of a span, by the very rules that are used for the other links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..links.decide import Link
from ..links.gold import Gold
from ..links.pieces import Span
from .spans import LinkedPair, project_span

LONGEST = 6


@dataclass
class SpanScore:
    """Counts over all spans, and the figures made from them, in percent."""

    spans: int = 0
    exact_matches: int = 0
    lost: int = 0
    common: int = 0
    """Target words in both the projection and the reference, summed over spans."""
    projected: int = 0
    wanted: int = 0

    def add(self, found: Sequence[Span], reference: Sequence[Span]) -> None:
        """Count one span."""
        ours, theirs = _words(found), _words(reference)
        self.spans += 1
        self.exact_matches += ours == theirs
        self.lost += not ours
        self.common += len(ours & theirs)
        self.projected += len(ours)
        self.wanted += len(theirs)

    @property
    def exact(self) -> float:
        """Spans whose target words are those of the reference, all of them and no others."""
        return 100 * self.exact_matches / max(1, self.spans)

    @property
    def precision(self) -> float:
        """Words of the projections that are in the reference."""
        return 100 * self.common / max(1, self.projected)

    @property
    def recall(self) -> float:
        """Words of the references that are in the projection."""
        return 100 * self.common / max(1, self.wanted)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 200 * self.common / max(1, self.projected + self.wanted)


def gold_spans(gold: Gold, source_length: int, longest: int = LONGEST) -> Iterator[Span]:
    """The ranges of up to ``longest`` source words that all have a sure link.

    >>> list(gold_spans(Gold({(0, 0), (1, 1)}, set()), 3))
    [(0, 1), (0, 2), (1, 2)]
    """
    linked = {source for source, _ in gold.sure}
    for start in range(source_length):
        for end in range(start + 1, min(start + longest, source_length) + 1):
            if end - 1 not in linked:
                break
            yield start, end


def score_spans(
    pairs: Iterable[tuple[Gold, Sequence[Link], int, int]],
    *,
    gaps: str = "close",
    longest: int = LONGEST,
    contiguous: bool = False,
) -> SpanScore:
    """Project every span of every pair (gold, links, source length, target length) and compare.

    With ``contiguous``, only spans whose sure links make one range without a gap of other words.
    """
    score = SpanScore()
    for gold, links, source_length, target_length in pairs:
        sure = LinkedPair(source_length, target_length, sorted(gold.sure))
        given = LinkedPair(source_length, target_length, links)
        for span in gold_spans(gold, source_length, longest):
            if contiguous and len(project_span(sure, span, gaps="split").ranges) > 1:
                continue
            score.add(project_span(given, span, gaps=gaps).ranges, project_span(sure, span, gaps=gaps).ranges)
    return score


def _words(ranges: Sequence[Span]) -> set[int]:
    return {word for start, end in ranges for word in range(start, end)}

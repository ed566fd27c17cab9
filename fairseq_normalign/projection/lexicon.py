"""The word pairs of an aligned bitext: counts, probabilities in both directions, and a score of association.

Memory is bounded: beside the two vocabularies at most a given number of word pairs is held; what is more waits, sorted,
in a temporary file. The counts are exact all the same.
"""

from __future__ import annotations

import heapq
import itertools
import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO

from ..errors import NormalignError

HELD = 1_000_000
"""Word pairs in memory, unless told otherwise."""

MOST_FILES = 64
"""Temporary files before they are made into one."""

Counted = tuple[tuple[str, str], int]


@dataclass(frozen=True)
class Entry:
    """One word pair."""

    source: str
    target: str
    count: int
    """Links between the two words."""
    target_given_source: float
    """Share of the links of the source word that go to the target word."""
    source_given_target: float
    association: float
    """Log-likelihood ratio (Dunning 1993): large for pairs that are linked more often than chance; negative for pairs
    linked less often."""


class Lexicon:
    """Counts word pairs, one sentence pair after the other.

    >>> lexicon = Lexicon()
    >>> lexicon.add([("Haus", "house"), ("das", "the")])
    >>> lexicon.add([("Haus", "house"), ("Haus", "home")])
    >>> [(e.source, e.target, e.count, round(e.target_given_source, 2)) for e in lexicon.entries()]
    [('Haus', 'house', 2, 0.67), ('Haus', 'home', 1, 0.33), ('das', 'the', 1, 1.0)]
    """

    def __init__(self, held: int = HELD) -> None:
        """``held``: the most word pairs in memory."""
        if held < 1:
            raise NormalignError(f"at least one word pair has to be held in memory, not {held}")
        self._held = held
        self._counts: Counter[tuple[str, str]] = Counter()
        self._sources: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()
        self._files: list[IO[str]] = []
        self._stack = ExitStack()
        self.links = 0

    def add(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Count the linked words of a sentence pair."""
        for source, target in pairs:
            self._counts[source, target] += 1
            self._sources[source] += 1
            self._targets[target] += 1
            self.links += 1
        if len(self._counts) > self._held:
            self._put_away(sorted(self._counts.items()))
            self._counts.clear()

    def entries(
        self,
        *,
        min_count: int = 1,
        min_probability: float = 0.0,
        min_association: float = -math.inf,
        top: int | None = None,
    ) -> Iterator[Entry]:
        """The word pairs by source word, the most frequent target first. May be called once.

        ``min_probability`` holds in both directions; ``top``: only so many of the most frequent targets of each word.
        """
        with self._stack:
            merged = _summed(heapq.merge(*map(_read, self._files), sorted(self._counts.items())))
            for source, group in itertools.groupby(merged, key=lambda counted: counted[0][0]):
                found = []
                for (_, target), count in group:
                    of_source, of_target = self._sources[source], self._targets[target]
                    association = log_likelihood_ratio(count, of_source, of_target, self.links)
                    entry = Entry(source, target, count, count / of_source, count / of_target, association)
                    likely = min(entry.target_given_source, entry.source_given_target) >= min_probability
                    if count >= min_count and likely and association >= min_association:
                        found.append(entry)
                found.sort(key=lambda entry: (-entry.count, -entry.source_given_target, entry.target))
                yield from found[:top]

    def _put_away(self, counted: Iterable[Counted]) -> None:
        handle = self._stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n"))
        handle.writelines(f"{source}\t{target}\t{count}\n" for (source, target), count in counted)
        self._files.append(handle)
        if len(self._files) >= MOST_FILES:
            files, self._files = self._files, []
            self._put_away(_summed(heapq.merge(*map(_read, files))))
            for file in files:
                file.close()


def log_likelihood_ratio(both: int, source: int, target: int, links: int) -> float:
    """Return Dunning's G squared of two words linked ``both`` times, each found ``source`` and ``target`` times.

    >>> round(log_likelihood_ratio(10, 10, 10, 100), 1), round(log_likelihood_ratio(1, 10, 10, 100), 1)
    (65.0, 0.0)
    """
    rest = ((both, source, target), (source - both, source, links - target), (target - both, links - source, target))
    cells = (*rest, (links - source - target + both, links - source, links - target))
    total = 2 * sum(seen * math.log(seen * links / (row * column)) for seen, row, column in cells if seen > 0)
    return -total if both * links < source * target else total


def _read(handle: IO[str]) -> Iterator[Counted]:
    handle.seek(0)
    for line in handle:
        source, target, count = line.rstrip("\n").split("\t")
        yield (source, target), int(count)


def _summed(counted: Iterable[Counted]) -> Iterator[Counted]:
    """Return sorted counts in which the counts of equal pairs are added up."""
    for pair, group in itertools.groupby(counted, key=lambda each: each[0]):
        yield pair, sum(count for _, count in group)

"""Sentence pairs read in step with their links: lines, words and links of one pair after the other."""

from __future__ import annotations

import contextlib
import gc
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import NormalignError
from ..files import display_name, read_bitext, read_lines, words_of
from ..links.decide import Link
from ..links.formats import AlignedPair, AlignmentFile, JsonLines, Lengths, in_step
from ..links.pieces import Span
from ..text.words import WordFinder
from .markup import Marked
from .spans import LinkedPair

if TYPE_CHECKING:
    from .labels import Label


@dataclass(slots=True)
class Side:
    """One side of a pair: its text, the places of its words, and the labels or the markup to project."""

    text: str
    words: Sequence[Span]
    labels: Sequence[Label] = ()
    marked: Marked | None = None
    """The line with its markup, where there is any to project."""


def sides_of(lines: Iterable[str], find: WordFinder) -> Iterator[Side]:
    """Plain lines with their words."""
    for line in lines:
        yield Side(line, find(line))


class PairReader(Lengths):
    """Two sides read in step, block by block, for :func:`~fairseq_normalign.links.formats.in_step`."""

    def __init__(self, source: Iterator[Side], target: Iterator[Side], names: tuple[str, str]) -> None:
        self._sides = {"source": source, "target": target}
        self._names = dict(zip(self._sides, names, strict=True))
        self.taken = dict.fromkeys(self._sides, 0)
        self.block: dict[str, list[Side]] = {}
        """The sides of the sentences taken last."""

    def __bool__(self) -> bool:
        return True

    def take(self, count: int) -> dict[str, np.ndarray]:
        """The lengths of the next sentences by side."""
        self.block = {side: list(itertools.islice(sides, count)) for side, sides in self._sides.items()}
        for side, found in self.block.items():
            self.taken[side] += len(found)
        return {side: np.array([len(s.words) for s in found], dtype=np.int64) for side, found in self.block.items()}

    def totals(self) -> dict[str, int]:
        """How many sentences each side has, by its name."""
        for side, sides in self._sides.items():
            self.taken[side] += sum(1 for _ in sides)
        return {self._names[side]: taken for side, taken in self.taken.items()}

    def count(self) -> int | None:
        """Not known before everything is read."""
        return None


def linked_pairs(
    reader: PairReader, file: AlignmentFile, scores: str | Path | None = None
) -> Iterator[tuple[int, Side, Side, LinkedPair]]:
    """(line number from 1, source, target, links) of every pair; files of different length are an error.

    ``scores`` is a file with a number per link on each line, in the order of the links; JSON lines have their own.
    """
    for number, (source, target, links, known) in enumerate(aligned_sides(reader, file, scores), start=1):
        found = [(s, t) for s, t, _ in links]
        yield number, source, target, LinkedPair(len(source.words), len(target.words), found, known)


def read_aligned(reader: PairReader, file: AlignmentFile, scores: str | Path | None = None) -> Iterator[AlignedPair]:
    """Every pair as JSON lines have it."""
    for source, target, links, known in aligned_sides(reader, file, scores):
        yield AlignedPair(source.text, target.text, source.words, target.words, links, known)


def aligned_sides(
    reader: PairReader, file: AlignmentFile, scores: str | Path | None = None
) -> Iterator[tuple[Side, Side, list[tuple[int, int, bool]], dict[Link, float]]]:
    """Source, target, sorted links (source, target, sure) and the confidence of links of every pair."""
    name = display_name(scores or "")
    lines = enumerate(read_lines(scores), start=1) if scores is not None else None
    for (block,) in in_step([file], reader):
        for place, links in enumerate(block.sentences()):
            known: dict[Link, float] = {}
            if lines is not None:
                number, line = next(lines, (0, ""))
                try:
                    values = [float(word) for word in words_of(line)]
                except ValueError:
                    raise NormalignError.at(name, number, f"'{line[:60]}' is not a line of numbers") from None
                if len(values) != len(links):
                    raise NormalignError.at(name, number or None, f"{len(values)} numbers for {len(links)} links")
                if any(not 0 <= value <= 1 for value in values):
                    raise NormalignError.at(name, number, "a score is not between 0 and 1")
                known = {(s, t): value for (s, t, _), value in zip(links, values, strict=True)}
            elif isinstance(file.sentences, JsonLines):
                own = file.sentences.pairs[place].confidences
                known = {(t, s): score for (s, t), score in own.items()} if file.reverse else dict(own)
            yield reader.block["source"][place], reader.block["target"][place], links, known


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Leave out Python's search for reference cycles, which makes streaming a fifth slower: projection makes none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def two_sides(path: str | Path) -> tuple[Iterator[str], Iterator[str]]:
    """The source lines and the target lines of a file that holds both; it is read only once."""
    first, second = itertools.tee(read_bitext(path))
    return (source for source, _ in first), (target for _, target in second)

"""Files whose sentences carry ids: NAACL (``0001 1 1 S``) and RWTH (``SENT: 1`` then ``S 1 1``).

Such a file may list its sentences in any order and leave some out, so it is read whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...errors import NormalignError
from ...files import decode_line, words_of
from .blocks import Block, empty_block
from .link_lines import ByteLines
from .option_names import with_value

_INDEX = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_HEAD = re.compile(r"SENT:[ \t]*([0-9]{1,9})[ \t]*")
_READ = 1 << 16

Row = tuple[int, int, int, int, bool]  # id, line, source, target, sure


class IdSentences:
    """Sentences with ids, to be placed among ``count`` sentences before they are taken in order."""

    def __init__(self, name: str, rows: list[Row], ids: set[int], *, nulls: int = 0) -> None:
        self.name = name
        self.ids = np.asarray(sorted(ids), dtype=np.int64)
        self.nulls = nulls
        self.count = 0
        self.by_rank = False
        table = np.asarray([row[:4] for row in rows], dtype=np.int64).reshape(-1, 4)
        self._ids, self._lines, self._source, self._target = table.T
        self._sure = np.asarray([row[4] for row in rows], dtype=bool)
        self._taken = 0

    def place_at(self, universe: np.ndarray, count: int) -> None:
        """Put the sentence of id ``universe[k]`` at position ``k``; ``universe`` is sorted and holds every id."""
        position = np.searchsorted(universe, self._ids)
        order = np.argsort(position, kind="stable")
        self._position = position[order]
        self._lines, self._source, self._target, self._sure = (
            column[order] for column in (self._lines, self._source, self._target, self._sure)
        )
        self.count = count

    def place(self, count: int | None, *, may_end_early: bool, counted: str) -> None:
        """Find positions for the ids among ``count`` sentences (``counted`` says where that number comes from).

        Ids 1..count are line numbers, ids 0..count-1 positions; when there are exactly ``count`` ids, whatever they
        are, they are taken in their order. ``may_end_early``: the last sentences may have no links.
        """
        low, high = (int(self.ids[0]), int(self.ids[-1])) if len(self.ids) else (1, count or 1)
        first = 0 if low == 0 else 1
        if count is None:
            count = high - first + 1
            check_density(self.name, len(self.ids), high)
        if high - first < count and (may_end_early or high - first == count - 1):
            self.place_at(np.arange(first, first + count), count)
        elif len(self.ids) == count:
            self.by_rank = True
            self.place_at(self.ids, count)
        else:
            raise NormalignError(
                f"{self.name}: {len(self.ids)} sentences with ids {low} to {high}, but {counted} has {count}; "
                "which are meant? Give the source or the target text of the same sentences"
            )

    def take(self, count: int) -> Block:
        """Return the next sentences with the indices of the file; fewer than ``count`` at the end."""
        count = min(count, self.count - self._taken)
        start, stop = np.searchsorted(self._position, [self._taken, self._taken + count])
        part = slice(start, stop)
        block = Block(
            count,
            self._position[part] - self._taken,
            self._source[part],
            self._target[part],
            self._sure[part],
            lines=self._lines[part],
            line_per_link=True,
        )
        self._taken += count
        return block if len(block) else empty_block(count)

    def rest(self) -> int:
        """Return how many sentences are left, and skip them."""
        left, self._taken = self.count - self._taken, self.count
        return left


def check_density(name: str, sentences: int, highest: int) -> None:
    """Refuse ids that would make nearly all sentences empty: one wrong id must not fill a disk."""
    if highest > 1000 + 100 * sentences:
        raise NormalignError(f"{name}: {sentences} sentences, but ids up to {highest}; are they line numbers?")


def gather_naacl(lines: ByteLines, *, base: int | None, base_option: str) -> IdSentences:
    """Read ``id source target [S|P] [confidence]``, one link per line; no mark means sure.

    Indices count from 1 and 0 is NULL, a link to no word, which is left out; with ``base`` 0 a 0 is the first word.
    """
    rows: list[Row] = []
    ids: set[int] = set()
    nulls = 0
    for number, line in _numbered(lines):
        words = words_of(line)
        if not words:
            continue
        row = _naacl_row(words, number)
        if row is None:
            allowed = "'id source target', then S or P and a confidence if wanted"
            raise NormalignError.at(lines.name, number, f"'{line}' is not {allowed}")
        ids.add(row[0])
        if base != 0 and not (row[2] and row[3]):
            nulls += 1
            if base is None and row[2] == row[3] == 0:
                asked = " or ".join(with_value(base_option, value) for value in (0, 1))
                raise NormalignError.at(
                    lines.name, number, f"a link 0 0: does the file count words from 0? Say {asked}"
                )
            continue
        rows.append(row)
    return IdSentences(lines.name, rows, ids, nulls=nulls)


def _naacl_row(words: list[str], number: int) -> Row | None:
    if not 3 <= len(words) <= 5 or not all(_INDEX.fullmatch(word) for word in words[:3]):
        return None
    marks = words[3:]
    sure = True
    if marks and marks[0] in ("S", "P"):
        sure = marks.pop(0) == "S"
    if len(marks) > 1 or any(not _NUMBER.fullmatch(mark) for mark in marks):
        return None
    sentence, source, target = map(int, words[:3])
    return sentence, number, source, target, sure


def gather_rwth(lines: ByteLines) -> IdSentences:
    """Read ``SENT: id`` heads, each followed by its links ``S source target`` or ``P source target``."""
    rows: list[Row] = []
    ids: set[int] = set()
    current: int | None = None
    for number, line in _numbered(lines):
        words = words_of(line)
        if not words:
            continue
        if head := _HEAD.fullmatch(line):
            current = int(head[1])
            if current in ids:
                raise NormalignError.at(lines.name, number, f"sentence {current} is there twice")
            ids.add(current)
            continue
        if len(words) != 3 or words[0] not in ("S", "P") or not all(map(_INDEX.fullmatch, words[1:])):
            raise NormalignError.at(lines.name, number, f"'{line}' is neither 'SENT: id' nor 'S i j' nor 'P i j'")
        if current is None:
            raise NormalignError.at(lines.name, number, "a link before the first 'SENT: id'")
        rows.append((current, number, int(words[1]), int(words[2]), words[0] == "S"))
    return IdSentences(lines.name, rows, ids)


def _numbered(lines: ByteLines) -> Iterator[tuple[int, str]]:
    """Line numbers (1-based) and text."""
    while taken := lines.take(_READ):
        first = lines.taken - len(taken) + 1
        for number, raw in enumerate(taken, start=first):
            yield number, decode_line(raw, lines.name, number)

"""Formats whose sentences carry ids, or have several lines: NAACL, RWTH, ids before links, GIZA++, CzEnAli.

Such a file may list its sentences in any order and leave some out, so it is read whole.
"""

from __future__ import annotations

import itertools
import re

import numpy as np

from ...errors import NormalignError
from ...files import words_of
from .blocks import Block, ByteLines
from .lines import check_density, links_of_line

_INDEX = re.compile(r"[0-9]{1,9}")
_CONFIDENCE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_RWTH_HEAD = re.compile(r"SENT:[ \t]*([0-9]{1,9})[ \t]*")
_GIZA_HEAD = re.compile(r"# Sentence pair \(([0-9]{1,9})\)")
_GIZA_GROUP = re.compile(r"\(\{((?: [0-9]{1,9})*) \}\)")
_CZENALI_LINKS = re.compile(r"<(sure|possible)>([^<]*)</\1>")

Row = tuple[int, int, int, int, bool]  # id, line, source, target, sure


class IdSentences:
    """Sentences with ids, to be placed among ``count`` sentences before they are taken in order."""

    def __init__(self, name: str, rows: list[Row], ids: set[int]) -> None:
        self.name = name
        self.ids = np.asarray(sorted(ids), dtype=np.int64)
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
        columns = self._source[part], self._target[part], self._sure[part], self._lines[part]
        block = Block(count, self._position[part] - self._taken, *columns)
        self._taken += count
        return block

    def rest(self) -> int:
        """Return how many sentences are left, and skip them."""
        left, self._taken = self.count - self._taken, self.count
        return left


def read_naacl(lines: ByteLines, *, base: int | None = None, how_to_say: str = "the base") -> IdSentences:
    """Read ``id source target [S|P] [confidence]``, one link per line; no mark means sure.

    Indices count from 1 and 0 is NULL, a link to no word, which is left out; with ``base`` 0 a 0 is the first word.
    ``how_to_say``: how the base is chosen, for a message.
    """
    rows: list[Row] = []
    ids: set[int] = set()
    for number, line in lines.numbered():
        words = words_of(line)
        if not words:
            continue
        marks = words[3:]
        sure = not marks or marks[0] not in ("P", "p")
        if marks and marks[0] in ("S", "P", "s", "p"):
            del marks[0]
        sound = len(words) >= 3 and all(map(_INDEX.fullmatch, words[:3])) and len(marks) <= 1
        if not sound or any(not _CONFIDENCE.fullmatch(mark) for mark in marks):
            allowed = "'id source target', then S or P and a confidence if wanted"
            raise NormalignError.at(lines.name, number, f"'{line}' is not {allowed}")
        sentence, source, target = map(int, words[:3])
        ids.add(sentence)
        if base != 0 and not (source and target):
            if base is None and source == target == 0:
                message = f"a link 0 0: does the file count words from 0? Say {how_to_say}"
                raise NormalignError.at(lines.name, number, message)
            continue
        rows.append((sentence, number, source, target, sure))
    return IdSentences(lines.name, rows, ids)


def read_rwth(lines: ByteLines) -> IdSentences:
    """Read ``SENT: id`` heads, each followed by its links ``S source target`` or ``P source target``."""
    rows: list[Row] = []
    ids: set[int] = set()
    current: int | None = None
    for number, line in lines.numbered():
        words = words_of(line)
        if not words:
            continue
        if head := _RWTH_HEAD.fullmatch(line):
            current = _new_id(int(head[1]), ids, lines.name, number)
            continue
        if len(words) != 3 or words[0] not in ("S", "P") or not all(map(_INDEX.fullmatch, words[1:])):
            raise NormalignError.at(lines.name, number, f"'{line}' is neither 'SENT: id' nor 'S i j' nor 'P i j'")
        if current is None:
            raise NormalignError.at(lines.name, number, "a link before the first 'SENT: id'")
        rows.append((current, number, int(words[1]), int(words[2]), words[0] == "S"))
    return IdSentences(lines.name, rows, ids)


def read_ids(lines: ByteLines) -> IdSentences:
    """Read ``id``, a tab, and the links of the sentence, as SimAlign's files have it."""
    rows: list[Row] = []
    ids: set[int] = set()
    for number, line in lines.numbered():
        id, tab, links = line.partition("\t")
        if not tab or not _INDEX.fullmatch(id):
            raise NormalignError.at(lines.name, number, f"'{line[:60]}' is not an id, a tab and links i-j or ipj")
        _new_id(int(id), ids, lines.name, number)
        rows += [(int(id), number, *link) for link in links_of_line(links, lines.name, number)]
    return IdSentences(lines.name, rows, ids)


def _new_id(id: int, ids: set[int], name: str, number: int) -> int:
    if id in ids:
        raise NormalignError.at(name, number, f"sentence {id} is there twice")
    ids.add(id)
    return id


def read_giza(lines: ByteLines) -> IdSentences:
    """Read an A3 file of GIZA++ or mgiza: for each pair its number, the second side, and the first with its links.

    Of ``NULL ({ 3 }) das ({ 1 2 })`` the groups count the words of the second side; those of NULL have no link.
    """
    rows: dict[int, list[Row]] = {}
    text = lines.numbered()
    for number, line in text:
        head = _GIZA_HEAD.match(line)
        if not head:
            raise NormalignError.at(lines.name, number, f"'{line[:60]}' is not '# Sentence pair (number)'")
        next(text, None)
        number, aligned = next(text, (number, ""))
        if not aligned.startswith("NULL ({"):
            message = f"'{aligned[:60]}' is not 'NULL ({{ }}) word ({{ 1 }}) ...', the line of the links"
            raise NormalignError.at(lines.name, number, message)
        id = int(head[1])
        rows[id] = []  # mgiza may write a pair twice
        for source, group in enumerate(_GIZA_GROUP.findall(aligned)):
            rows[id] += [(id, number, source, int(target), True) for target in group.split() if source]
    return IdSentences(lines.name, list(itertools.chain.from_iterable(rows.values())), set(rows))


def read_czenali(lines: ByteLines) -> IdSentences:
    """Read the XML of the Czech-English Manual Word Alignment, English first: ``<sure>`` and ``<possible>`` links."""
    rows: list[Row] = []
    sentence = 0
    for number, line in lines.numbered():
        sentence += len(re.findall(r"<s[ >]", line))
        elements = _CZENALI_LINKS.findall(line)
        if len(elements) != len(re.findall(r"<(?:sure|possible)>", line)):
            raise NormalignError.at(lines.name, number, "<sure> or <possible> does not end on the line where it begins")
        for kind, links in elements:
            if not sentence:
                raise NormalignError.at(lines.name, number, f"<{kind}> before the first <s>")
            found = links_of_line(links, lines.name, number)
            rows += [(sentence, number, source, target, kind == "sure") for source, target, _ in found]
    if not sentence:
        raise NormalignError(f"{lines.name}: there is no <s> with <sure> and <possible> links")
    return IdSentences(lines.name, rows, set(range(1, sentence + 1)))

"""What every reader needs: the raw lines of a file, consecutive sentences as arrays, and the lengths of sentences."""

from __future__ import annotations

import codecs
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ...files import decode_line, display_name, read_lines, words_of


@dataclass(frozen=True)
class Block:
    """The links of ``count`` consecutive sentences; L links in all.

    ``sentence`` ``[L]`` counts from 0 at the start of the block and never falls; ``source`` and ``target`` ``[L]`` are
    word positions; ``sure`` ``[L]`` is False for links that are only possible; ``lines`` ``[L]`` are line numbers, from
    1, where the block was read from a file.
    """

    count: int
    sentence: np.ndarray
    source: np.ndarray
    target: np.ndarray
    sure: np.ndarray
    lines: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.sentence)

    @classmethod
    def of(cls, sentences: Sequence[Iterable[tuple[int, int, bool]]]) -> Block:
        """Make a block of sentences given as links (source, target, sure); the reverse of :meth:`sentences`.

        >>> list(Block.of([[(0, 0, True)], [(1, 0, False), (0, 1, True)]]).sentences())
        [[(0, 0, True)], [(0, 1, True), (1, 0, False)]]
        """
        rows = [(number, *link) for number, links in enumerate(sentences) for link in links]
        sentence, source, target, sure = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        return cls(len(sentences), sentence, source, target, sure.astype(bool))

    def repeated(self, times: int) -> Block:
        """Return the sentences of the block, all of them ``times`` times, one after the other."""
        offsets = np.repeat(np.arange(times) * self.count, len(self))
        source, target, sure = (np.tile(column, times) for column in (self.source, self.target, self.sure))
        return Block(self.count * times, np.tile(self.sentence, times) + offsets, source, target, sure)

    def reversed(self) -> Block:
        """Return the links with source and target exchanged."""
        return replace(self, source=self.target, target=self.source)

    def shifted(self, by: int) -> Block:
        """Return the links with ``by`` added to each position."""
        return replace(self, source=self.source + by, target=self.target + by) if by else self

    def padded(self, count: int) -> Block:
        """Return the block followed by sentences without links, ``count`` sentences in all."""
        return replace(self, count=max(count, self.count))

    def sentences(self) -> Iterator[list[tuple[int, int, bool]]]:
        """Give the distinct links (source, target, sure) of each sentence, sorted; sure wins over possible."""
        borders = np.searchsorted(self.sentence, np.arange(self.count + 1))
        triples = list(zip(self.source.tolist(), self.target.tolist(), self.sure.tolist(), strict=True))
        if self.sure.all() or not self.sure.any():
            yield from (sorted(set(triples[start:stop])) for start, stop in itertools.pairwise(borders.tolist()))
            return
        for start, stop in itertools.pairwise(borders.tolist()):
            best: dict[tuple[int, int], bool] = {}
            for source, target, sure in triples[start:stop]:
                best[source, target] = sure or best.get((source, target), False)
            yield [(*link, best[link]) for link in sorted(best)]


class ByteLines:
    """The raw lines of a file in order, with a look ahead. A byte-order mark at the start is dropped."""

    def __init__(self, path: str, handle: BinaryIO) -> None:
        self.name = display_name(path)
        self.taken = 0
        self._handle = handle
        self._ahead: list[bytes] = []
        first = self.peek(1)
        if first and first[0].startswith(codecs.BOM_UTF8):
            self._ahead[0] = first[0][len(codecs.BOM_UTF8) :]

    def peek(self, count: int) -> list[bytes]:
        """Return up to ``count`` lines, which :meth:`take` will return next."""
        if len(self._ahead) < count:
            self._ahead.extend(itertools.islice(self._handle, count - len(self._ahead)))
        return self._ahead[:count]

    def take(self, count: int) -> list[bytes]:
        """Return the next lines, fewer than ``count`` at the end."""
        lines, self._ahead = self._ahead[:count], self._ahead[count:]
        if len(lines) < count:
            lines.extend(itertools.islice(self._handle, count - len(lines)))
        self.taken += len(lines)
        return lines

    def numbered(self, start: re.Pattern[bytes] | None = None) -> Iterator[tuple[int, str]]:
        """Give the number, counted from 1, and the text of each line that is left (and begins with ``start``)."""
        while lines := self.take(1 << 16):
            for number, raw in enumerate(lines, start=self.taken - len(lines) + 1):
                if start is None or start.match(raw):
                    yield number, decode_line(raw, self.name, number)

    def rest(self) -> int:
        """Return how many lines are left, and skip them."""
        count = 0
        while lines := self.take(1 << 16):
            count += len(lines)
        return count

    def count_ahead(self) -> int:
        """Return how many lines are left; they can still be taken."""
        if self._handle.seekable():
            here = self._handle.tell()
            count = len(self._ahead) + sum(1 for _ in self._handle)
            self._handle.seek(here)
            return count
        text = self._handle.read()
        self._handle = io.BytesIO(text)
        return len(self._ahead) + text.count(b"\n") + (bool(text) and not text.endswith(b"\n"))


class Lengths:
    """How many words the sentences of a source and a target file have, read along with the alignments.

    Either path may be None; lengths on that side are then unknown.
    """

    def __init__(self, source: str | Path | None, target: str | Path | None) -> None:
        self.paths = {"source": source, "target": target}
        self._lines = {side: read_lines(path) for side, path in self.paths.items() if path is not None}
        self.taken = dict.fromkeys(self._lines, 0)

    def __bool__(self) -> bool:
        return bool(self._lines)

    def take(self, count: int) -> dict[str, np.ndarray]:
        """Return the lengths of the next ``count`` sentences by side, fewer at the end."""
        found = {}
        for side, lines in self._lines.items():
            sizes = [len(words_of(line)) for line in itertools.islice(lines, count)]
            self.taken[side] += len(sizes)
            found[side] = np.asarray(sizes, dtype=np.int64)
        return found

    def totals(self) -> dict[str, int]:
        """Return how many lines each file has, by its name; reads them to their ends."""
        for side, lines in self._lines.items():
            self.taken[side] += sum(1 for _ in lines)
        return {display_name(self.paths[side] or ""): taken for side, taken in self.taken.items()}

    def count(self) -> int | None:
        """Return the number of sentences, from a pass over one of the files; None when no file can be counted."""
        for path in self.paths.values():
            if path is not None and str(path) != "-":
                return sum(1 for _ in read_lines(path))
        return None

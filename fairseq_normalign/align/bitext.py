"""Two files of lines read in step, or one that holds both sides, in windows.

What is computed together is fixed by the position of a line in its file and by nothing else: floats differ in their
last bits between batches of different shape, and an alignment must not depend on how many processes share the work.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import NormalignError
from ..files import STDIO, line_without_partner, open_input, read_bitext, read_lines, read_parallel

WINDOW = 1024
"""Pairs that are read, sorted by length, aligned and written together."""

TextPair = tuple[str, str]


@dataclass(frozen=True)
class Window:
    """Consecutive pairs of a bitext."""

    number: int
    first: int
    """The position of its first pair in the bitext, from 0."""
    pairs: list[TextPair]
    digest: str
    """A digest of everything from the start of the bitext to the end of this window."""
    beside: list[tuple[str, ...]] = field(default_factory=list)
    """The lines of the files beside the bitext, one tuple per pair; empty without such files."""


class Bitext:
    """A source and a target file, line by line, or one file that holds both; ``-`` is standard input."""

    def __init__(
        self,
        source: str | Path,
        target: str | Path | None = None,
        *,
        window: int | None = None,
        beside: Sequence[str | Path] = (),
    ) -> None:
        """Without ``target`` each line of ``source`` holds both sides, with `` ||| `` or a tab between.

        ``window``: pairs in a window, if not as many as is usual; ``beside``: files with a line for each pair.
        """
        self.beside = list(beside)
        self.window = window or WINDOW
        self.source = source
        self.target = target
        if str(source) == str(target) == STDIO:
            raise NormalignError("standard input ('-') can be the source or the target, not both")
        self._paths = [source] if target is None else [source, target]
        self._stream = self._read()
        self._ahead: list[TextPair] = []

    def _read(self) -> Iterator[TextPair]:
        return read_bitext(self.source) if self.target is None else read_parallel(self.source, self.target)

    def __str__(self) -> str:
        return ", ".join(map(str, self._paths))

    @property
    def is_seekable(self) -> bool:
        """Whether there are plain files alone, which can be read more than once."""
        return all(str(path) != STDIO and os.path.isfile(path) for path in self._paths)

    def count(self) -> int | None:
        """How many pairs there are, or None when that cannot be told before reading; unequal files are an error."""
        if not self.is_seekable:
            for path in self._paths:
                if str(path) != STDIO and not os.path.exists(path):
                    raise NormalignError(f"{path}: no such file")
            return None
        counts = [_count_lines(path) for path in self._paths]
        if counts[0] != counts[-1]:
            fewer, more = sorted(zip(counts, self._paths, strict=True), key=lambda side: side[0])
            raise line_without_partner(more[1], fewer[1], fewer[0])
        return counts[0]

    def first(self, count: int) -> list[TextPair]:
        """The first pairs. They come again in :meth:`pairs`, from standard input too."""
        if self.is_seekable:
            return list(itertools.islice(self._read(), count))
        self._ahead += itertools.islice(self._stream, count - len(self._ahead))
        return self._ahead[:count]

    def pairs(self) -> Iterator[TextPair]:
        """Every pair; an end of one file before the other is an error."""
        if self.is_seekable:
            return self._read()
        return itertools.chain(self._ahead, self._stream)

    def windows(self) -> Iterator[Window]:
        """The pairs in windows."""
        digest = hashlib.sha256()
        pairs = self.pairs()
        others = [read_lines(path) for path in self.beside]
        for number in itertools.count():
            window = list(itertools.islice(pairs, self.window))
            if not window:
                self._check_ended(others, number * self.window)
                return
            for source, target in window:
                digest.update(f"{source}\n{target}\n".encode())
            beside = [list(itertools.islice(other, len(window))) for other in others]
            self._check_beside(beside, number * self.window, len(window))
            rows = list(zip(*beside, strict=True)) if beside else []
            yield Window(number, number * self.window, window, digest.hexdigest(), rows)

    def _check_beside(self, beside: Sequence[Sequence[str]], first: int, count: int) -> None:
        for path, lines in zip(self.beside, beside, strict=True):
            if len(lines) < count:
                raise line_without_partner(self.source, path, first + len(lines))

    def _check_ended(self, others: Sequence[Iterator[str]], count: int) -> None:
        for path, other in zip(self.beside, others, strict=True):
            if next(other, None) is not None:
                raise line_without_partner(path, self.source, count)


def _count_lines(path: str | Path) -> int:
    count, last = 0, b"\n"
    with open_input(path) as handle:
        while chunk := handle.read(1 << 20):
            count += chunk.count(b"\n")
            last = chunk[-1:]
    return count + (last != b"\n")

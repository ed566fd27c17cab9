"""Gold alignments, and whole alignment files as plain Python lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import open_output
from .decide import Link
from .formats import PYTHON_OPTIONS, Lengths, OptionNames, Writer, in_step, open_alignment

Marked = list[tuple[int, int, bool]]
"""The links of a sentence: (source, target, whether it is sure), 0-based."""


@dataclass(frozen=True)
class Gold:
    """The gold links of a sentence, 0-based (source, target). ``possible`` always holds every sure link."""

    sure: frozenset[Link]
    possible: frozenset[Link]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sure", frozenset(self.sure))
        object.__setattr__(self, "possible", frozenset(self.possible) | self.sure)


def read_gold(
    path: str | Path,
    *,
    format: str = "auto",
    base: int | None = None,
    reverse: bool | None = None,
    source: str | Path | None = None,
    target: str | Path | None = None,
    options: OptionNames = PYTHON_OPTIONS,
) -> list[Gold]:
    """Read a gold file whole; ``source`` and ``target``, the texts, help to settle its base and direction."""
    rows = read_marked(path, options=options, format=format, base=base, reverse=reverse, source=source, target=target)
    return golds_of(rows)


def read_links(
    path: str | Path,
    *,
    format: str = "auto",
    base: int | None = None,
    reverse: bool | None = None,
    source: str | Path | None = None,
    target: str | Path | None = None,
    options: OptionNames = PYTHON_OPTIONS,
) -> list[list[Link]]:
    """Read an alignment file whole; return the sorted links of each sentence. Arguments as for :func:`read_gold`."""
    rows = read_marked(path, options=options, format=format, base=base, reverse=reverse, source=source, target=target)
    return [[(s, t) for s, t, _ in links] for links in rows]


def read_marked(
    path: str | Path, *, source: str | Path | None = None, target: str | Path | None = None, **how: Any
) -> list[Marked]:
    """Return the links (source, target, sure) of each sentence of a file. Arguments as for :func:`read_gold`."""
    with open_alignment(path, **how) as file:
        return [list(links) for (block,) in in_step([file], Lengths(source, target)) for links in block.sentences()]


def golds_of(rows: Iterable[Marked]) -> list[Gold]:
    """Return gold alignments from the marked links of each sentence.

    >>> golds_of([[(0, 0, True), (1, 0, False)]])[0].sure
    frozenset({(0, 0)})
    """
    return [
        Gold(frozenset((s, t) for s, t, sure in links if sure), frozenset((s, t) for s, t, _ in links))
        for links in rows
    ]


def write_links(
    path: str | Path, links: Iterable[Iterable[Link]], *, format: str = "pharaoh", base: int | None = None
) -> None:
    """Write the links (source, target), 0-based, of every sentence to a file, which appears whole or not at all.

    ``format`` is one of :data:`~fairseq_normalign.links.formats.WRITERS`; ``base`` is what it counts the first word
    as, if not what is usual.
    """
    with open_output(path) as handle:
        writer = Writer(handle, format, base=base)
        for sentence in links:
            writer.write((source, target, True) for source, target in sentence)

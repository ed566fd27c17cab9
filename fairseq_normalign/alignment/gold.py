"""Gold alignments, and whole alignment files as plain Python lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .decide import Link
from .formats import Lengths, OptionNames, in_step, open_alignment

GOLD_OPTIONS = OptionNames("--gold-format", "--gold-base", "--reverse-gold")


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
) -> list[Gold]:
    """Read a gold file whole; ``source`` and ``target``, the texts, help to settle its base and direction."""
    rows = _sentences(path, format, base, reverse, source, target, GOLD_OPTIONS)
    return [_gold_of(links) for links in rows]


def read_links(
    path: str | Path,
    *,
    format: str = "auto",
    base: int | None = None,
    reverse: bool | None = None,
    source: str | Path | None = None,
    target: str | Path | None = None,
) -> list[list[Link]]:
    """Read an alignment file whole: the sorted links of every sentence, whatever their marks. As :func:`read_gold`."""
    rows = _sentences(path, format, base, reverse, source, target, OptionNames())
    return [[(s, t) for s, t, _ in links] for links in rows]


def _gold_of(links: Iterable[tuple[int, int, bool]]) -> Gold:
    links = list(links)
    return Gold(frozenset((s, t) for s, t, sure in links if sure), frozenset((s, t) for s, t, _ in links))


def _sentences(path, format, base, reverse, source, target, options) -> Iterator[list[tuple[int, int, bool]]]:
    with open_alignment(path, format=format, base=base, reverse=reverse, options=options) as file:
        for (block,) in in_step([file], Lengths(source, target)):
            yield from block.sentences()

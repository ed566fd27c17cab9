"""A whole bitext worked through window by window, by one process or several, and written in the order of the input."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..alignment.decide import Link
from ..alignment.dump import DumpWriter
from ..alignment.formats import pharaoh
from ..alignment.formats.json_lines import AlignedPair, to_json
from ..errors import NormalignError
from ..files import words_of
from ..resumable import ANEW, PlainFiles, ResumableFiles
from .bitext import Bitext, Window
from .both_directions import BitextAligner
from .directions import Keep, PairAlignment
from .processes import Processes

Files = ResumableFiles | PlainFiles
Count = Callable[[int], object]


@dataclass(frozen=True)
class Outputs:
    """What is written of every pair: links always, a line each of the others where it is asked for."""

    scores: bool = False
    soft: bool = False
    layers: bool = False
    json: bool = False
    """Links as JSON lines, with both texts and the places of their words."""
    words: bool = False
    """The words that links count, of each side."""

    @property
    def keep(self) -> Keep:
        """What the aligner has to keep for it."""
        return Keep(soft=self.soft, layers=self.layers)

    def texts(self, results: Sequence[PairAlignment]) -> list[str]:
        """One text a file."""
        lines = [[_json_line(result) if self.json else pharaoh(result.links) for result in results]]
        if self.scores:
            lines.append([" ".join(f"{value:.4f}" for value in result.confidence) for result in results])
        if self.soft:
            lines.append([_soft_line(result) for result in results])
        if self.words:
            sides = [result.lines for result in results if result.lines is not None]
            lines += [[" ".join(line.given_words) for line in side] for side in zip(*sides, strict=True)]
        return ["".join(f"{line}\n" for line in file) for file in lines]


def _json_line(result: PairAlignment) -> str:
    assert result.lines is not None
    source, target = result.lines
    links = [(*link, True) for link in result.links]
    known = dict(zip(result.links, result.confidence, strict=True))
    return to_json(AlignedPair(source.text, target.text, source.places, target.places, links, known))


def _soft_line(result: PairAlignment) -> str:
    rows = [] if result.soft is None else result.soft.tolist()
    return " ".join(",".join(f"{value:.6f}" for value in row) for row in rows)


@dataclass
class Part:
    """What one process made of one window."""

    texts: list[str] = field(default_factory=list)
    """What is to be appended to each file."""
    counts: Counter[str] = field(default_factory=Counter)
    """What is to be counted beside the pairs, for example those that were skipped, by the reason."""
    results: Sequence[Any] = ()
    """What else the first process needs."""
    error: str | None = None
    """The user's mistake that ended the work on the window."""


Work = Callable[[Window], Part]


def align_bitext(
    bitext: Bitext,
    aligner: BitextAligner,
    files: Files | None,
    group: Processes,
    *,
    outputs: Outputs,
    dump: DumpWriter | None = None,
    done: Count = lambda count: None,
) -> Counter[str]:
    """Align what ``files`` (of the first process) do not hold yet; -> how many pairs there were, and how many skipped.

    ``done`` is told of pairs as this process aligns them.
    """
    work = functools.partial(_align, aligner=aligner, outputs=outputs, done=done)
    return run_job(bitext, work, files, group, dump=dump)


def run_job(
    bitext: Bitext, work: Work, files: Files | None, group: Processes, *, dump: DumpWriter | None = None
) -> Counter[str]:
    """Do ``work`` on every window that ``files`` (of the first process) do not hold yet; -> what was counted.

    Windows go to the processes in turn; the first one writes, in the order of the input. An error that ``work`` raises
    for a user's mistake is returned to the first process, which reports it with the lines of the window.
    """
    first = group.share(files.journal.steps if files else 0)
    counts: Counter[str] = Counter(files.journal.counts if files else {})
    for round_ in _rounds(_unfinished(bitext, first, files), group.count):
        mine = round_[group.rank] if group.rank < len(round_) else None
        parts = group.gather(_guarded(work, mine))
        for window, part in zip(round_, parts, strict=False):
            if part.error is not None:
                raise NormalignError(part.error)
            counts.update({"pairs": len(window.pairs)})
            counts.update(part.counts)
            if files is not None:
                files.journal.counts = dict(counts)
                files.append(part.texts, window.digest)
            if dump is not None:
                _add_to_dump(dump, window, part.results)
    return counts


def _guarded(work: Work, window: Window | None) -> Part:
    if window is None:
        return Part()
    try:
        return work(window)
    except NormalignError as error:
        return Part(error=f"lines {window.first + 1} to {window.first + len(window.pairs)}: {error}")


def _unfinished(bitext: Bitext, first: int, files: Files | None) -> Iterator[Window]:
    """The windows from ``first`` on; those before must be what they were."""
    found = 0
    for window in bitext.windows():
        found += 1
        if window.number >= first:
            yield window
        elif window.number == first - 1 and files is not None and window.digest != files.journal.digest:
            raise _other_text(bitext, f"the first {window.first + len(window.pairs)} lines are not those")
    if found < first:
        raise _other_text(bitext, "there are fewer lines than those")


def _other_text(bitext: Bitext, how: str) -> NormalignError:
    return NormalignError(f"{bitext}: {how} of the interrupted run; {ANEW}")


def _rounds(windows: Iterator[Window], count: int) -> Iterator[list[Window]]:
    while round_ := list(itertools.islice(windows, count)):
        yield round_


def _align(window: Window, *, aligner: BitextAligner, outputs: Outputs, done: Count) -> Part:
    votes = [[_links(line) for line in lines] for lines in window.beside]
    results = aligner.align(window.pairs, keep=outputs.keep, first=window.first, votes=votes, done=done)
    with aligner.forward.uncounted():
        for pair, result in zip(window.pairs, results, strict=True):
            result.lines = result.lines or aligner.forward.lines(pair)
    skipped = Counter(result.skipped for result in results if result.skipped)
    return Part(outputs.texts(results), skipped, results if outputs.layers else [])


def _links(line: str) -> list[Link]:
    """The links of a line in Pharaoh format, 0-based."""
    found = []
    for word in words_of(line):
        match = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", word)
        if match is None:
            raise NormalignError(f"'{word[:60]}' among the links to vote is not i-j, two positions counted from 0")
        found.append((int(match[1]), int(match[2])))
    return found


def _add_to_dump(dump: DumpWriter, window: Window, results: Sequence[PairAlignment]) -> None:
    for number, result in enumerate(results, start=window.first):
        if result.read is not None:
            dump.add(
                number,
                source_pieces=result.read.source.pieces,
                target_pieces=result.read.target.pieces,
                source=result.read.source.by_word,
                target=result.read.target.by_word,
                layers=result.read.layers,
            )

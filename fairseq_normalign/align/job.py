"""A whole bitext worked through window by window, by one process or several, and written in the order of the input."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from typing import TypedDict

import torch

from ..errors import NormalignError
from ..files import words_of
from ..links.decide import Link
from ..links.dump import DumpWriter
from ..links.formats import pharaoh
from ..links.formats.json_lines import AlignedPair, to_json
from ..links.pieces import Segmentation
from ..resumable import ANEW, PlainFiles, ResumableFiles
from .bitext import Bitext, Window
from .both_directions import BitextAligner
from .directions import Keep, PairAlignment
from .handing_out import AHEAD, Board, InOrder, help_out
from .processes import Processes

Files = ResumableFiles | PlainFiles
Count = Callable[[int], object]


def nobody(count: int) -> None:
    """Tell nobody how many pairs are done."""


@dataclass(frozen=True)
class Outputs:
    """What is written about every pair: links always, and one line in each of the other files that are asked for."""

    scores: bool = False
    soft: bool = False
    layers: bool = False
    json: bool = False
    """Links as JSON lines, with both texts and the places of their words."""
    words: bool = False
    """The words that links count, of each side."""

    @property
    def keep(self) -> Keep:
        """What the aligner has to keep for these outputs."""
        return Keep(soft=self.soft, layers=self.layers)

    def texts(self, results: Sequence[PairAlignment]) -> list[str]:
        """Return one text per file."""
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


class KeptPair(TypedDict):
    """What a dump keeps of a pair, as plain data that can be sent to another process."""

    id: int
    pieces: list[list[str]]
    """The pieces of the source and of the target."""
    words: list[list[tuple]]
    """The fields of the segmentation into words of the source and of the target."""
    layers: torch.Tensor
    """[layers, T + 1, S]."""


class PlainPart(TypedDict):
    """The fields of a :class:`Part`, as plain data that can be sent to another process."""

    texts: list[str]
    counts: dict[str, int]
    dumped: list[KeptPair]
    error: str | None


@dataclass
class Part:
    """What one process made of one window."""

    texts: list[str] = field(default_factory=list)
    """What is to be appended to each file."""
    counts: Counter[str] = field(default_factory=Counter)
    """What is to be counted beside the pairs, for example those that were skipped, by the reason."""
    dumped: list[KeptPair] = field(default_factory=list)
    error: str | None = None
    """The user's mistake that ended the work on the window."""

    def packed(self) -> PlainPart:
        """Return the fields as plain data."""
        return {"texts": self.texts, "counts": dict(self.counts), "dumped": self.dumped, "error": self.error}

    @classmethod
    def unpacked(cls, plain: PlainPart) -> Part:
        """Return the part whose plain data :meth:`packed` returned."""
        return cls(plain["texts"], Counter(plain["counts"]), plain["dumped"], plain["error"])


Work = Callable[[Window, Count], Part]
"""Works on a window, and tells how many pairs are done meanwhile."""


def align_bitext(
    bitext: Bitext,
    aligner: BitextAligner,
    files: Files | None,
    group: Processes,
    *,
    outputs: Outputs,
    dump: DumpWriter | None = None,
    done: Count = nobody,
) -> Counter[str]:
    """Align what ``files`` (of the first process) do not hold yet; -> how many pairs there were, and how many skipped.

    ``done`` is told how many pairs are done, of all processes.
    """
    work = functools.partial(_align, aligner=aligner, outputs=outputs)
    return run_job(bitext, work, files, group, dump=dump, done=done)


def run_job(
    bitext: Bitext,
    work: Work,
    files: Files | None,
    group: Processes,
    *,
    dump: DumpWriter | None = None,
    done: Count = nobody,
) -> Counter[str]:
    """Do ``work`` on every window that ``files`` (of the first process) do not hold yet; -> what was counted.

    Windows go to the processes as they ask for them; the first one writes, in the order of the input. ``done`` is told
    how many pairs are done: of one process as it works, of several when they are written. An error that ``work``
    raises for a user's mistake is returned to the first process, which reports it with the lines of the window.
    """
    first = group.share(files.journal.steps if files else 0)
    counts: Counter[str] = Counter(files.journal.counts if files else {})
    windows = _unfinished(bitext, first, files)
    at_work, at_writing = (done, nobody) if group.count == 1 else (nobody, done)
    guarded = functools.partial(_guarded, work=work, done=at_work)
    for window, part in _done_in_order(windows, guarded, group, first, large=dump is not None):
        if part.error is not None:
            raise NormalignError(part.error)
        counts.update({"pairs": len(window.pairs)})
        counts.update(part.counts)
        if files is not None:
            files.journal.counts = dict(counts)
            files.append(part.texts, window.digest)
        if dump is not None:
            _add_to_dump(dump, part.dumped)
        at_writing(len(window.pairs))
    return counts


def _done_in_order(
    windows: Iterator[Window], work: Callable[[Window], Part], group: Processes, first: int, *, large: bool
) -> Iterable[tuple[Window, Part]]:
    """Every window with what was made of it, for the first process; the others help, and get nothing.

    ``large``: results are so large that few may wait to be written.
    """
    if group.count == 1:
        return ((window, work(window)) for window in windows)
    ahead = group.share(group.count * (2 if large else AHEAD))
    board = Board(group, first, ahead, pack=Part.packed, unpack=Part.unpacked)
    if group.is_first:
        return InOrder(windows, work, board)
    help_out(windows, work, lambda error: Part(error=error), board)
    return ()


def _guarded(window: Window, *, work: Work, done: Count) -> Part:
    try:
        return work(window, done)
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


def _align(window: Window, done: Count, *, aligner: BitextAligner, outputs: Outputs) -> Part:
    votes = [[_links(line) for line in lines] for lines in window.beside]
    results = aligner.align(window.pairs, keep=outputs.keep, first=window.first, votes=votes, done=done)
    with aligner.forward.uncounted():
        for pair, result in zip(window.pairs, results, strict=True):
            result.lines = result.lines or aligner.forward.lines(pair)
    skipped = Counter(result.skipped for result in results if result.skipped)
    return Part(outputs.texts(results), skipped, _dumped(results, window.first) if outputs.layers else [])


def _links(line: str) -> list[Link]:
    """The links of a line in Pharaoh format, 0-based."""
    found = []
    for word in words_of(line):
        match = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", word)
        if match is None:
            raise NormalignError(f"'{word[:60]}' among the links to vote is not i-j, two positions counted from 0")
        found.append((int(match[1]), int(match[2])))
    return found


def _dumped(results: Sequence[PairAlignment], first: int) -> list[KeptPair]:
    """What a dump keeps of each pair that was read; layers [layers, T + 1, S]."""
    return [
        {
            "id": number,
            "pieces": [list(side.pieces) for side in (read.source, read.target)],
            "words": [list(astuple(side.by_word)) for side in (read.source, read.target)],
            "layers": torch.from_numpy(read.layers),
        }
        for number, read in enumerate((result.read for result in results), start=first)
        if read is not None
    ]


def _add_to_dump(dump: DumpWriter, pairs: Sequence[KeptPair]) -> None:
    for pair in pairs:
        source, target = (Segmentation(*words) for words in pair["words"])
        source_pieces, target_pieces = pair["pieces"]
        dump.add(
            pair["id"],
            source_pieces=source_pieces,
            target_pieces=target_pieces,
            source=source,
            target=target,
            layers=pair["layers"].numpy(),
        )

"""Opening and writing alignment files: which format, counted from 0 or 1, source or target first; several in step."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from ...errors import NormalignError
from ...files import open_input
from .blocks import Block, ByteLines, Lengths
from .readers import (
    FORMATS,
    WRITERS,
    FileLink,
    GenerateLog,
    IdSentences,
    LineReader,
    pharaoh,
    read_naacl,
)


@dataclass(frozen=True)
class OptionNames:
    """Names for messages that ask for an option. A command passes its flags; the defaults are Python arguments."""

    format: str = "format"
    base: str = "base"
    reverse: str = "reverse"
    allow_missing: str = "allow_missing=True"
    """Empty: there is no such option to name."""

    @property
    def missing_hint(self) -> str:
        """What to do about missing sentences, for the end of a message."""
        return f"{self.allow_missing} takes them as empty" if self.allow_missing else ""


PYTHON_OPTIONS = OptionNames()


def with_value(option: str, value: object) -> str:
    """Write an option with its value, as it is typed.

    >>> with_value("base", 1), with_value("--base", 1)
    ('base=1', '--base 1')
    """
    return f"{option} {value}" if option.startswith("-") else f"{option}={value}"


ENOUGH_SENTENCES = 10
"""With at least this many sentences with links, no index 0, and an index 1 in at least half of them, a file counts
from 1: otherwise each of them would leave both its first words unaligned."""

LONGEST_SENTENCE = 1_000_000
"""Numbers made of the links of a block still fit 64 bits."""


@dataclass
class AlignmentFile:
    """An open alignment file whose :meth:`take` gives 0-based (source, target) links.

    ``base`` and ``reverse`` may be None: they are then settled by the first sentences that hold links, and by the
    sentence lengths where those are known. What was settled is in ``base`` and ``reverse`` afterwards.
    """

    sentences: LineReader | IdSentences
    name: str
    format: str
    base: int | None
    reverse: bool | None
    base_given: bool
    reverse_given: bool
    options: OptionNames
    taken: int = 0

    def take(self, count: int, lengths: dict[str, np.ndarray] | None = None) -> Block:
        """Return the next sentences, fewer than ``count`` at the end; ``lengths`` are those of at least as many."""
        block = self.sentences.take(count)
        self.taken += block.count
        if not len(block):
            return block
        known = {side: values[: block.count] for side, values in (lengths or {}).items()}
        if self.base is None or self.reverse is None:
            self._settle(block, known)
        if self.format == "pharaoh" and not block.sure.all():
            self.format = "talp"
        base = self.base or 0
        ordered = block.reversed() if self.reverse else block
        at_most = np.maximum(ordered.source, ordered.target)
        if at_most.max() >= LONGEST_SENTENCE:
            raise self._error(block, int(at_most.argmax()), f"index {at_most.max()} is past any sentence")
        below = np.minimum(ordered.source, ordered.target) < base
        wrong = _outside(ordered, base, known) | below
        if not wrong.any():
            return ordered.shifted(-base)
        link = int(np.argmax(wrong))
        found = f"link {block.source[link]}-{block.target[link]}"
        if below[link]:
            how = "said to count from 1" if self.base_given else "taken to count from 1 after its first sentences"
            zero = with_value(self.options.base, 0)
            message = f"{found} has an index 0, but the file is {how}; say {zero} if it counts from 0"
        else:
            has = " and ".join(f"{values[block.sentence[link]]} {side} words" for side, values in known.items())
            order = "target-source" if self.reverse else "source-target"
            message = f"{found} is out of range: the sentence has {has} (read as {order}, counted from {self.base})"
        raise self._error(block, link, message)

    def _error(self, block: Block, link: int, message: str) -> NormalignError:
        return NormalignError.at(self.name, None if block.lines is None else int(block.lines[link]), message)

    def _settle(self, block: Block, lengths: dict[str, np.ndarray]) -> None:
        """Find base and direction; where none fits, those under which fewer links are outside."""
        lowest = int(min(block.source.min(), block.target.min()))
        bases = [self.base] if self.base is not None else ([0] if lowest == 0 else [0, 1])
        orders = [self.reverse] if self.reverse is not None else ([False, True] if len(lengths) == 2 else [False])
        for reverse in orders:
            ordered = block.reversed() if reverse else block
            fitting = [base for base in bases if not _outside(ordered, base, lengths).any()]
            if fitting:
                break
        else:
            self.reverse, self.base = orders[0], bases[-1]
            return
        self.reverse, self.base = reverse, fitting[0]
        if len(fitting) == 1:
            return
        with_links = len(np.unique(block.sentence))
        with_one = len(np.unique(block.sentence[(block.source == 1) | (block.target == 1)]))
        if with_links >= ENOUGH_SENTENCES and 2 * with_one >= with_links and not lengths:
            self.base = 1
            return
        seen = "no index is 0" + (" and none is past the end of a sentence" if lengths else "")
        raise NormalignError(
            f"{self.name}: does it count words from 0 or 1? In {with_links} sentences with links {seen}; "
            f"say {with_value(self.options.base, 0)} or {with_value(self.options.base, 1)}"
        )

    def rest(self) -> int:
        """Return how many sentences are left, and skip them."""
        left = self.sentences.rest()
        self.taken += left
        return left

    def total(self) -> int:
        """Return how many sentences the file has; reads it to its end."""
        self.rest()
        return self.taken

    @property
    def may_end_early(self) -> bool:
        """Whether sentences after the last one may count as empty."""
        return isinstance(self.sentences, GenerateLog) and self.sentences.allow_missing

    @property
    def signature(self) -> str:
        """How the file was read: format, base and direction."""
        base = "any" if self.base is None else self.base
        ranked = ",ids:in-order" if isinstance(self.sentences, IdSentences) and self.sentences.by_rank else ""
        return f"{self.format},base:{base},{'target-source' if self.reverse else 'source-target'}{ranked}"


def _outside(block: Block, base: int, lengths: dict[str, np.ndarray]) -> np.ndarray:
    """Return [L]: whether each link points past the end of its sentence."""
    outside = np.zeros(len(block), dtype=bool)
    for side, indices in (("source", block.source), ("target", block.target)):
        if side in lengths:
            outside |= indices - base >= lengths[side][block.sentence]
    return outside


@contextlib.contextmanager
def open_alignment(
    path: str | Path,
    *,
    format: str = "auto",
    base: int | None = None,
    reverse: bool | None = None,
    options: OptionNames = PYTHON_OPTIONS,
    nth: int = 1,
    allow_missing: bool = False,
) -> Iterator[AlignmentFile]:
    """Open an alignment file (``-``: standard input).

    ``format`` is one of :data:`FORMATS` or "auto"; ``base`` 0 or 1, ``reverse`` True for a file that has the target
    first; None for either: found from the file and, where known, the texts. ``nth`` and ``allow_missing`` are for
    fairseq's logs.
    """
    if format not in (*FORMATS, "auto"):
        raise NormalignError(f"unknown alignment format '{format}'; choose one of auto, {', '.join(FORMATS)}")
    with open_input(path) as handle:
        lines = ByteLines(str(path), handle)
        if not lines.peek(1):
            raise NormalignError(f"{lines.name}: the file is empty")
        found = _recognised(lines, options) if format == "auto" else format
        sentences: LineReader | IdSentences
        if found == "naacl":
            how_to_say = " or ".join(with_value(options.base, value) for value in (0, 1))
            sentences = read_naacl(lines, base=base, how_to_say=how_to_say)
        elif found == "fairseq":
            sentences = GenerateLog(lines, nth=nth, allow_missing=allow_missing, hint=options.missing_hint)
        else:
            sentences = FORMATS["talp" if (format, found) == ("auto", "pharaoh") else found].read(lines)
        known = FORMATS[found]
        yield AlignmentFile(
            sentences,
            lines.name,
            found,
            base=known.base if base is None else base,
            reverse=known.turned if reverse is None else reverse,
            base_given=base is not None,
            reverse_given=reverse is not None or known.turned is not None,
            options=options,
        )


def _recognised(lines: ByteLines, options: OptionNames) -> str:
    """Return the name of the format that one of the first lines shows."""
    first = b""
    for raw in lines.peek(1000):
        text = raw.strip()
        first = first or text
        for name, format in FORMATS.items():
            if re.match(format.sign, text if name == "pharaoh" else raw.rstrip(b"\r\n")):
                return name
    if not first:
        return "pharaoh"
    shown = ascii(first.decode("utf-8", errors="replace")[:60])
    raise NormalignError(
        f"{lines.name}: no known format (it begins {shown}); {options.format} may be one of {', '.join(FORMATS)}"
    )


# -- several files of the same sentences ------------------------------------------------------------------------------

BLOCK = 512
"""Sentences of a block."""


def in_step(
    files: Sequence[AlignmentFile], lengths: Lengths | None = None, *, ids_in_order: bool = False, size: int = BLOCK
) -> Iterator[list[Block]]:
    """Give blocks of the same sentences, one per file, to the end; an error when a file has more or fewer sentences.

    With ``ids_in_order`` the ids of a file give only the order; otherwise a gap in them is a sentence without links.
    """
    _place_together(files, lengths, ids_in_order=ids_in_order)
    while True:
        known = lengths.take(size) if lengths else {}
        wanted = min((len(values) for values in known.values()), default=size)
        first = files[0].take(wanted, known)
        if known and files[0].may_end_early:
            first = first.padded(wanted)
        blocks = [first]
        for file in files[1:]:
            block = file.take(first.count, known)
            blocks.append(block.padded(first.count) if file.may_end_early else block)
        counts = {*(block.count for block in blocks), *(len(values) for values in known.values())}
        ended = first.count < size
        if len(counts) > 1 or (ended and any(file.rest() for file in files)):
            raise _uneven(files, lengths)
        if first.count:
            yield blocks
        if ended:
            return


def _uneven(files: Sequence[AlignmentFile], lengths: Lengths | None) -> NormalignError:
    totals = {file.name: file.total() for file in files} | (lengths.totals() if lengths else {})
    (name, count), *others = totals.items()
    other, different = next(((other, total) for other, total in others if total != count), (name, count))
    hint = ""
    if any(isinstance(file.sentences, GenerateLog) and file.total() < max(totals.values()) for file in files):
        how = next((file.options.missing_hint for file in files if file.options.missing_hint), "")
        hint = "; fairseq-generate can drop the last sentences" + (f", {how}" if how else "")
    return NormalignError(f"{name} has {count} sentences, {other} has {different}{hint}")


def _place_together(files: Sequence[AlignmentFile], lengths: Lengths | None, *, ids_in_order: bool) -> None:
    """Put the sentences of files with ids in step with the others; the first file is the one that must be complete.

    How many sentences there are is known from ``lengths``, else from the first file without ids. When every file has
    ids they are matched by them.
    """
    with_ids = [file.sentences for file in files if isinstance(file.sentences, IdSentences)]
    if ids_in_order:
        for sentences in with_ids:
            sentences.place_at(sentences.ids, len(sentences.ids))
        return
    if not with_ids:
        return
    count, counted = (lengths.count(), "the source or target text") if lengths else (None, "")
    ordered = next((file.sentences for file in files if isinstance(file.sentences, LineReader)), None)
    if count is None and ordered is not None:
        count, counted = ordered.count_ahead(), ordered.lines.name
    if count is not None or len(files) == 1:
        reliable = bool(lengths) or isinstance(files[0].sentences, LineReader)
        for sentences in with_ids:
            early = reliable or sentences is not files[0].sentences
            sentences.place(count, may_end_early=early, counted=counted)
        return
    first = with_ids[0]
    universe = first.ids
    for sentences in with_ids[1:]:
        strange = sentences.ids[(sentences.ids < first.ids[0]) | (sentences.ids > first.ids[-1])]
        if len(strange):
            known = f"{first.name}, whose ids are {first.ids[0]} to {first.ids[-1]}"
            raise NormalignError(f"{sentences.name}: sentence {strange[0]} is not in {known}")
        universe = np.union1d(universe, sentences.ids)
    for sentences in with_ids:
        sentences.place_at(universe, len(universe))


# -- writing ----------------------------------------------------------------------------------------------------------


class Writer:
    """Writes one sentence after the other. ``possible`` says what to do with links that are only possible where the
    format has no mark for them: "keep" them as links, "drop" them, or None, an error."""

    def __init__(
        self,
        handle: TextIO,
        format: str,
        *,
        base: int | None = None,
        first_id: int | None = None,
        possible: str | None = None,
        option: str = "possible",
    ) -> None:
        if format not in WRITERS:
            raise NormalignError(f"cannot write the format '{format}'; choose one of {', '.join(WRITERS)}")
        self._handle = handle
        self._name, self._format, self._option = format, WRITERS[format], option
        self._base = self._format.base if base is None else base
        self._id = self._format.first_id if first_id is None else first_id
        self._possible = "keep" if self._format.has_marks else possible

    def write(self, links: Iterable[FileLink]) -> None:
        """Write the next sentence from its (source, target, sure), 0-based."""
        rows = [(source + self._base, target + self._base, sure) for source, target, sure in links]
        unmarked = [(source, target) for source, target, sure in rows if not sure]
        if unmarked and self._possible is None:
            keep, drop = (with_value(self._option, value) for value in ("keep", "drop"))
            raise NormalignError(
                f"sentence {self._id}: link {pharaoh(unmarked[:1])} is only possible, which {self._name} cannot say; "
                f"choose {keep} or {drop}"
            )
        if self._possible == "drop":
            rows = [link for link in rows if link[2]]
        self._handle.write(self._format.text(self._id, rows))
        self._id += 1

"""Opening and writing alignment files: which format, counted from 0 or 1, source or target first; several in step."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from ...errors import NormalignError
from ...files import open_input
from ..decide import Link
from .blocks import Block, ByteLines, Lengths
from .ids import IdSentences, read_czenali, read_giza, read_ids, read_naacl, read_rwth
from .json_lines import JsonLines
from .lines import FileLink, GenerateLog, LineReader, PharaohReader, TsinghuaReader


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


Sentences = LineReader | IdSentences
"""What reads a file: gives the sentences in order, with the indices of the file."""


@dataclass(frozen=True)
class Format:
    """How a format is recognised and read."""

    sign: re.Pattern[bytes]
    """What a line of it begins with."""
    read: Callable[[ByteLines], Sentences]
    base: int | None = None
    """What its first word is counted as; None: what the file or the caller says."""
    turned: bool | None = None
    """Whether the target comes first; None: what the file or the caller says."""


FORMATS = {
    "pharaoh": Format(re.compile(rb"([0-9]+|NULL)[-p?]([0-9]+|NULL)(-?[SP]|:[0-9]|[ \t]|$)"), PharaohReader),
    "talp": Format(re.compile(rb"(?!)"), LineReader),  # recognised as pharaoh: the first possible link shows it
    "ids": Format(re.compile(rb"[0-9]+\t([0-9]+|NULL)[-p?]([0-9]|NULL)"), read_ids),
    "tsinghua": Format(re.compile(rb"[0-9]+:[0-9]+/[01]([ \t]|$)"), TsinghuaReader),
    "naacl": Format(re.compile(rb"[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+[ \t]*([SPsp]\b|[ \t][0-9.]|$)"), read_naacl, base=1),
    "rwth": Format(re.compile(rb"SENT:"), read_rwth),
    "giza": Format(re.compile(rb"# Sentence pair \("), read_giza, base=1),
    "czenali": Format(re.compile(rb"[ \t]*<(s[ >]|sure>|possible>)"), read_czenali, base=1),
    "fairseq": Format(re.compile(rb"[SHAPTD]-[0-9]+\t"), GenerateLog, base=0),
    "jsonl": Format(re.compile(rb"\{"), JsonLines, base=0, turned=False),
}

ENOUGH_SENTENCES = 10
"""With at least this many sentences with links, no index 0, and an index 1 in at least half of them, a file counts
from 1: otherwise each of them would leave both its first words unaligned."""

LONGEST_SENTENCE = 1_000_000
"""Numbers made of the links of a block still fit 64 bits."""

_PEEKED = 1000


class AlignmentFile:
    """An open alignment file whose :meth:`take` gives 0-based (source, target) links.

    ``base`` and ``reverse`` may be None: they are then settled by the first sentences that hold links, and by the
    sentence lengths where those are known. What was settled is in ``base`` and ``reverse`` afterwards.
    """

    def __init__(
        self,
        sentences: Sentences,
        name: str,
        format: str,
        *,
        base: int | None,
        reverse: bool | None,
        base_given: bool,
        options: OptionNames,
    ) -> None:
        self.sentences = sentences
        self.name = name
        self.format = format
        self.base = base
        self.reverse = reverse
        self.base_given = base_given
        self.reverse_given = reverse is not None
        self.options = options
        self.taken = 0

    def take(self, count: int, lengths: dict[str, np.ndarray] | None = None) -> Block:
        """Return the next sentences, fewer than ``count`` at the end; ``lengths`` are those of at least as many."""
        block = self.sentences.take(count)
        known = {side: values[: block.count] for side, values in (lengths or {}).items()}
        if len(block):
            if self.base is None or self.reverse is None:
                self._settle(block, known)
            if self.format == "pharaoh" and not block.sure.all():
                self.format = "talp"
        block = self._normalised(block, known)
        self.taken += block.count
        return block

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
    def signature(self) -> str:
        """How the file was read: format, base and direction."""
        base = "any" if self.base is None else self.base
        ranked = ",ids:in-order" if isinstance(self.sentences, IdSentences) and self.sentences.by_rank else ""
        return f"{self.format},base:{base},{'target-source' if self.reverse else 'source-target'}{ranked}"

    def _settle(self, block: Block, lengths: dict[str, np.ndarray]) -> None:
        lowest = int(min(block.source.min(), block.target.min()))
        bases = [self.base] if self.base is not None else ([0] if lowest == 0 else [0, 1])
        orders = [self.reverse] if self.reverse is not None else ([False, True] if len(lengths) == 2 else [False])
        for reverse in orders:
            fitting = [base for base in bases if not _outside(_ordered(block, reverse), base, lengths).any()]
            if fitting:
                self.reverse = reverse
                self.base = fitting[0] if len(fitting) == 1 else self._base_by_range(block, lengths)
                return
        self.reverse = orders[0]
        self.base = bases[-1]  # the base under which fewer links are outside; the caller reports the first that is

    def _base_by_range(self, block: Block, lengths: dict[str, np.ndarray]) -> int:
        with_links = len(np.unique(block.sentence))
        with_one = len(np.unique(block.sentence[(block.source == 1) | (block.target == 1)]))
        if with_links >= ENOUGH_SENTENCES and 2 * with_one >= with_links and not lengths:
            return 1
        seen = "no index is 0" + (" and none is past the end of a sentence" if lengths else "")
        raise NormalignError(
            f"{self.name}: does it count words from 0 or 1? In {with_links} sentences with links {seen}; "
            f"say {with_value(self.options.base, 0)} or {with_value(self.options.base, 1)}"
        )

    def _normalised(self, block: Block, lengths: dict[str, np.ndarray]) -> Block:
        if not len(block):
            return block
        base = self.base or 0
        ordered = _ordered(block, bool(self.reverse))
        highest = max(int(ordered.source.max()), int(ordered.target.max()))
        if highest >= LONGEST_SENTENCE:
            link = int(np.argmax(np.maximum(ordered.source, ordered.target)))
            raise NormalignError.at(self.name, _line(block, link), f"index {highest} is past any sentence")
        outside = _outside(ordered, base, lengths) | (ordered.source < base) | (ordered.target < base)
        if outside.any():
            raise self._outside_error(block, int(np.argmax(outside)), lengths)
        return ordered.shifted(-base)

    def _outside_error(self, block: Block, link: int, lengths: dict[str, np.ndarray]) -> NormalignError:
        found = f"link {block.source[link]}-{block.target[link]}"
        if min(block.source[link], block.target[link]) < (self.base or 0):
            how = "said to count from 1" if self.base_given else "taken to count from 1 after its first sentences"
            zero = with_value(self.options.base, 0)
            message = f"{found} has an index 0, but the file is {how}; say {zero} if it counts from 0"
        else:
            sentence = block.sentence[link]
            has = " and ".join(f"{values[sentence]} {side} words" for side, values in lengths.items())
            order = "target-source" if self.reverse else "source-target"
            message = f"{found} is out of range: the sentence has {has} (read as {order}, counted from {self.base})"
        return NormalignError.at(self.name, _line(block, link), message)


def _line(block: Block, link: int) -> int | None:
    return None if block.lines is None else int(block.lines[link])


def _ordered(block: Block, reverse: bool) -> Block:
    return block.reversed() if reverse else block


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
        known = FORMATS[found]
        base_given = base is not None
        sentences: Sentences
        if found == "naacl":
            how_to_say = " or ".join(with_value(options.base, value) for value in (0, 1))
            sentences = read_naacl(lines, base=base, how_to_say=how_to_say)
        elif found == "fairseq":
            sentences = GenerateLog(lines, nth=nth, allow_missing=allow_missing, hint=options.missing_hint)
        elif format == "auto" and found == "pharaoh":
            sentences = LineReader(lines)
        else:
            sentences = known.read(lines)
        base = known.base if base is None else base
        reverse = known.turned if reverse is None else reverse
        yield AlignmentFile(
            sentences, lines.name, found, base=base, reverse=reverse, base_given=base_given, options=options
        )


def _recognised(lines: ByteLines, options: OptionNames) -> str:
    first = b""
    for raw in lines.peek(_PEEKED):
        text = raw.strip()
        first = first or text
        for name, format in FORMATS.items():
            if format.sign.match(text if name == "pharaoh" else raw.rstrip(b"\r\n")):
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
    place_together(files, lengths, ids_in_order=ids_in_order)
    while True:
        known = lengths.take(size) if lengths else {}
        wanted = min((len(values) for values in known.values()), default=size)
        first = files[0].take(wanted, known)
        if known and _may_end_early(files[0]):
            first = first.padded(wanted)
        blocks = [first]
        for file in files[1:]:
            block = file.take(first.count, known)
            blocks.append(block.padded(first.count) if _may_end_early(file) else block)
        ended = first.count < size
        uneven = any(block.count != first.count for block in blocks) or any(
            len(values) != first.count for values in known.values()
        )
        if uneven or (ended and any(file.rest() for file in files)):
            raise _uneven(files, lengths)
        if first.count:
            yield blocks
        if ended:
            return


def _may_end_early(file: AlignmentFile) -> bool:
    return isinstance(file.sentences, GenerateLog) and file.sentences.allow_missing


def _uneven(files: Sequence[AlignmentFile], lengths: Lengths | None) -> NormalignError:
    totals = {file.name: file.total() for file in files} | (lengths.totals() if lengths else {})
    (name, count), *others = totals.items()
    other, different = next(((other, total) for other, total in others if total != count), (name, count))
    hint = ""
    if any(isinstance(file.sentences, GenerateLog) and file.total() < max(totals.values()) for file in files):
        how = next((file.options.missing_hint for file in files if file.options.missing_hint), "")
        hint = "; fairseq-generate can drop the last sentences" + (f", {how}" if how else "")
    return NormalignError(f"{name} has {count} sentences, {other} has {different}{hint}")


def place_together(
    files: Sequence[AlignmentFile], lengths: Lengths | None = None, *, ids_in_order: bool = False
) -> None:
    """Put the sentences of files with ids in step with the others; the first file is the one that must be complete.

    How many sentences there are is known from ``lengths``, else from the first file without ids. When every file has
    ids they are matched by them.
    """
    with_ids = [file for file in files if isinstance(file.sentences, IdSentences)]
    if not with_ids:
        return
    if ids_in_order:
        for file in with_ids:
            file.sentences.place_at(file.sentences.ids, len(file.sentences.ids))  # type: ignore[union-attr]
        return
    count, counted = (lengths.count(), "the source or target text") if lengths else (None, "")
    if count is None:
        for file in files:
            if not isinstance(file.sentences, IdSentences):
                count, counted = file.sentences.count_ahead(), file.name
                break
    if count is None and len(files) > 1:
        _match_ids([file.sentences for file in with_ids if isinstance(file.sentences, IdSentences)])
        return
    reliable = bool(lengths) or not isinstance(files[0].sentences, IdSentences)
    for file in with_ids:
        file.sentences.place(count, may_end_early=reliable or file is not files[0], counted=counted)  # type: ignore[union-attr]


def _match_ids(all_sentences: Sequence[IdSentences]) -> None:
    first = all_sentences[0]
    universe = first.ids
    for sentences in all_sentences[1:]:
        strange = sentences.ids[(sentences.ids < first.ids[0]) | (sentences.ids > first.ids[-1])]
        if len(strange):
            known = f"{first.name}, whose ids are {first.ids[0]} to {first.ids[-1]}"
            raise NormalignError(f"{sentences.name}: sentence {strange[0]} is not in {known}")
        universe = np.union1d(universe, sentences.ids)
    for sentences in all_sentences:
        sentences.place_at(universe, len(universe))


# -- writing ----------------------------------------------------------------------------------------------------------


def pharaoh(links: Iterable[Link]) -> str:
    """Return the line of a sentence's links (source, target) in Pharaoh format, without a line end.

    >>> pharaoh([(0, 0), (1, 2)])
    '0-0 1-2'
    """
    return " ".join(f"{source}-{target}" for source, target in links)


def _talp(links: Sequence[FileLink]) -> str:
    return " ".join(f"{source}{'-' if sure else 'p'}{target}" for source, target, sure in links)


def _rows(links: Sequence[FileLink], row: Callable[[int, int, str], str]) -> list[str]:
    return [row(source, target, "S" if sure else "P") for source, target, sure in links]


_LINES: dict[str, Callable[[int, Sequence[FileLink]], list[str]]] = {
    "pharaoh": lambda id, links: [pharaoh(link[:2] for link in links)],
    "talp": lambda id, links: [_talp(links)],
    "ids": lambda id, links: [f"{id}\t{_talp(links)}"],
    "tsinghua": lambda id, links: [" ".join(f"{s}:{t}/{int(sure)}" for s, t, sure in links)],
    "naacl": lambda id, links: _rows(links, lambda s, t, mark: f"{id:04d} {s} {t} {mark}"),
    "rwth": lambda id, links: [f"SENT: {id}", *_rows(links, lambda s, t, mark: f"{mark} {s} {t}")],
    "fairseq": lambda id, links: [f"A-{id}\t" + pharaoh(link[:2] for link in links)],
}
"""The lines of a sentence in each format that can be written, from its id and its links as the file counts them."""

WRITERS = {format: 0 if format in ("pharaoh", "ids", "fairseq") else 1 for format in _LINES}
"""Formats that can be written, with the base each is usually counted from."""


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
        self._format = format
        self._base = WRITERS[format] if base is None else base
        self._id = (0 if format in ("fairseq", "ids") else 1) if first_id is None else first_id
        self._possible = "keep" if format not in ("pharaoh", "fairseq") else possible
        self._option = option

    def write(self, links: Iterable[FileLink]) -> None:
        """Write the next sentence from its (source, target, sure), 0-based."""
        rows = [(source + self._base, target + self._base, sure) for source, target, sure in links]
        unmarked = [(source, target) for source, target, sure in rows if not sure]
        if unmarked and self._possible is None:
            keep, drop = (with_value(self._option, value) for value in ("keep", "drop"))
            raise NormalignError(
                f"sentence {self._id}: link {pharaoh(unmarked[:1])} is only possible, which {self._format} cannot say; "
                f"choose {keep} or {drop}"
            )
        if self._possible == "drop":
            rows = [link for link in rows if link[2]]
        for line in _LINES[self._format](self._id, rows):
            print(line, file=self._handle)
        self._id += 1

"""Opening alignment files: which format, counted from 0 or 1, source or target first. Found in the file, or given."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...errors import NormalignError
from ...files import open_input
from .blocks import Block
from .ids import IdSentences, gather_naacl, gather_rwth
from .json_lines import JsonLines
from .link_lines import ByteLines, LinkLines
from .log import GenerateLog
from .option_names import PYTHON_OPTIONS, OptionNames, with_value

FORMATS = ("pharaoh", "talp", "naacl", "rwth", "fairseq", "jsonl")

ENOUGH_SENTENCES = 10
"""With at least this many sentences with links, no index 0, and an index 1 in at least half of them, a file counts
from 1: otherwise each of them would leave both its first words unaligned."""

LONGEST_SENTENCE = 1_000_000
"""Numbers made of the links of a block still fit 64 bits."""

_PEEKED = 1000
_SIGNS = (
    ("jsonl", re.compile(rb"\{")),
    ("rwth", re.compile(rb"SENT:")),
    ("fairseq", re.compile(rb"[SHAPTD]-[0-9]+\t")),
    ("naacl", re.compile(rb"[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+[ \t]*([SP]\b|[ \t][0-9.]|$)")),
    ("links", re.compile(rb"[0-9]+[-p][0-9]+([ \t]|$)")),
)


class AlignmentFile:
    """An open alignment file whose :meth:`take` gives 0-based (source, target) links.

    ``base`` and ``reverse`` may be None: they are then settled by the first sentences that hold links, and by the
    sentence lengths where those are known. What was settled is in ``base`` and ``reverse`` afterwards.
    """

    def __init__(
        self,
        sentences: LinkLines | IdSentences | GenerateLog | JsonLines,
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
            raise NormalignError.at(self.name, block.line_of(link), f"index {highest} is past any sentence")
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
        return NormalignError.at(self.name, block.line_of(link), message)


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
        sentences: LinkLines | IdSentences | GenerateLog | JsonLines
        base_given = base is not None
        if found == "naacl":
            sentences = gather_naacl(lines, base=base, base_option=options.base)
            base = 1 if base is None else base
        elif found == "rwth":
            sentences = gather_rwth(lines)
        elif found == "fairseq":
            sentences = GenerateLog(lines, nth=nth, allow_missing=allow_missing, hint=options.missing_hint)
            base = 0 if base is None else base
        elif found == "jsonl":
            sentences = JsonLines(lines)
            base, reverse = 0 if base is None else base, False if reverse is None else reverse
        else:
            sentences = LinkLines(lines, talp=format != "pharaoh")
        yield AlignmentFile(
            sentences, lines.name, found, base=base, reverse=reverse, base_given=base_given, options=options
        )


def _recognised(lines: ByteLines, options: OptionNames) -> str:
    first = b""
    for raw in lines.peek(_PEEKED):
        text = raw.strip()
        first = first or text
        for format, sign in _SIGNS:
            if sign.match(text if format == "links" else raw.rstrip(b"\r\n")):
                return "pharaoh" if format == "links" else format
    if not first:
        return "pharaoh"
    shown = ascii(first.decode("utf-8", errors="replace")[:60])
    raise NormalignError(
        f"{lines.name}: no known format (it begins {shown}); {options.format} may be one of {', '.join(FORMATS)}"
    )

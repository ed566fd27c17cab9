"""Formats with a sentence per line: Pharaoh, talp and their relatives, and the log of fairseq-generate."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import NormalignError
from ...files import decode_line, words_of
from ..decide import best_sources, links_of_sources
from .blocks import Block, ByteLines

_NEWLINE, _RETURN, _SPACE, _TAB, _HYPHEN = b"\n\r \t-"
_POSSIBLE = ord("p")
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_LINK = re.compile(
    r"(?P<source>[0-9]{1,18}|NULL)(?P<mark>[-p?])(?P<target>[0-9]{1,18}|NULL)"
    rf"(?:-?(?P<kind>[SP])|(?::{_NUMBER}){{1,2}})?"
)
_TSINGHUA_LINK = re.compile(r"([0-9]{1,18}):([0-9]{1,18})/([01])")
_SOFT = re.compile(r"\S*[.,]\S*")

FileLink = tuple[int, int, bool]
"""Source, target, sure; counted as in the file."""


def links_of_line(line: str, name: str, number: int) -> list[FileLink]:
    """Return the links of a line of words ``i-j`` and ``ipj``, and of the ways in which other tools write them.

    Possible: ``ipj``, ``i?j`` (the assignments of clab), ``i-j-P`` and ``i-jP`` (``S``: sure). Behind ``i-j`` may stand
    one or two scores (machine.py). ``NULL`` is no word: such a link is left out. fast_align's ``||| score`` may follow.

    >>> links_of_line("0-0 1p2 2?1 3-3-P NULL-4 4-5:0.7 ||| -12.5", "links", 1)
    [(0, 0, True), (1, 2, False), (2, 1, False), (3, 3, False), (4, 5, True)]
    """
    words = words_of(line)
    if "|||" in words[-2:-1] and re.fullmatch(_NUMBER, words[-1]):
        words = words[:-2]
    found = []
    for word in words:
        match = _LINK.fullmatch(word)
        if not match or (match["mark"] != "-" and match["kind"]):
            raise NormalignError.at(name, number, f"'{word}' is neither i-j (sure) nor ipj (possible)")
        if "NULL" not in (match["source"], match["target"]):
            sure = match["mark"] == "-" and match["kind"] != "P"
            found.append((int(match["source"]), int(match["target"]), sure))
    return found


class LineReader:
    """Reads a format with a sentence per line; here lines of ``i-j`` and ``ipj`` (talp)."""

    def __init__(self, lines: ByteLines) -> None:
        self.lines = lines
        self.numbers: np.ndarray | None = None
        """The line number of each sentence, where that is not its position."""

    def take(self, count: int) -> Block:
        """Return the next sentences with the indices of the file; fewer than ``count`` at the end."""
        first = self.lines.taken
        lines = self.lines.take(count)
        numbers = np.arange(first, first + len(lines)) + 1
        if self.numbers is not None:
            numbers = self.numbers[first : first + len(lines)]
        block = self.parse(lines, numbers)
        return replace(block, lines=numbers[block.sentence])

    def parse(self, lines: list[bytes], numbers: np.ndarray) -> Block:
        """Return the links of lines with these numbers: all at once where they are plain, else one by one."""
        return parse_plainly(lines) or Block.of(
            [
                self.links(decode_line(raw, self.lines.name, number), number)
                for raw, number in zip(lines, numbers.tolist(), strict=True)
            ]
        )

    def links(self, line: str, number: int) -> list[FileLink]:
        """Return the links of a line."""
        return links_of_line(line, self.lines.name, number)

    def rest(self) -> int:
        """Return how many sentences are left, and skip them."""
        return self.lines.rest()

    def count_ahead(self) -> int:
        """Return how many sentences are left; they can still be taken."""
        return self.lines.count_ahead()


class PharaohReader(LineReader):
    """Lines of links ``i-j``, none of which is only possible."""

    def take(self, count: int) -> Block:
        """Return the next sentences with the indices of the file; fewer than ``count`` at the end."""
        block = super().take(count)
        if not block.sure.all() and block.lines is not None:
            link = int(np.argmin(block.sure))
            message = f"'{block.source[link]}p{block.target[link]}' is talp's; Pharaoh has only i-j"
            raise NormalignError.at(self.lines.name, int(block.lines[link]), message)
        return block


class TsinghuaReader(LineReader):
    """Lines of links ``i:j/1`` (sure) and ``i:j/0`` (possible)."""

    def links(self, line: str, number: int) -> list[FileLink]:
        """Return the links of a line."""
        found = []
        for word in words_of(line):
            match = _TSINGHUA_LINK.fullmatch(word)
            if not match:
                message = f"'{word}' is neither i:j/1 (sure) nor i:j/0 (possible)"
                raise NormalignError.at(self.lines.name, number, message)
            found.append((int(match[1]), int(match[2]), match[3] == "1"))
        return found

    def parse(self, lines: list[bytes], numbers: np.ndarray) -> Block:
        """Return the links of lines with these numbers, one line after the other."""
        pairs = zip(lines, numbers.tolist(), strict=True)
        return Block.of([self.links(decode_line(raw, self.lines.name, number), number) for raw, number in pairs])


def parse_plainly(lines: list[bytes]) -> Block | None:
    """Parse lines of nothing but ``i-j``, ``ipj`` and white space; None when there is anything else to look at."""
    text = b"".join(lines)
    if not text.endswith(b"\n"):
        text += b"\n"
    letters = np.frombuffer(text, dtype=np.uint8)
    others = np.flatnonzero((letters - ord("0")) >= 10)  # uint8 wraps around: what is below "0" becomes large
    found = letters[others]
    sizes = np.concatenate((others[:1], others[1:] - others[:-1] - 1))  # of the number that ends before each
    newlines = others[found == _NEWLINE]
    if not _only_links(letters, others, found, int(np.count_nonzero(sizes)) // 2, len(newlines)):
        return None
    if not sizes.all():
        ends_number = sizes > 0
        others, found, sizes = others[ends_number], found[ends_number], sizes[ends_number]
    if len(others) % 2 or int(sizes.max(initial=0)) > 9:
        return None
    separators, link_ends = found[::2], others[1::2]
    sure = separators == _HYPHEN
    joined = (link_ends - sizes[1::2] == others[::2] + 1).all() and (sure | (separators == _POSSIBLE)).all()
    if not joined or (found[1::2] > _SPACE).any():
        return None
    numbers = _numbers(letters, others, sizes)
    per_line = np.diff(np.searchsorted(link_ends, newlines, side="right"), prepend=0)
    sentence = np.repeat(np.arange(len(newlines), dtype=np.int32), per_line)
    return Block(len(lines), sentence, numbers[::2], numbers[1::2], sure)


def _only_links(letters: np.ndarray, others: np.ndarray, found: np.ndarray, links: int, newlines: int) -> bool:
    """Whether there are only digits, one separator per link, spaces, tabs and line ends."""
    white = newlines + np.count_nonzero(found == _SPACE)
    if white != len(found) - links:
        returns = others[found == _RETURN]
        white += np.count_nonzero(found == _TAB) + np.count_nonzero(letters[returns + 1] == _NEWLINE)
    return bool(white == len(found) - links)


def _numbers(letters: np.ndarray, ends: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the numbers that end before the positions ``ends`` and have ``sizes`` digits."""
    values: np.ndarray = letters[ends - 1].astype(np.int32) - ord("0")
    longest = int(sizes.max(initial=1))
    if longest > 1:  # most numbers have one digit or two: no need to pick those that have the second
        values += np.where(sizes > 1, letters[ends - 2] - np.uint8(ord("0")), np.uint8(0)) * np.int32(10)
    for place in range(2, longest):
        longer = np.flatnonzero(sizes > place)
        values[longer] += (letters[ends[longer] - place - 1].astype(np.int32) - ord("0")) * 10**place
    return values


# -- the log of fairseq-generate --------------------------------------------------------------------------------------

_RECORD = re.compile(rb"([SHA])-([0-9]{1,9})\t")


@dataclass
class _Sentence:
    """What the log says of one id: its source words, and the words and the alignment of each hypothesis."""

    source: int | None = None
    targets: list[int] = field(default_factory=list)
    alignments: list[tuple[int, str]] = field(default_factory=list)
    """Line number, and what stands behind ``A-<id>``."""


class GenerateLog(PharaohReader):
    """The output of fairseq-generate with ``--print-alignment``: ``A-<id>`` lines among others, ids in any order.

    With n-best lists there are several for a sentence: the ``nth`` (1: the best) is read. Soft alignments become links:
    each target word is linked to the source word with the largest value.
    """

    def __init__(self, lines: ByteLines, *, nth: int = 1, allow_missing: bool = False, hint: str = "") -> None:
        """``hint`` ends the message about missing sentences."""
        self.allow_missing = allow_missing
        sentences: dict[int, _Sentence] = {}
        for number, line in lines.numbered(_RECORD):
            kind, _, rest = line.partition("-")
            id, _, rest = rest.partition("\t")
            sentence = sentences.setdefault(int(id), _Sentence())
            if kind == "A":
                sentence.alignments.append((number, rest))
            elif kind == "S":
                sentence.source = len(words_of(rest))
            else:
                sentence.targets.append(len(words_of(rest.partition("\t")[2])))
        if not any(sentence.alignments for sentence in sentences.values()):
            raise NormalignError(f"{lines.name}: no A- lines; was fairseq-generate run with --print-alignment?")
        last = max(sentences)
        check_density(lines.name, len(sentences), last)
        ordered = [sentences.get(number, _Sentence()) for number in range(last + 1)]
        missing = [number for number, sentence in enumerate(ordered) if len(sentence.alignments) < nth]
        if missing and not allow_missing:
            shown = ", ".join(map(str, missing[:3])) + ", ..." * (len(missing) > 3)
            listed = f"sentence {shown}" if len(missing) == 1 else f"{len(missing)} sentences ({shown})"
            message = f"{lines.name}: no alignment number {nth} for {listed}"
            raise NormalignError(message + (f"; {hint}" if hint else ""))

        unknown = np.iinfo(np.int64).max  # where the log does not say how many words there are
        chosen = [sentence.alignments[nth - 1] if len(sentence.alignments) >= nth else (0, "") for sentence in ordered]
        lengths = [
            (
                unknown if sentence.source is None else sentence.source,
                sentence.targets[nth - 1] if len(sentence.targets) >= nth else unknown,
            )
            for sentence in ordered
        ]
        texts = [
            _hard(text, sources, targets, lines.name, number) if _SOFT.fullmatch(text.partition(" ")[0]) else text
            for (number, text), (sources, targets) in zip(chosen, lengths, strict=True)
        ]
        super().__init__(ByteLines(lines.name, io.BytesIO("".join(f"{text}\n" for text in texts).encode())))
        self.numbers = np.asarray([number for number, _ in chosen], dtype=np.int64)
        self._lengths = np.asarray(lengths, dtype=np.int64)

    def take(self, count: int) -> Block:
        """Return the next sentences; fewer than ``count`` at the end."""
        first = self.lines.taken
        block = super().take(count)
        lengths = self._lengths[first : first + block.count][block.sentence]
        outside = (block.source >= lengths[:, 0]) | (block.target >= lengths[:, 1])
        if outside.any() and block.lines is not None:
            link = int(np.argmax(outside))
            source, target = lengths[link]
            raise NormalignError.at(
                self.lines.name,
                int(block.lines[link]),
                f"link {block.source[link]}-{block.target[link]} is outside the {source} words of its S- line and the "
                f"{target} of its H- line: fairseq's A- lines count pieces even when --post-process joins them",
            )
        return block


def _hard(text: str, sources: int, targets: int, name: str, number: int) -> str:
    """Return the links ``i-j`` of a soft alignment: a row per target word, its numbers separated by commas.

    fairseq has one row and one column more, of the ends of the sentences, which are left out.
    """
    unknown = np.iinfo(np.int64).max
    if unknown in (sources, targets):
        message = "a soft alignment is read beside its S- and H- lines, which say how many words there are"
        raise NormalignError.at(name, number, message)
    try:
        rows = np.array([row.split(",") for row in words_of(text)], dtype=np.float64)
    except ValueError:
        rows = np.zeros(0)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise NormalignError.at(
            name, number, f"'{text[:60]}' is not a soft alignment: rows of numbers as 0.9,0.1 0.2,0.8"
        )
    if rows.shape[0] - targets not in (0, 1) or rows.shape[1] - sources not in (0, 1):
        raise NormalignError.at(
            name,
            number,
            f"a soft alignment of {rows.shape[0]} target by {rows.shape[1]} source words, but the H- line has "
            f"{targets} and the S- line {sources}: fairseq's A- lines count pieces even when --post-process joins them",
        )
    links = links_of_sources(best_sources(rows[:targets, :sources]))
    return " ".join(f"{source}-{target}" for source, target in links)


def check_density(name: str, sentences: int, highest: int) -> None:
    """Refuse ids that would make nearly all sentences empty: one wrong id must not fill a disk."""
    if highest > 1000 + 100 * sentences:
        raise NormalignError(f"{name}: {sentences} sentences, but ids up to {highest}; are they line numbers?")

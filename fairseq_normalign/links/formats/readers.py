"""The readers of every format: a line per sentence, or sentences with ids, and how each format is recognised.

All of them give sentences with the indices of the file; :mod:`.files` makes these 0-based and source first.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ...errors import NormalignError
from ...files import decode_line, words_of
from ..decide import best_sources, links_of_sources
from .blocks import Block, ByteLines
from .json_lines import AlignedPair, from_json

FileLink = tuple[int, int, bool]
"""Source, target, sure; counted as in the file."""

_NEWLINE, _RETURN, _SPACE, _TAB, _HYPHEN = b"\n\r \t-"
_POSSIBLE = ord("p")
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_LINK = re.compile(
    r"(?P<source>[0-9]{1,18}|NULL)(?P<mark>[-p?])(?P<target>[0-9]{1,18}|NULL)"
    rf"(?:-?(?P<kind>[SP])|(?::{_NUMBER}){{1,2}})?"
)


def links_of_line(line: str, name: str, number: int) -> list[FileLink]:
    """Return the links of a line of words ``i-j`` and ``ipj``, and of the ways in which other tools write them.

    Possible: ``ipj``, ``i?j`` (the assignments of clab), ``i-j-P`` (the Berkeley Aligner) and ``i-jP``; with ``S`` a
    link is sure. Behind ``i-j`` may stand one or two scores (machine.py). ``NULL`` is no word: such a link is left out.
    fast_align's ``||| score`` may follow.

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
    separators_expected = int(np.count_nonzero(sizes)) // 2
    white = len(newlines) + np.count_nonzero(found == _SPACE)
    if white != len(found) - separators_expected:
        returns = others[found == _RETURN]
        white += np.count_nonzero(found == _TAB) + np.count_nonzero(letters[returns + 1] == _NEWLINE)
    if white != len(found) - separators_expected:
        return None

    if not sizes.all():
        ends_number = sizes > 0
        others, found, sizes = others[ends_number], found[ends_number], sizes[ends_number]
    longest = int(sizes.max(initial=1))
    if len(others) % 2 or longest > 9:
        return None
    separators, link_ends = found[::2], others[1::2]
    sure = separators == _HYPHEN
    joined = (link_ends - sizes[1::2] == others[::2] + 1).all() and (sure | (separators == _POSSIBLE)).all()
    if not joined or (found[1::2] > _SPACE).any():
        return None

    numbers: np.ndarray = letters[others - 1].astype(np.int32) - ord("0")
    if longest > 1:  # most numbers have one digit or two: no need to pick those that have the second
        numbers += np.where(sizes > 1, letters[others - 2] - np.uint8(ord("0")), np.uint8(0)) * np.int32(10)
    for place in range(2, longest):
        longer = np.flatnonzero(sizes > place)
        numbers[longer] += (letters[others[longer] - place - 1].astype(np.int32) - ord("0")) * 10**place
    per_line = np.diff(np.searchsorted(link_ends, newlines, side="right"), prepend=0)
    sentence = np.repeat(np.arange(len(newlines), dtype=np.int32), per_line)
    return Block(len(lines), sentence, numbers[::2], numbers[1::2], sure)


# -- a sentence per line ----------------------------------------------------------------------------------------------


class LineReader:
    """Reads a format with a sentence per line; here lines of ``i-j`` and ``ipj`` (talp)."""

    plain = True
    """Whether lines may be parsed all at once."""
    all_sure = False
    """Whether a link that is only possible is an error."""

    def __init__(self, lines: ByteLines) -> None:
        self.lines = lines
        self.rest, self.count_ahead = lines.rest, lines.count_ahead
        self.numbers: np.ndarray | None = None
        """The line number of each sentence, where that is not its position."""

    def take(self, count: int) -> Block:
        """Return the next sentences with the indices of the file; fewer than ``count`` at the end."""
        first = self.lines.taken
        lines = self.lines.take(count)
        numbers = np.arange(first, first + len(lines)) + 1
        if self.numbers is not None:
            numbers = self.numbers[first : first + len(lines)]
        block = parse_plainly(lines) if self.plain else None
        if block is None:
            numbered = zip(lines, numbers.tolist(), strict=True)
            block = Block.of(
                [self.links(decode_line(raw, self.lines.name, number), number) for raw, number in numbered]
            )
        of_links = numbers[block.sentence]
        if self.all_sure and not block.sure.all():
            link = int(np.argmin(block.sure))
            message = f"'{block.source[link]}p{block.target[link]}' is talp's; Pharaoh has only i-j"
            raise NormalignError.at(self.lines.name, int(of_links[link]), message)
        return replace(block, lines=of_links)

    def links(self, line: str, number: int) -> list[FileLink]:
        """Return the links of a line."""
        return links_of_line(line, self.lines.name, number)


class PharaohReader(LineReader):
    """Lines of links ``i-j``, none of which is only possible."""

    all_sure = True


class TsinghuaReader(LineReader):
    """Lines of links ``i:j/1`` or ``i:j`` (sure) and ``i:j/0`` (possible), as TsinghuaAligner's waEval reads them."""

    plain = False

    def links(self, line: str, number: int) -> list[FileLink]:
        """Return the links of a line."""
        found = []
        for word in words_of(line):
            match = re.fullmatch(r"([0-9]{1,18}):([0-9]{1,18})(?:/([01]))?", word)
            if not match:
                message = f"'{word}' is neither i:j/1 (sure) nor i:j/0 (possible)"
                raise NormalignError.at(self.lines.name, number, message)
            found.append((int(match[1]), int(match[2]), match[3] != "0"))
        return found


class JsonLines(LineReader):
    """JSON lines; ``pairs`` are those of the lines that were taken last."""

    plain = False
    pairs: list[AlignedPair]

    def take(self, count: int) -> Block:
        """Return the next sentences; fewer than ``count`` at the end."""
        self.pairs = []
        return super().take(count)

    def links(self, line: str, number: int) -> list[FileLink]:
        """Return the links of a line."""
        self.pairs.append(from_json(line, f"{self.lines.name}:{number}"))
        return list(self.pairs[-1].links)


_UNKNOWN = np.iinfo(np.int64).max
"""How many words a sentence has where the log does not say it."""


@dataclass
class _Logged:
    """What the log says of one id: its source words, and the words and the alignment of each hypothesis."""

    source: int = _UNKNOWN
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
        sentences: dict[int, _Logged] = {}
        for number, line in lines.numbered(re.compile(rb"([SHA])-([0-9]{1,9})\t")):
            head, _, rest = line.partition("\t")
            sentence = sentences.setdefault(int(head[2:]), _Logged())
            if head[0] == "A":
                sentence.alignments.append((number, rest))
            elif head[0] == "S":
                sentence.source = len(words_of(rest))
            else:
                sentence.targets.append(len(words_of(rest.partition("\t")[2])))
        if not any(sentence.alignments for sentence in sentences.values()):
            raise NormalignError(f"{lines.name}: no A- lines; was fairseq-generate run with --print-alignment?")
        last = max(sentences)
        _check_density(lines.name, len(sentences), last)
        ordered = [sentences.get(number, _Logged()) for number in range(last + 1)]
        missing = [number for number, sentence in enumerate(ordered) if len(sentence.alignments) < nth]
        if missing and not allow_missing:
            shown = ", ".join(map(str, missing[:3])) + ", ..." * (len(missing) > 3)
            listed = f"sentence {shown}" if len(missing) == 1 else f"{len(missing)} sentences ({shown})"
            message = f"{lines.name}: no alignment number {nth} for {listed}"
            raise NormalignError(message + (f"; {hint}" if hint else ""))

        texts, numbers, lengths = [], [], []
        for sentence in ordered:
            number, text = sentence.alignments[nth - 1] if len(sentence.alignments) >= nth else (0, "")
            sizes = sentence.source, sentence.targets[nth - 1] if len(sentence.targets) >= nth else _UNKNOWN
            if re.fullmatch(r"\S*[.,]\S*", text.partition(" ")[0]):
                text = _hard(text, *sizes, lines.name, number)
            texts.append(f"{text}\n")
            numbers.append(number)
            lengths.append(sizes)
        super().__init__(ByteLines(lines.name, io.BytesIO("".join(texts).encode())))
        self.numbers = np.asarray(numbers, dtype=np.int64)
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
    if _UNKNOWN in (sources, targets):
        message = "a soft alignment is read beside its S- and H- lines, which say how many words there are"
        raise NormalignError.at(name, number, message)
    try:
        rows = np.array([row.split(",") for row in words_of(text)], dtype=np.float64)
    except ValueError:
        rows = np.zeros(0)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        message = f"'{text[:60]}' is not a soft alignment: rows of numbers as 0.9,0.1 0.2,0.8"
        raise NormalignError.at(name, number, message)
    if rows.shape[0] - targets not in (0, 1) or rows.shape[1] - sources not in (0, 1):
        raise NormalignError.at(
            name,
            number,
            f"a soft alignment of {rows.shape[0]} target by {rows.shape[1]} source words, but the H- line has "
            f"{targets} and the S- line {sources}: fairseq's A- lines count pieces even when --post-process joins them",
        )
    links = links_of_sources(best_sources(rows[:targets, :sources]))
    return " ".join(f"{source}-{target}" for source, target in links)


def _check_density(name: str, sentences: int, highest: int) -> None:
    """Refuse ids that would make nearly all sentences empty: one wrong id must not fill a disk."""
    if highest > 1000 + 100 * sentences:
        raise NormalignError(f"{name}: {sentences} sentences, but ids up to {highest}; are they line numbers?")


# -- sentences with ids, in any order, some left out: such a file is read whole ----------------------------------------

Row = tuple[int, int, int, int, bool]  # id, line, source, target, sure
_INDEX = re.compile(r"[0-9]{1,9}")


class IdSentences:
    """Sentences with ids, to be placed among ``count`` sentences before they are taken in order."""

    def __init__(self, name: str, rows: list[Row], ids: set[int]) -> None:
        self.name = name
        self.ids = np.asarray(sorted(ids), dtype=np.int64)
        self.count = 0
        self.by_rank = False
        self._table = np.asarray(rows, dtype=np.int64).reshape(-1, 5)
        self._taken = 0

    def place_at(self, universe: np.ndarray, count: int) -> None:
        """Put the sentence of id ``universe[k]`` at position ``k``; ``universe`` is sorted and holds every id."""
        position = np.searchsorted(universe, self._table[:, 0])
        order = np.argsort(position, kind="stable")
        self._position, self._table = position[order], self._table[order]
        self.count = count

    def place(self, count: int | None, *, may_end_early: bool, counted: str) -> None:
        """Find positions for the ids among ``count`` sentences (``counted`` says where that number comes from).

        Ids 1..count are line numbers, ids 0..count-1 positions; when there are exactly ``count`` ids, whatever they
        are, they are taken in their order. ``may_end_early``: the last sentences may have no links.
        """
        low, high = (int(self.ids[0]), int(self.ids[-1])) if len(self.ids) else (1, count or 1)
        first = 0 if low == 0 else 1
        if count is None:
            count = high - first + 1
            _check_density(self.name, len(self.ids), high)
        if high - first < count and (may_end_early or high - first == count - 1):
            self.place_at(np.arange(first, first + count), count)
        elif len(self.ids) == count:
            self.by_rank = True
            self.place_at(self.ids, count)
        else:
            raise NormalignError(
                f"{self.name}: {len(self.ids)} sentences with ids {low} to {high}, but {counted} has {count}; "
                "which are meant? Give the source or the target text of the same sentences"
            )

    def take(self, count: int) -> Block:
        """Return the next sentences with the indices of the file; fewer than ``count`` at the end."""
        count = min(count, self.count - self._taken)
        start, stop = np.searchsorted(self._position, [self._taken, self._taken + count])
        _, lines, source, target, sure = self._table[start:stop].T
        block = Block(count, self._position[start:stop] - self._taken, source, target, sure.astype(bool), lines)
        self._taken += count
        return block

    def rest(self) -> int:
        """Return how many sentences are left, and skip them."""
        left, self._taken = self.count - self._taken, self.count
        return left


def read_naacl(lines: ByteLines, *, base: int | None = None, how_to_say: str = "the base") -> IdSentences:
    """Read ``id source target [S|P] [confidence]``, one link per line; no mark means sure.

    Indices count from 1 and 0 is NULL, a link to no word, which is left out; with ``base`` 0 a 0 is the first word.
    ``how_to_say``: how the base is chosen, for a message.
    """
    pattern = re.compile(rf"([0-9]{{1,9}}) +([0-9]{{1,9}}) +([0-9]{{1,9}})(?: +([SPsp]))?(?: +{_NUMBER})?")
    rows: list[Row] = []
    ids: set[int] = set()
    for number, line in lines.numbered():
        text = line.replace("\t", " ").strip(" ")
        match = pattern.fullmatch(text)
        if not match:
            if not text:
                continue
            allowed = "'id source target', then S or P and a confidence if wanted"
            raise NormalignError.at(lines.name, number, f"'{line}' is not {allowed}")
        sentence, source, target = map(int, match.groups()[:3])
        ids.add(sentence)
        if base != 0 and not (source and target):
            if base is None and source == target == 0:
                message = f"a link 0 0: does the file count words from 0? Say {how_to_say}"
                raise NormalignError.at(lines.name, number, message)
            continue
        rows.append((sentence, number, source, target, match[4] not in ("P", "p")))
    return IdSentences(lines.name, rows, ids)


def _read_rwth(lines: ByteLines) -> IdSentences:
    """Read ``SENT: id`` heads, each followed by its links ``S source target`` or ``P source target``."""
    rows: list[Row] = []
    ids: set[int] = set()
    current: int | None = None
    for number, line in lines.numbered():
        words = words_of(line)
        if head := re.fullmatch(r"SENT:[ \t]*([0-9]{1,9})[ \t]*", line):
            current = _new_id(int(head[1]), ids, lines.name, number)
        elif words:
            if len(words) != 3 or words[0] not in ("S", "P") or not all(map(_INDEX.fullmatch, words[1:])):
                raise NormalignError.at(lines.name, number, f"'{line}' is neither 'SENT: id' nor 'S i j' nor 'P i j'")
            if current is None:
                raise NormalignError.at(lines.name, number, "a link before the first 'SENT: id'")
            rows.append((current, number, int(words[1]), int(words[2]), words[0] == "S"))
    return IdSentences(lines.name, rows, ids)


def _read_ids(lines: ByteLines) -> IdSentences:
    """Read ``id``, a tab, and the links of the sentence, as SimAlign's files have it."""
    rows: list[Row] = []
    ids: set[int] = set()
    for number, line in lines.numbered():
        id, tab, links = line.partition("\t")
        if not tab or not _INDEX.fullmatch(id):
            raise NormalignError.at(lines.name, number, f"'{line[:60]}' is not an id, a tab and links i-j or ipj")
        _new_id(int(id), ids, lines.name, number)
        rows += [(int(id), number, *link) for link in links_of_line(links, lines.name, number)]
    return IdSentences(lines.name, rows, ids)


def _new_id(id: int, ids: set[int], name: str, number: int) -> int:
    if id in ids:
        raise NormalignError.at(name, number, f"sentence {id} is there twice")
    ids.add(id)
    return id


def read_giza(lines: ByteLines) -> IdSentences:
    """Read an A3 file of GIZA++ or mgiza: for each pair its number, the second side, and the first with its links.

    Of ``NULL ({ 3 }) das ({ 1 2 })`` the groups count the words of the second side; those of NULL have no link.
    """
    rows: dict[int, list[Row]] = {}
    text = lines.numbered()
    for number, line in text:
        head = re.match(r"# [Ss]entence pair \(([0-9]{1,9})\)", line)
        if not head:
            raise NormalignError.at(lines.name, number, f"'{line[:60]}' is not '# Sentence pair (number)'")
        next(text, None)
        number, aligned = next(text, (number, ""))
        if not aligned.startswith("NULL ({"):
            message = f"'{aligned[:60]}' is not 'NULL ({{ }}) word ({{ 1 }}) ...', the line of the links"
            raise NormalignError.at(lines.name, number, message)
        id = int(head[1])
        rows[id] = []  # mgiza may write a pair twice
        for source, group in enumerate(re.findall(r"\(\{((?: [0-9]{1,9})*) +\}\)", aligned)):
            rows[id] += [(id, number, source, int(target), True) for target in group.split() if source]
    return IdSentences(lines.name, list(itertools.chain.from_iterable(rows.values())), set(rows))


def _read_czenali(lines: ByteLines) -> IdSentences:
    """Read the XML of the Czech-English Manual Word Alignment, English first: ``<sure>`` and ``<possible>`` links."""
    rows: list[Row] = []
    sentence = 0
    for number, line in lines.numbered():
        sentence += len(re.findall(r"<s[ >]", line))
        elements = re.findall(r"<(sure|possible)>([^<]*)</\1>", line)
        if len(elements) != len(re.findall(r"<(?:sure|possible)>", line)):
            raise NormalignError.at(lines.name, number, "<sure> or <possible> does not end on the line where it begins")
        for kind, links in elements:
            if not sentence:
                raise NormalignError.at(lines.name, number, f"<{kind}> before the first <s>")
            found = links_of_line(links, lines.name, number)
            rows += [(sentence, number, source, target, kind == "sure") for source, target, _ in found]
    if not sentence:
        raise NormalignError(f"{lines.name}: there is no <s> with <sure> and <possible> links")
    return IdSentences(lines.name, rows, set(range(1, sentence + 1)))


# -- the table of formats ---------------------------------------------------------------------------------------------


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Return the line of a sentence's links (source, target) in Pharaoh format, without a line end.

    >>> pharaoh([(0, 0), (1, 2)])
    '0-0 1-2'
    """
    return " ".join(f"{source}-{target}" for source, target in links)


def _talp(links: list[FileLink]) -> str:
    return " ".join(f"{source}{'-' if sure else 'p'}{target}" for source, target, sure in links)


class Format(NamedTuple):
    """How a format is recognised and read."""

    sign: bytes
    """A pattern of what a line of it begins with."""
    read: Callable[[ByteLines], LineReader | IdSentences]
    base: int | None = None
    """What its first word is counted as; None: what the file or the caller says."""
    turned: bool | None = None
    """Whether the target comes first; None: what the file or the caller says."""


FORMATS = {
    "pharaoh": Format(rb"([0-9]+|NULL)[-p?]([0-9]+|NULL)(-?[SP]|:[0-9]|[ \t]|$)", PharaohReader),
    "talp": Format(rb"(?!)", LineReader),  # recognised as pharaoh: the first possible link shows it
    "ids": Format(rb"[0-9]+\t([0-9]+|NULL)[-p?]([0-9]|NULL)", _read_ids),
    "tsinghua": Format(rb"[0-9]+:[0-9]+(/[01])?([ \t]|$)", TsinghuaReader, base=1),
    "naacl": Format(rb"[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+[ \t]*([SPsp]\b|[ \t][0-9.]|$)", read_naacl, base=1),
    "rwth": Format(rb"SENT:", _read_rwth),
    "giza": Format(rb"# [Ss]entence pair \(", read_giza, base=1),
    "czenali": Format(rb"[ \t]*<(s[ >]|sure>|possible>)", _read_czenali, base=1),
    "fairseq": Format(rb"[SHAPTD]-[0-9]+\t", GenerateLog, base=0),
    "jsonl": Format(rb"\{", JsonLines, base=0, turned=False),
}


class WrittenFormat(NamedTuple):
    """How a format is written."""

    text: Callable[[int, list[FileLink]], str]
    """The lines of a sentence, from its id and its links as the file counts them."""
    base: int = 0
    """What the first word is counted as, unless something else is asked for."""
    first_id: int = 0
    has_marks: bool = True
    """Whether it can say that a link is only possible."""


WRITERS = {
    "pharaoh": WrittenFormat(lambda id, links: pharaoh(link[:2] for link in links) + "\n", 0, 1, has_marks=False),
    "talp": WrittenFormat(lambda id, links: _talp(links) + "\n", 1, 1),
    "ids": WrittenFormat(lambda id, links: f"{id}\t{_talp(links)}\n"),
    "tsinghua": WrittenFormat(lambda id, links: " ".join(f"{s}:{t}/{+sure}" for s, t, sure in links) + "\n", 1, 1),
    "naacl": WrittenFormat(lambda id, links: "".join(f"{id:04d} {s} {t} {'PS'[sure]}\n" for s, t, sure in links), 1, 1),
    "rwth": WrittenFormat(
        lambda id, links: "".join([f"SENT: {id}\n", *(f"{'PS'[x]} {s} {t}\n" for s, t, x in links)]), 1, 1
    ),
    "fairseq": WrittenFormat(lambda id, links: f"A-{id}\t{pharaoh(link[:2] for link in links)}\n", has_marks=False),
}

"""The output of fairseq-generate: ``A-<id>`` lines among others, ids in any order, several per sentence with n-best."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field

import numpy as np

from ...errors import NormalignError
from ...files import decode_line, words_of
from .blocks import Block
from .ids import check_density
from .link_lines import ByteLines, LinkLines

_RECORD = re.compile(rb"([SHA])-([0-9]{1,9})\t")
_SOFT = re.compile(r"\S*[.,]\S*")
_READ = 1 << 16


@dataclass
class _Sentence:
    """The entries of one id: its source words, and the words and the alignment of each hypothesis."""

    source: int | None = None
    targets: list[int] = field(default_factory=list)
    alignments: list[tuple[int, bytes]] = field(default_factory=list)


class GenerateLog:
    """The alignments of a log in the order of their ids, the ``nth`` (1: the best) hypothesis of each."""

    def __init__(self, lines: ByteLines, *, nth: int = 1, allow_missing: bool = False, hint: str = "") -> None:
        """``hint`` ends the message about missing sentences."""
        self.name = lines.name
        self.allow_missing = allow_missing
        sentences = _collect(lines)
        if not any(sentence.alignments for sentence in sentences.values()):
            raise NormalignError(f"{self.name}: no A- lines; was fairseq-generate run with --print-alignment?")
        self._last = max(sentences)
        check_density(self.name, len(sentences), self._last)
        self.missing = [
            number for number in range(self._last + 1) if len(sentences.get(number, _Sentence()).alignments) < nth
        ]
        if self.missing and not allow_missing:
            what = f"no alignment number {nth} for {_listed(self.missing)}"
            raise NormalignError(f"{self.name}: {what}" + (f"; {hint}" if hint else ""))
        present = [sentences.get(number, _Sentence()) for number in range(self._last + 1)]
        chosen = [item.alignments[nth - 1] if len(item.alignments) >= nth else (0, b"\n") for item in present]
        text = io.BytesIO(b"".join(line for _, line in chosen))
        numbers = np.asarray([number for number, _ in chosen], dtype=np.int64)
        self._links = LinkLines(ByteLines(self.name, text), talp=False, line_numbers=numbers)
        self._lengths = np.asarray([_lengths_of(item, nth) for item in present], dtype=np.int64)
        self._taken = 0

    def take(self, count: int) -> Block:
        """Return the next sentences; fewer than ``count`` at the end."""
        block = self._links.take(count)
        self._check_lengths(block)
        self._taken += block.count
        return block

    def rest(self) -> int:
        """Return how many sentences are left, and skip them."""
        return self._links.rest()

    def count_ahead(self) -> int:
        """Return how many sentences are left; they can still be taken."""
        return self._links.count_ahead()

    def _check_lengths(self, block: Block) -> None:
        lengths = self._lengths[self._taken : self._taken + block.count]
        outside = (block.source >= lengths[block.sentence, 0]) | (block.target >= lengths[block.sentence, 1])
        if outside.any():
            link = int(np.argmax(outside))
            source, target = lengths[block.sentence[link]]
            raise NormalignError.at(
                self.name,
                block.line_of(link),
                f"link {block.source[link]}-{block.target[link]} is outside the {source} words of its S- line and the "
                f"{target} of its H- line: fairseq's A- lines count pieces even when --post-process joins them",
            )


def _collect(lines: ByteLines) -> dict[int, _Sentence]:
    sentences: dict[int, _Sentence] = {}
    while taken := lines.take(_READ):
        first = lines.taken - len(taken) + 1
        for number, raw in enumerate(taken, start=first):
            if match := _RECORD.match(raw):
                sentence = sentences.setdefault(int(match[2]), _Sentence())
                _note(sentence, match[1], raw[match.end() :], lines.name, number)
    return sentences


def _note(sentence: _Sentence, kind: bytes, rest: bytes, name: str, number: int) -> None:
    if kind == b"A":
        text = decode_line(rest, name, number)
        first = next(iter(words_of(text)), "")
        if _SOFT.fullmatch(first):
            raise NormalignError.at(name, number, f"'{first}' is a soft alignment; --print-alignment hard writes i-j")
        sentence.alignments.append((number, rest if rest.endswith(b"\n") else rest + b"\n"))
    elif kind == b"S":
        sentence.source = len(words_of(decode_line(rest, name, number)))
    else:
        _, _, text = decode_line(rest, name, number).partition("\t")
        sentence.targets.append(len(words_of(text)))


def _lengths_of(sentence: _Sentence, nth: int) -> tuple[int, int]:
    """Return the number of words of source and hypothesis; the largest integer where the log does not say."""
    unknown = np.iinfo(np.int64).max
    target = sentence.targets[nth - 1] if len(sentence.targets) >= nth else unknown
    return (unknown if sentence.source is None else sentence.source), target


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:3]))
    return (
        f"sentence {shown}"
        if len(numbers) == 1
        else f"{len(numbers)} sentences ({shown}{', ...' * (len(numbers) > 3)})"
    )

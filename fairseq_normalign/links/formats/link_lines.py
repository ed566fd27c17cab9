"""Lines of links, ``i-j`` and ``ipj``: many lines at once where they are plain, one by one where they are not."""

from __future__ import annotations

import io
import itertools
import re
from typing import BinaryIO

import numpy as np

from ...errors import NormalignError
from ...files import decode_line, display_name, words_of
from .blocks import Block

_NEWLINE, _RETURN, _SPACE, _TAB, _HYPHEN = b"\n\r \t-"
_POSSIBLE = ord("p")
_LINK = re.compile(r"([0-9]{1,18})([-p])([0-9]{1,18})")
_MARK = b"\xef\xbb\xbf"


class ByteLines:
    """The raw lines of a file in order, with a look ahead. A byte-order mark at the start is dropped."""

    def __init__(self, path: str, handle: BinaryIO) -> None:
        self.name = display_name(path)
        self.taken = 0
        self._handle = handle
        self._ahead: list[bytes] = []
        first = self.peek(1)
        if first and first[0].startswith(_MARK):
            self._ahead[0] = first[0][len(_MARK) :]

    def peek(self, count: int) -> list[bytes]:
        """Return up to ``count`` lines, which :meth:`take` will return next."""
        if len(self._ahead) < count:
            self._ahead.extend(itertools.islice(self._handle, count - len(self._ahead)))
        return self._ahead[:count]

    def take(self, count: int) -> list[bytes]:
        """Return the next lines, fewer than ``count`` at the end."""
        lines, self._ahead = self._ahead[:count], self._ahead[count:]
        if len(lines) < count:
            lines.extend(itertools.islice(self._handle, count - len(lines)))
        self.taken += len(lines)
        return lines

    def rest(self) -> int:
        """Return how many lines are left, and skip them."""
        count = 0
        while lines := self.take(1 << 16):
            count += len(lines)
        return count

    def count_ahead(self) -> int:
        """Return how many lines are left; they can still be taken."""
        if self._handle.seekable():
            here = self._handle.tell()
            count = len(self._ahead) + sum(1 for _ in self._handle)
            self._handle.seek(here)
            return count
        text = self._handle.read()
        self._handle = io.BytesIO(text)
        return len(self._ahead) + text.count(b"\n") + (bool(text) and not text.endswith(b"\n"))


class LinkLines:
    """Sentences of a Pharaoh or talp file."""

    def __init__(self, lines: ByteLines, *, talp: bool = True, line_numbers: np.ndarray | None = None) -> None:
        self._lines = lines
        self._talp = talp
        self._line_numbers = line_numbers

    def take(self, count: int) -> Block:
        """Return the next sentences with the indices of the file; fewer than ``count`` at the end."""
        first = self._lines.taken
        lines = self._lines.take(count)
        block = parse_plainly(lines) or self._parse_carefully(lines, first)
        numbers = None if self._line_numbers is None else self._line_numbers[first : first + len(lines)]
        block = Block(block.count, block.sentence, block.source, block.target, block.sure, first + 1, numbers)
        if not self._talp and not block.sure.all():
            link = int(np.argmin(block.sure))
            found = f"{block.source[link]}p{block.target[link]}"
            raise NormalignError.at(self._lines.name, block.line_of(link), f"'{found}' is talp's; Pharaoh has only i-j")
        return block

    def rest(self) -> int:
        """Return how many sentences are left, and skip them."""
        return self._lines.rest()

    def count_ahead(self) -> int:
        """Return how many sentences are left; they can still be taken."""
        return self._lines.count_ahead()

    def _parse_carefully(self, lines: list[bytes], first: int) -> Block:
        rows: list[tuple[int, int, int, bool]] = []
        for position, raw in enumerate(lines):
            number = first + position + 1 if self._line_numbers is None else int(self._line_numbers[first + position])
            for word in words_of(decode_line(raw, self._lines.name, number)):
                match = _LINK.fullmatch(word)
                if not match:
                    raise NormalignError.at(
                        self._lines.name, number, f"'{word}' is neither i-j (sure) nor ipj (possible)"
                    )
                rows.append((position, int(match[1]), int(match[3]), match[2] == "-"))
        table = np.asarray(rows, dtype=np.int64).reshape(-1, 4)
        return Block(len(lines), table[:, 0], table[:, 1], table[:, 2], table[:, 3].astype(bool))


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

"""Reading lines and writing files so that nothing is split by surprise and nothing is left half-written."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from .errors import NormalignError, reason_of
from .packed import unpacked

STDIO = "-"

# -- reading ----------------------------------------------------------------------------------------------------------


def read_lines(path: str | Path) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file (``-``: standard input) without their line ends.

    Lines end at ``\n`` alone: U+2028, U+0085 and a bare CR stay inside their line. One ``\r`` before the end
    (a file from Windows) and a byte-order mark at the start are dropped. Packed files are unpacked.
    """
    with open_input(path) as handle:
        for number, raw in enumerate(handle, start=1):
            if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                raw = raw[3:]
            yield decode_line(raw, path, number)


def read_parallel(source: str | Path, target: str | Path) -> Iterator[tuple[str, str]]:
    """Yield the sentence pairs of two files of lines; an end of one file before the other is an error."""
    lines = itertools.zip_longest(read_lines(source), read_lines(target))
    for number, (one, other) in enumerate(lines):
        if one is None or other is None:
            longer, shorter = (target, source) if one is None else (source, target)
            raise line_without_partner(longer, shorter, number)
        yield one, other


SEPARATORS = (" ||| ", "\t")


def split_pair(line: str, place: Callable[[], str]) -> tuple[str, str]:
    """Source and target of a line that holds both, with `` ||| `` or one tab between; ``place`` is for the message.

    >>> split_pair("das Haus ||| the house", lambda: "line 1")
    ('das Haus', 'the house')
    """
    for separator in SEPARATORS:
        if line.count(separator) == 1:
            source, target = line.split(separator)
            return source, target
    if line.startswith("||| ") or line.endswith(" |||"):
        source, _, target = line.partition("|||")
        return source.strip(" "), target.strip(" ")
    shown = ascii(line[:60])
    raise NormalignError(f"{place()}: {shown} is not source and target with one ' ||| ' or one tab between")


def read_bitext(path: str | Path) -> Iterator[tuple[str, str]]:
    """The pairs of a file that holds both sides on each line."""
    for number, line in enumerate(read_lines(path), start=1):
        yield split_pair(line, lambda number=number: f"{display_name(path)}:{number}")  # type: ignore[misc]


def line_without_partner(longer: str | Path, shorter: str | Path, count: int) -> NormalignError:
    """The error of two files that should be parallel, where ``shorter`` ends after ``count`` lines."""
    message = f"no line of {display_name(shorter)} to go with it; that file has {count} lines; they must be parallel"
    return NormalignError.at(display_name(longer), count + 1, message)


def decode_line(raw: bytes, path: str | Path, number: int) -> str:
    """One line of a file as text, without its line end; ``number`` (1-based) is for the message when it is not text."""
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        found = raw[error.start : error.start + 1].hex()
        raise NormalignError.at(
            display_name(path), number, f"byte 0x{found} at column {error.start + 1} is not UTF-8 text"
        ) from None
    if "\0" in line:
        raise NormalignError.at(display_name(path), number, "a NUL byte; is this a text file?")
    return line


def words_of(line: str) -> list[str]:
    """The words of a line: separated by ASCII spaces and tabs, and by nothing else (NBSP is part of a word)."""
    return [word for word in line.replace("\t", " ").split(" ") if word]


def display_name(path: str | Path) -> str:
    """The name of an input as a person should read it in a message."""
    return "<stdin>" if str(path) == STDIO else str(path)


@contextlib.contextmanager
def open_input(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file (``-``: standard input) for reading bytes; a missing or unreadable one is a clear error.

    What is packed by gzip, xz or zstd is unpacked while it is read.
    """
    if str(path) == STDIO:
        yield unpacked(sys.stdin.buffer, display_name(path))
        return
    try:
        handle = open(path, "rb")
    except OSError as error:
        raise NormalignError(f"{path}: {reason_of(error)}") from None
    with handle:
        try:
            yield unpacked(handle, str(path))
        except OSError as error:
            if error.errno in OF_OUTPUT:  # what is done with the lines may end so; it is not the input's fault
                raise
            raise NormalignError(f"{path}: {reason_of(error)}") from None


OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_regular(path: str | Path) -> None:
    """Refuse a pipe or device in the place of a file: opening it could wait forever."""
    if os.path.exists(path) and not os.path.isfile(path):
        what = "a directory" if os.path.isdir(path) else "a pipe or a device"
        raise NormalignError(f"{path}: is {what}; a file is needed")


# -- writing ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_output(path: str | Path) -> Iterator[TextIO]:
    """Open a text file (``-``: standard output) that appears at its place whole, or not at all."""
    if is_stdout(path):
        yield sys.stdout
        sys.stdout.flush()
        return
    with _opened(path, "w") as handle:
        yield handle


@contextlib.contextmanager
def open_binary_output(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for bytes; the rest as in :func:`open_output`."""
    if is_stdout(path):
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    with _opened(path, "wb") as handle:
        yield handle


def is_stdout(path: str | Path) -> bool:
    """Whether output at ``path`` goes to standard output: ``-``, ``/dev/stdout`` and links to it."""
    return str(path) == STDIO or _descriptor(path) == 1


def is_stream(path: str | Path) -> bool:
    """Whether output at ``path`` goes to a terminal, pipe or device, where nothing can be put in place by renaming."""
    place = os.path.realpath(path)
    return str(path) == STDIO or _descriptor(path) is not None or (os.path.exists(place) and not os.path.isfile(place))


def output_place(path: str | Path) -> Path:
    """The file that output at ``path`` ends in: ``path`` with symbolic links followed.

    A place that could not be written is a clear error now, before any work is done.
    """
    if not str(path):
        raise NormalignError(NAMELESS)
    if _descriptor(path) is not None:
        return Path(path)
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise NormalignError(f"{path}: is a directory")
    if place.is_symlink():
        raise NormalignError(f"{path}: a symbolic link that leads back to itself")
    if place.exists() and not place.is_file():
        if not os.access(place, os.W_OK):
            raise NormalignError(f"{path}: cannot be written to")
        return place
    check_parent(path, place.parent)
    return place


def check_writable(path: str | Path) -> None:
    """Fail now, with a clear line, when a file could not be written at ``path`` later."""
    output_place(path)


NAMELESS = "an output needs a name; '' is none"
PARTS = ("", ".parts")
"""Endings of what a job writes for one output: the file, and the folder with its finished parts."""


def check_distinct(outputs: Iterable[str | Path], inputs: Iterable[str | Path] = ()) -> None:
    """Refuse two outputs at one place, and an output (or the ``.parts`` beside it) that would replace an input."""
    taken: dict[Path, str | Path] = {}
    for path in outputs:
        if not str(path):
            raise NormalignError(NAMELESS)
        if is_stream(path):
            continue
        place = Path(os.path.realpath(path))
        if place in taken:
            raise NormalignError(f"two outputs to the same file: {taken[place]}, {path}")
        taken[place] = path
    beside = {Path(f"{place}{ending}"): path for place, path in taken.items() for ending in PARTS}
    for path in inputs:
        place = Path(os.path.realpath(path))
        written = beside.get(place) or next((beside[one] for one in beside if _same_file(one, place)), None)
        if written is not None:
            raise NormalignError(f"{path}: is read, and writing {written} would replace it; write to another file")


def _same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same file, also under two names."""
    with contextlib.suppress(OSError):
        return os.path.samefile(one, other)
    return False


def _descriptor(path: str | Path) -> int | None:
    """The number of the open file that a name like /dev/stdout or /dev/fd/3 stands for, or None."""
    name = os.path.abspath(path)
    for _ in range(40):
        found = re.fullmatch(r"/(?:dev|proc/self)/fd/([0-9]{1,9})", name)
        if found:
            return int(found[1])
        if not os.path.islink(name):
            return None
        name = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(name)))
    return None


def check_parent(path: str | Path, parent: Path) -> None:
    """Raise an error when nothing can be written into the directory ``parent`` of ``path``."""
    if not parent.is_dir():
        raise NormalignError(f"{path}: there is no directory {parent}")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise NormalignError(f"{path}: the directory {parent} cannot be written to")


@contextlib.contextmanager
def _opened(path: str | Path, mode: str) -> Iterator[Any]:
    """A file to write; an operating-system error is one line that names it."""
    place = output_place(path)
    try:
        with _straight(path, mode) if is_stream(path) else _replacing(place, mode) as handle:
            yield handle
    except BrokenPipeError:
        raise
    except OSError as error:
        raise NormalignError(f"{path}: {reason_of(error)}") from None


@contextlib.contextmanager
def _straight(path: str | Path, mode: str) -> Iterator[Any]:
    """A device or pipe, which cannot be renamed over."""
    descriptor = _descriptor(path)
    encoding, newline = _text_layer(mode)
    with open(path if descriptor is None else os.dup(descriptor), mode, encoding=encoding, newline=newline) as handle:
        yield handle


@contextlib.contextmanager
def _replacing(place: Path, mode: str) -> Iterator[Any]:
    """Write beside ``place`` and rename at the end; on any error the unfinished file is removed."""
    descriptor, unfinished = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".part")
    try:
        encoding, newline = _text_layer(mode)
        with open(descriptor, mode, encoding=encoding, newline=newline) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(unfinished, 0o666 & ~umask())
        put_in_place(unfinished, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(unfinished)
        raise


def put_in_place(finished: str | Path, place: Path) -> None:
    """Rename a finished file to its place; it takes over the permissions of a file that was there."""
    if place.exists():
        os.chmod(finished, stat.S_IMODE(place.stat().st_mode))
    os.replace(finished, place)


def _text_layer(mode: str) -> tuple[str | None, str | None]:
    """Return the encoding and the line end for a mode of ``open``; None for bytes."""
    return (None, None) if "b" in mode else ("utf-8", "\n")


def umask() -> int:
    """Return the permissions that new files must not have."""
    current = os.umask(0)
    os.umask(current)
    return current

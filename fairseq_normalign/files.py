"""Reading lines and writing files so that nothing is split by surprise and nothing is left half-written."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from .errors import NormalignError

STDIO = "-"


def read_lines(path: str | Path) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file (``-``: standard input) without their line ends.

    Lines end at ``\n`` alone: U+2028, U+0085 and a bare CR stay inside their line. One ``\r`` before the end
    (a file from Windows) and a byte-order mark at the start are dropped.
    """
    with open_input(path) as handle:
        for number, raw in enumerate(handle, start=1):
            if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                raw = raw[3:]
            yield decode_line(raw, path, number)


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
    """Open a file (``-``: standard input) for reading bytes; a missing or unreadable one is a clear error."""
    if str(path) == STDIO:
        yield sys.stdin.buffer
        return
    try:
        handle = open(path, "rb")
    except OSError as error:
        raise NormalignError(f"{path}: {_reason(error)}") from None
    with handle:
        try:
            yield handle
        except OSError as error:
            if error.errno in OF_OUTPUT:  # what is done with the lines may end so; it is not the input's fault
                raise
            raise NormalignError(f"{path}: {_reason(error)}") from None


OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def open_output(path: str | Path) -> Iterator[TextIO]:
    """Open a text file (``-``: standard output) that appears at its place whole, or not at all."""
    if str(path) == STDIO:
        yield sys.stdout
        sys.stdout.flush()
        return
    with _replacing(Path(path), "w") as handle:
        yield handle


@contextlib.contextmanager
def open_binary_output(path: str | Path) -> Iterator[BinaryIO]:
    """As :func:`open_output`, for bytes."""
    with _replacing(Path(path), "wb") as handle:
        yield handle


@contextlib.contextmanager
def _replacing(path: Path, mode: str) -> Iterator[Any]:
    """Write beside ``path`` and rename at the end; on any error the unfinished file is removed."""
    if path.exists() and not path.is_file():  # a device or pipe cannot be renamed over
        if path.is_dir():
            raise NormalignError(f"{path}: is a directory")
        try:
            with open(path, mode, **_text_options(mode)) as handle:
                yield handle
        except BrokenPipeError:
            raise
        except OSError as error:
            raise NormalignError(f"{path}: {_reason(error)}") from None
        return
    check_writable(path)
    try:
        descriptor, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise NormalignError(f"{path}: {_reason(error)}") from None
    try:
        with open(descriptor, mode, **_text_options(mode)) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(unfinished, 0o666 & ~_umask())
        os.replace(unfinished, path)
    except OSError as error:
        _remove(unfinished)
        if isinstance(error, BrokenPipeError):
            raise
        raise NormalignError(f"{path}: {_reason(error)}") from None
    except BaseException:
        _remove(unfinished)
        raise


def check_writable(path: str | Path) -> None:
    """Fail now, with a clear line, when a file could not be written at ``path`` later."""
    parent = Path(path).parent
    if not parent.is_dir():
        raise NormalignError(f"{path}: there is no directory {parent}")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise NormalignError(f"{path}: the directory {parent} cannot be written to")


def _text_options(mode: str) -> dict:
    return {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()

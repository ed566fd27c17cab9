"""Reading lines, packed or not, and writing files and directories that appear complete or not at all."""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import io
import itertools
import lzma
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from .errors import MissingExtra, NormalignError, reason_of

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

STDIO = "-"
LONGEST_LINE = 8 << 20
"""Bytes of a line in packed text. A small file can hold a line that fills the memory."""
LARGEST_TEXT = 64 << 20
"""Characters of a text that is read as one."""

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


def read_text(path: str | Path, at_most: int = LARGEST_TEXT) -> str:
    """Return all lines of a file as one text; more than ``at_most`` characters are refused."""
    found, length = [], 0
    for line in read_lines(path):
        found.append(f"{line}\n")
        length += len(line) + 1
        if length > at_most:
            raise NormalignError(f"{display_name(path)}: more than {at_most >> 20} million characters in one text")
    return "".join(found)


def read_parallel(source: str | Path, target: str | Path) -> Iterator[tuple[str, str]]:
    """Yield the sentence pairs of two files of lines; an end of one file before the other is an error."""
    lines = itertools.zip_longest(read_lines(source), read_lines(target))
    for number, (one, other) in enumerate(lines):
        if one is None or other is None:
            longer, shorter = (target, source) if one is None else (source, target)
            raise line_without_partner(longer, shorter, number)
        yield one, other


SEPARATORS = (" ||| ", "\t")


def read_bitext(path: str | Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a file that holds both sides on each line, with `` ||| `` or one tab between."""
    for number, line in enumerate(read_lines(path), start=1):
        separator = next((one for one in SEPARATORS if line.count(one) == 1), None)
        if separator is not None:
            source, target = line.split(separator)
        elif line.startswith("||| ") or line.endswith(" |||"):
            source, target = (side.strip(" ") for side in line.split("|||", 1))
        else:
            shown = f"{line[:60]!a} is not source and target with one ' ||| ' or one tab between"
            raise NormalignError.at(display_name(path), number, shown)
        yield source, target


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

    What is packed by gzip, xz or zstd is unpacked while it is read, and UTF-16 becomes UTF-8.
    """
    if str(path) == STDIO:
        name = display_name(path)
        yield _in_utf8(unpacked(sys.stdin.buffer, name, longest_line=LONGEST_LINE), name)
        return
    try:
        handle = open(path, "rb")
    except OSError as error:
        raise NormalignError(f"{path}: {reason_of(error)}") from None
    with handle:
        try:
            yield _in_utf8(unpacked(handle, str(path), longest_line=LONGEST_LINE), str(path))
        except OSError as error:
            if error.errno in OF_OUTPUT:  # what is done with the lines may end so; it is not the input's fault
                raise
            raise NormalignError(f"{path}: {reason_of(error)}") from None


OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors that only writing ends in."""


def check_regular(path: str | Path) -> None:
    """Refuse a pipe or device in the place of a file: opening it could wait forever."""
    if os.path.exists(path) and not os.path.isfile(path):
        what = "a directory" if os.path.isdir(path) else "a pipe or a device"
        raise NormalignError(f"{path}: is {what}; a file is needed")


# -- packed input -----------------------------------------------------------------------------------------------------


class _Converted(io.RawIOBase):
    """The bytes of a stream after a conversion. Damage and lines without end are one-line errors."""

    def __init__(
        self,
        read: Callable[[int], bytes],
        name: str,
        what: str,
        longest_line: int | None = None,
        stream: BinaryIO | None = None,
    ) -> None:
        """``what`` is damaged or cut off when reading fails; ``stream``: what is read, where it can be read again."""
        self._read, self._name, self._what, self._longest, self._stream = read, name, what, longest_line, stream
        self._line = 0  # bytes since the last line end

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._stream is not None and self._stream.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._line = 0
        return super().seek(offset, whence) if self._stream is None else self._stream.seek(offset, whence)

    def tell(self) -> int:
        return super().tell() if self._stream is None else self._stream.tell()

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer)
        try:
            found = self._read(len(room))
        except _damage() as error:
            raise NormalignError(f"{self._name}: its {self._what} is damaged or cut off ({error})") from None
        end = found.rfind(b"\n")
        self._line = self._line + len(found) if end < 0 else len(found) - end - 1
        if self._longest is not None and self._line > self._longest:
            raise NormalignError(f"{self._name}: a packed line of more than {self._longest >> 20} MB; is it text?")
        room[: len(found)] = found
        return len(found)


def unpacked(handle: BinaryIO, name: str, *, longest_line: int | None = None) -> BinaryIO:
    """Return what ``handle`` holds, unpacked if it is packed by gzip, xz or zstd; ``name`` is for messages.

    The first bytes decide, not the name of the file: no text in UTF-8 begins like a packed file.
    """
    first = handle.peek(8) if isinstance(handle, io.BufferedReader) else b""
    if first.startswith(b"\x1f\x8b"):
        kind, stream = "gzip", cast(BinaryIO, gzip.GzipFile(fileobj=handle, mode="rb"))
    elif first.startswith(b"\xfd7zXZ\0"):
        kind, stream = "xz", cast(BinaryIO, lzma.LZMAFile(handle))
    elif first.startswith(b"\x28\xb5\x2f\xfd"):
        kind, stream = "zstd", cast(BinaryIO, _zstd().ZstdFile(handle))
    else:
        return handle
    return io.BufferedReader(_Converted(stream.read, name, f"{kind} packing", longest_line, stream), 1 << 16)


def _in_utf8(handle: BinaryIO, name: str) -> BinaryIO:
    """Return a text as UTF-8: one in UTF-16, which its first two bytes tell, is converted."""
    first = handle.peek(2)[:2] if isinstance(handle, io.BufferedReader) else b""
    if first not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return handle
    decoder = codecs.getincrementaldecoder("utf-16")()
    waiting = b""

    def read(count: int) -> bytes:
        nonlocal waiting
        while not waiting:
            raw = handle.read(1 << 16)
            waiting = decoder.decode(raw, final=not raw).encode()
            if not raw:
                break
        found, waiting = waiting[:count], waiting[count:]
        return found

    return io.BufferedReader(_Converted(read, name, "UTF-16 text"), 1 << 16)


def _zstd() -> ModuleType:
    """Return Python's own zstd module (from 3.14 on), or its backport for older versions."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        try:
            from backports import zstd  # type: ignore[import-not-found, no-redef, unused-ignore]
        except ImportError:
            raise MissingExtra("backports.zstd", "zstd", "reading zstd-packed input") from None
    return zstd


def _damage() -> tuple[type[Exception], ...]:
    """Return the errors that reading a damaged file ends in; an xz file may also ask for more memory than there is."""
    known = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, UnicodeError, MemoryError)
    with contextlib.suppress(MissingExtra):
        return (*known, _zstd().ZstdError)
    return known


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
        written = beside.get(place)
        for one in beside if written is None else ():
            with contextlib.suppress(OSError):  # one file may have two names
                written = beside[one] if os.path.samefile(one, place) else written
        if written is not None:
            raise NormalignError(f"{path}: is read, and writing {written} would replace it; write to another file")


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
    """Open a file to write beside its place, and rename it at the end; on any error the unfinished file is removed.

    A device or pipe, which nothing can be renamed over, is written as it is. An operating-system error is one line.
    """
    place = output_place(path)
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    unfinished = None
    try:
        if is_stream(path):
            descriptor = _descriptor(path)
            with open(path if descriptor is None else os.dup(descriptor), mode, **text) as handle:
                yield handle
            return
        # exclusive, with a name that cannot be foreseen: no link that somebody has placed there is followed
        descriptor, unfinished = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".part")
        with open(descriptor, mode, **text) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(unfinished, stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o666 & ~umask())
        os.replace(unfinished, place)
        unfinished = None
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise NormalignError(f"{path}: {reason_of(error)}") from None
    finally:
        if unfinished is not None:
            with contextlib.suppress(OSError):
                os.remove(unfinished)


def umask() -> int:
    """Return the permissions that new files must not have."""
    current = os.umask(0)
    os.umask(current)
    return current


def check_new_directory(path: str | Path, what: str) -> None:
    """Fail now when no new directory for ``what`` (as "a dump") could be made at ``path`` later."""
    if not str(path):
        raise NormalignError(f"{what} needs a directory to be written to; '' is none")
    if os.path.lexists(path):
        raise NormalignError(f"{path}: exists already; {what} is written to a new directory")
    check_parent(path, Path(path).parent)


class NewDirectory:
    """A directory that appears at its place whole, or not at all. It is filled at ``beside`` and renamed at the end.

    In a ``with`` block, ``beside`` is what ``as`` gives; leaving it without an error completes the directory.
    """

    def __init__(self, path: str | Path, what: str) -> None:
        """``what``: what is written there, as "a dump", for messages."""
        check_new_directory(path, what)
        self.path = Path(path)
        try:
            self.beside = Path(tempfile.mkdtemp(dir=self.path.parent, prefix=f".{self.path.name}.", suffix=".part"))
        except OSError as error:
            raise NormalignError(f"{path}: {reason_of(error)}") from None

    def complete(self) -> None:
        """Put the directory at its place."""
        try:
            os.chmod(self.beside, 0o777 & ~umask())
            os.rename(self.beside, self.path)
        except OSError as error:
            self.abandon()
            raise NormalignError(f"{self.path}: {reason_of(error)}") from None

    def abandon(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.beside, ignore_errors=True)

    def __enter__(self) -> Path:
        return self.beside

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.complete()
            return
        self.abandon()
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise NormalignError(f"{self.path}: {reason_of(error)}") from None

"""Packed input (gzip, xz, zstd), read as the text that is in it."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO

from .errors import MissingExtra, NormalignError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LONGEST_LINE = 64 << 20
"""Bytes of a line in packed input. A small file can hold a line that fills the memory."""


def unpacked(handle: BinaryIO, name: str) -> BinaryIO:
    """What ``handle`` holds, unpacked if it is packed; ``name`` is for messages.

    The first bytes decide, not the name of the file: no text in UTF-8 begins like a packed file.
    """
    first = handle.peek(8) if isinstance(handle, io.BufferedReader) else b""
    for kind, (sign, make) in KINDS.items():
        if first.startswith(sign):
            return io.BufferedReader(_Unpacked(make(handle), kind, name), 1 << 16)
    return handle


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a stream. Damage and lines without end are one-line errors."""

    def __init__(self, stream: io.BufferedIOBase, kind: str, name: str) -> None:
        self._stream = stream
        self._kind = kind
        self._name = name
        self._line = 0  # bytes since the last line end

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._stream.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._line = 0
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer)
        try:
            found = self._stream.read(len(room))
        except _damage() as error:
            raise NormalignError(f"{self._name}: its {self._kind} packing is damaged or cut off ({error})") from None
        end = found.rfind(b"\n")
        self._line = self._line + len(found) if end < 0 else len(found) - end - 1
        if self._line > LONGEST_LINE:
            raise NormalignError(f"{self._name}: a packed line of more than {LONGEST_LINE >> 20} MB; is it text?")
        room[: len(found)] = found
        return len(found)


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
    """What unpacking a damaged file ends in."""
    known = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
    try:
        return (*known, _zstd().ZstdError)
    except MissingExtra:
        return known


def _gzip(handle: BinaryIO) -> io.BufferedIOBase:
    return gzip.GzipFile(fileobj=handle, mode="rb")


def _open_zstd(handle: BinaryIO) -> io.BufferedIOBase:
    found: io.BufferedIOBase = _zstd().ZstdFile(handle)
    return found


KINDS: dict[str, tuple[bytes, Callable[[BinaryIO], io.BufferedIOBase]]] = {
    "gzip": (b"\x1f\x8b", _gzip),
    "xz": (b"\xfd7zXZ\0", lzma.LZMAFile),
    "zstd": (b"\x28\xb5\x2f\xfd", _open_zstd),
}
"""The first bytes of each kind, and what unpacks it."""

"""Compressed input, recognised by its first bytes: gzip, xz, bzip2 and zstandard.

:func:`decompressed` is to be called by whatever opens a file for reading, right after it is opened.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

from .errors import MissingExtra, NormalignError


def decompressed(handle: BinaryIO, name: str) -> BinaryIO:
    r"""``handle`` itself when it holds plain bytes, else a handle that reads what is compressed in it.

    ``name`` is for messages: a file that is damaged or cut off is a NormalignError. The handle has to be buffered, as
    ``open(path, "rb")`` and ``sys.stdin.buffer`` are.

        >>> decompressed(io.BufferedReader(io.BytesIO(gzip.compress(b"a\nb\n"))), "x.gz").read()
        b'a\nb\n'
    """
    start = cast(Any, handle).peek(6) if hasattr(handle, "peek") else b""
    for signature, opener in _OPENERS.items():
        if start.startswith(signature):
            return cast(BinaryIO, _Guarded(opener(handle), name))
    return handle


def _zstandard(handle: BinaryIO) -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("zstandard", "zst", "a .zst file") from None
    return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(handle, read_across_frames=True))


_OPENERS: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": lambda handle: gzip.GzipFile(fileobj=handle),
    b"\xfd7zXZ\x00": lambda handle: lzma.LZMAFile(handle),
    b"BZh": lambda handle: bz2.BZ2File(handle),
    b"\x28\xb5\x2f\xfd": _zstandard,
}


class _Guarded:
    """A handle whose errors name the file. It cannot be sought in: lines are read once, in order."""

    def __init__(self, handle: Any, name: str) -> None:
        self._handle = handle
        self._name = name

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        return self._guarded(lambda: self._handle.read(size))

    def readline(self) -> bytes:
        """The next line with its end."""
        return self._guarded(self._handle.readline)

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            yield line

    def __next__(self) -> bytes:
        if line := self.readline():
            return line
        raise StopIteration

    def seekable(self) -> bool:
        """False."""
        return False

    def _guarded(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise NormalignError(f"{self._name}: damaged or cut off ({str(error).lower()})") from None
        except Exception as error:  # zstandard has an error class of its own, which is not imported without need
            if type(error).__name__ == "ZstdError":
                raise NormalignError(f"{self._name}: damaged or cut off ({str(error).lower()})") from None
            raise

"""A directory that appears at its place whole, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from .errors import NormalignError, reason_of
from .files import check_parent, umask


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

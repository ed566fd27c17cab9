"""Text files that a long job writes in step, that can be continued, and that appear at their places only when whole.

Beside the place ``OUT`` stand ``OUT.part``, what has been written so far, and ``OUT.part.json``, the journal: how many
steps are done, how many bytes each file had then, and what the job was. What was written after the last step of the
journal is cut off before the job goes on, so a finished file does not show whether it was ever interrupted.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from .errors import NormalignError, reason_of
from .files import STDIO, check_writable, open_output

VERSION = 1


@dataclass
class Journal:
    """How far a job has come."""

    job: Mapping[str, object]
    """What the job was, by the names a user knows: compared when it is to go on."""
    steps: int = 0
    digest: str = ""
    """Of the input up to here."""
    counts: dict[str, int] = field(default_factory=dict)
    """What the job has counted so far."""
    choice: list[list[Any]] = field(default_factory=list)
    """What the job has decided at its start."""
    sizes: list[int] = field(default_factory=list)
    version: int = VERSION


class ResumableFiles:
    """The files of one job. ``append`` adds a step, ``finish`` moves the files to their places."""

    def __init__(self, paths: Sequence[str | Path], job: Mapping[str, object], *, resume: bool = False) -> None:
        self.paths = [Path(path) for path in paths]
        for path in self.paths:
            if path.is_dir():
                raise NormalignError(f"{path}: is a directory")
            check_writable(path)
        self._record = Path(f"{self.paths[0]}.part.json")
        found = self._read_journal() if resume else None
        self.journal = found or Journal(dict(job), sizes=[0] * len(self.paths))
        if found:
            self._check_same(job)
        self._handles = [self._open(path, size) for path, size in zip(self.paths, self.journal.sizes, strict=True)]
        if not found:
            self._record.unlink(missing_ok=True)  # of an earlier run: it must not speak of what is written now

    def append(self, texts: Sequence[str], digest: str) -> None:
        """Add one step: a text for each file, and the digest of the input up to here."""
        try:
            for handle, text in zip(self._handles, texts, strict=True):
                handle.write(text.encode("utf-8"))
                handle.flush()
            self.journal.sizes = [handle.tell() for handle in self._handles]
            self.journal.steps += 1
            self.journal.digest = digest
            beside = self._record.with_name(f"{self._record.name}.new")
            beside.write_text(json.dumps(asdict(self.journal)) + "\n", encoding="utf-8")
            os.replace(beside, self._record)
        except OSError as error:
            raise NormalignError(f"{self.paths[0]}: {reason_of(error)}") from None

    def finish(self) -> None:
        """Put the files at their places; the journal goes."""
        try:
            for handle in self._handles:
                os.fsync(handle.fileno())
                handle.close()
            for path in reversed(self.paths):  # the links, which say that all is there, come last
                os.replace(_part(path), path)
        except OSError as error:
            raise NormalignError(f"{self.paths[0]}: {reason_of(error)}") from None
        self._record.unlink(missing_ok=True)

    def abandon(self) -> bool:
        """End early. What was done is kept for another time; True if there is any."""
        for handle in self._handles:
            handle.close()
        if self.journal.steps:
            return True
        for path in (*map(_part, self.paths), self._record):
            path.unlink(missing_ok=True)
        return False

    def _open(self, path: Path, size: int) -> BinaryIO:
        part = _part(path)
        if size and not part.exists() and path.is_file() and path.stat().st_size == size:
            os.replace(path, part)  # the run was ended between the renames of :meth:`finish`
        if size and (not part.is_file() or part.stat().st_size < size):
            raise NormalignError(f"{part}: cut off or gone since {self._record}; start over without --resume")
        try:
            handle = open(part, "r+b" if size else "ab")
        except OSError as error:
            raise NormalignError(f"{part}: {reason_of(error)}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.close()
            raise NormalignError(f"{path}: another run is writing it") from None
        except OSError:
            pass  # a file system without locks
        handle.truncate(size)
        handle.seek(size)
        return handle

    def _read_journal(self) -> Journal | None:
        if not self._record.is_file():
            return None
        try:
            found = Journal(**json.loads(self._record.read_text(encoding="utf-8")))
            _check_journal(found)
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise NormalignError(f"{self._record}: not a journal ({error}); start over without --resume") from None
        if found.version != VERSION or len(found.sizes) != len(self.paths):
            raise NormalignError(f"{self._record}: the journal of another job; start over without --resume")
        return found

    def _check_same(self, job: Mapping[str, object]) -> None:
        before, now = self.journal.job, json.loads(json.dumps(job))
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                raise NormalignError(
                    f"{self._record}: cannot go on: {name} was {before.get(name)}, is {now.get(name)}; "
                    "start over without --resume"
                )


def _check_journal(found: Journal) -> None:
    """Fields as :meth:`ResumableFiles.append` writes them."""
    numbers = [found.steps, *(found.sizes if isinstance(found.sizes, list) else [None])]
    numbers += list(found.counts.values()) if isinstance(found.counts, dict) else [None]
    if not all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in numbers):
        raise ValueError("its numbers are not whole numbers from 0 on")
    if not isinstance(found.job, dict) or not isinstance(found.digest, str) or not isinstance(found.choice, list):
        raise ValueError("its fields are not those of a journal")
    for place in found.choice:
        layer, setting = place
        if not isinstance(layer, int) or layer < 0 or not isinstance(setting, str):
            raise ValueError("its choice is no layer and setting")


class PlainFiles:
    """The same for standard output and devices, which cannot be continued; other files among them appear when whole."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self.journal = Journal({})
        with contextlib.ExitStack() as stack:
            self._handles = [stack.enter_context(open_output(path)) for path in paths]
            self._stack = stack.pop_all()

    def append(self, texts: Sequence[str], digest: str) -> None:
        """Add one step."""
        for handle, text in zip(self._handles, texts, strict=True):
            handle.write(text)
            handle.flush()

    def finish(self) -> None:
        """Put the files at their places."""
        self._stack.close()

    def abandon(self) -> bool:
        """End early: nothing is kept."""
        with contextlib.suppress(_Abandoned):
            self._stack.__exit__(_Abandoned, _Abandoned(), None)
        return False


class _Abandoned(Exception):
    """Thrown into open files so that they are removed."""


def can_be_continued(path: str | Path) -> bool:
    """Whether output at ``path`` is a file, and not standard output or a device."""
    return str(path) != STDIO and (Path(path).is_file() or not Path(path).exists())


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")

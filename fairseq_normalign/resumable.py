"""Text files that a long job writes in step, that can be continued, and that appear at their places only when whole.

Beside the place ``OUT`` stand ``OUT.part``, what has been written so far, and ``OUT.part.json``, the journal: how many
steps are done, the size and digest of each file then, and what the job was. What was written after the last step of the
journal is cut off before the job goes on, so a finished file does not show whether it was ever interrupted.

A run holds a lock on each ``OUT.part`` until its files are at their places and the journal is gone. Before it writes
anything else it writes a journal: an ``OUT.part`` with content and without a journal belongs to nobody's run, and is
left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO

from .errors import NormalignError, reason_of
from .files import check_distinct, check_regular, is_stream, open_output, output_place, put_in_place

VERSION = 2
BLOCK = 1 << 20
ANEW = "restart the job instead of resuming it"


class UnfinishedRun(NormalignError):
    """Results of an interrupted run exist, and neither resuming nor restarting was asked for."""


@dataclass
class Journal:
    """How far a job has come."""

    job: Mapping[str, object]
    """What the job was, by the names a user knows: compared when it is to go on."""
    steps: int = 0
    digest: str = ""
    """A digest of the input up to here."""
    counts: dict[str, int] = field(default_factory=dict)
    """What the job has counted so far."""
    choice: list[str] = field(default_factory=list)
    """What the job has decided at its start."""
    sizes: list[int] = field(default_factory=list)
    """Bytes of each file after the last step."""
    written: list[str] = field(default_factory=list)
    """SHA-256 of the bytes of each file after the last step."""
    version: int = VERSION

    def sealed(self) -> str:
        """The journal as text, with a check sum."""
        fields = asdict(self)
        return json.dumps({**fields, "check": _check_sum(fields)}) + "\n"

    @classmethod
    def unsealed(cls, text: str) -> Journal:
        """The journal from its text; a ValueError or TypeError when it is damaged."""
        fields = json.loads(text)
        if not isinstance(fields, dict) or fields.get("version") != VERSION:
            raise ValueError(f"not of version {VERSION}")
        if fields.pop("check", None) != _check_sum(fields):
            raise ValueError("its check sum is wrong")
        found = cls(**fields)
        _check_fields(found)
        return found


class ResumableFiles:
    """The files of one job. ``append`` adds a step, ``finish`` moves the files to their places."""

    def __init__(
        self, paths: Sequence[str | Path], job: Mapping[str, object], *, resume: bool = False, restart: bool = False
    ) -> None:
        """``resume``: go on with what an interrupted run has done, if there is any; ``restart``: throw that away."""
        self.paths = [output_place(path) for path in paths]
        check_distinct(self.paths)
        self._record = Path(f"{self.paths[0]}.part.json")
        self._handles: list[BinaryIO] = []
        self._sums: list[hashlib._Hash] = []
        try:
            self._lock()
            found = None if restart else self._unfinished()
            if found and not resume:
                done = f"{found.counts['pairs']} pairs" if "pairs" in found.counts else "the results"
                raise UnfinishedRun(f"{_part(self.paths[0])}: {done} of an unfinished run are kept here")
            self.journal = self._resumed(found, job) if found else self._started(job)
        except OSError as error:
            self._give_up()
            raise NormalignError(f"{self.paths[0]}: {reason_of(error)}") from None
        except BaseException:
            self._give_up()
            raise

    @property
    def kept(self) -> Path:
        """The file in which the results of an unfinished run are kept."""
        return _part(self.paths[0])

    def append(self, texts: Sequence[str], digest: str) -> None:
        """Add one step: a text for each file, and the digest of the input up to here."""
        try:
            for handle, sum_, text in zip(self._handles, self._sums, texts, strict=True):
                content = text.encode("utf-8")
                handle.write(content)
                handle.flush()
                sum_.update(content)
            self.journal.sizes = [handle.tell() for handle in self._handles]
            self.journal.written = [sum_.hexdigest() for sum_ in self._sums]
            self.journal.steps += 1
            self.journal.digest = digest
            self._write_journal()
        except OSError as error:
            raise NormalignError(f"{self.paths[0]}: {reason_of(error)}") from None

    def finish(self) -> None:
        """Put the files at their places; the journal goes, and the locks after it."""
        try:
            for handle in self._handles:
                os.fsync(handle.fileno())
            for path in reversed(self.paths):  # the links, which say that all is there, come last
                put_in_place(_part(path), path)
            self._record.unlink(missing_ok=True)
        except OSError as error:
            raise NormalignError(f"{self.paths[0]}: {reason_of(error)}") from None
        self._unlock()

    def abandon(self) -> bool:
        """End early. What was done is kept for another time; True if there is any."""
        kept = bool(self._handles and self.journal.steps)
        if self._handles and not kept:
            for path in (*map(_part, self.paths), self._record):
                path.unlink(missing_ok=True)
        self._unlock()
        return kept

    # -- beginning

    def _lock(self) -> None:
        for path in self.paths:
            self._handles.append(_locked(path))
        for path in self.paths:
            _check_not_finishing(path)

    def _unlock(self) -> None:
        for handle in self._handles:
            handle.close()
        self._handles = []

    def _give_up(self) -> None:
        """Remove what locking has made, and nothing else."""
        for handle, path in zip(self._handles, self.paths, strict=False):
            if not os.fstat(handle.fileno()).st_size:
                _part(path).unlink(missing_ok=True)
        self._unlock()

    def _unfinished(self) -> Journal | None:
        """The journal of an interrupted run, if it has done anything."""
        has_content = any(os.fstat(handle.fileno()).st_size for handle in self._handles)
        check_regular(self._record)
        if not self._record.exists():
            if has_content:
                places = ", ".join(str(_part(path)) for path in self.paths)
                raise NormalignError(f"{places}: not of an unfinished run; move it away, or restart to overwrite it")
            return None
        try:
            found = Journal.unsealed(self._record.read_text(encoding="utf-8"))
        except (ValueError, TypeError, RecursionError) as error:
            raise NormalignError(f"{self._record}: not a whole journal ({error}); {ANEW}") from None
        return found if found.steps else None

    def _started(self, job: Mapping[str, object]) -> Journal:
        self.journal = Journal(dict(job), sizes=[0] * len(self.paths), written=[_NOTHING] * len(self.paths))
        self._write_journal()  # first: from now on, what is in the files is known to be ours
        self._sums = [hashlib.sha256() for _ in self.paths]
        for handle in self._handles:
            handle.truncate(0)
        return self.journal

    def _resumed(self, found: Journal, job: Mapping[str, object]) -> Journal:
        if len(found.sizes) != len(self.paths):
            raise NormalignError(f"{self._record}: the journal of a job with {len(found.sizes)} outputs; {ANEW}")
        self._check_same(found.job, json.loads(json.dumps(job)))
        places = list(zip(self.paths, found.sizes, found.written, strict=True))
        for number, (path, size, written) in enumerate(places):
            if os.fstat(self._handles[number].fileno()).st_size < size and _holds(path, size, written):
                os.replace(path, _part(path))  # the run was ended between the renames of :meth:`finish`
                self._handles[number].close()
                self._handles[number] = _locked(path)
        self._sums = [self._checked(handle, *place) for handle, place in zip(self._handles, places, strict=True)]
        for handle, (_, size, _) in zip(self._handles, places, strict=True):
            handle.truncate(size)
            handle.seek(size)
        return found

    def _checked(self, handle: BinaryIO, path: Path, size: int, written: str) -> hashlib._Hash:
        """The digest of the first ``size`` bytes, which have to be what the journal says."""
        digest = _digest(handle, size)
        if digest.hexdigest() != written:
            what = "cut off or gone" if os.fstat(handle.fileno()).st_size < size else "changed"
            raise NormalignError(f"{_part(path)}: {what} since {self._record} was written; {ANEW}")
        return digest

    def _check_same(self, before: Mapping[str, object], now: Mapping[str, object]) -> None:
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                raise NormalignError(
                    f"{self._record}: cannot go on: {name} was {before.get(name)}, is {now.get(name)}; {ANEW}"
                )

    def _write_journal(self) -> None:
        beside = self._record.with_name(f"{self._record.name}.new")
        beside.write_text(self.journal.sealed(), encoding="utf-8")
        os.replace(beside, self._record)


_NOTHING = hashlib.sha256().hexdigest()


def _digest(handle: BinaryIO, size: int) -> hashlib._Hash:
    """SHA-256 of the first ``size`` bytes, or of all there are."""
    digest = hashlib.sha256()
    handle.seek(0)
    while size and (block := handle.read(min(size, BLOCK))):
        digest.update(block)
        size -= len(block)
    return digest


def _holds(path: Path, size: int, written: str) -> bool:
    """Whether the file at ``path`` is, to the last byte, what a run wrote."""
    if not path.is_file() or path.stat().st_size != size:
        return False
    with open(path, "rb") as handle:
        return bool(_digest(handle, size).hexdigest() == written)


def _locked(path: Path) -> BinaryIO:
    """``OUT.part``, made if it is not there, open for reading and appending, and locked by this run alone."""
    part = _part(path)
    check_regular(part)
    while True:
        handle = open(os.open(part, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666), "r+b")
        try:
            if not _lock(handle):
                raise NormalignError(f"{path}: another run is writing it")
            if _is_at(handle, part):
                return handle
        except BaseException:
            handle.close()
            raise
        handle.close()  # another run has put it in its place, or removed it, before we had the lock


def _check_not_finishing(path: Path) -> None:
    """Refuse while another run, whose file is at its place already, has not yet removed its journal."""
    with contextlib.suppress(FileNotFoundError, PermissionError), open(path, "rb") as handle:
        if not _lock(handle):
            raise NormalignError(f"{path}: another run is writing it")


def _lock(handle: BinaryIO) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks
    return True


def _is_at(handle: BinaryIO, part: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle.fileno()), os.stat(part, follow_symlinks=False))
    return False


def _check_sum(fields: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _check_fields(found: Journal) -> None:
    """Raise ValueError unless the fields are as :meth:`ResumableFiles.append` writes them."""
    lists = found.sizes, found.written, found.choice
    if not all(isinstance(one, list) for one in lists) or not all(
        isinstance(one, dict) for one in (found.job, found.counts)
    ):
        raise ValueError("its fields are not those of a journal")
    numbers = [found.steps, *found.sizes, *found.counts.values()]
    if not all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in numbers):
        raise ValueError("its numbers are not whole numbers from 0 on")
    if not all(isinstance(text, str) for text in (found.digest, *found.written, *found.choice)):
        raise ValueError("its digests and choices are not text")
    if len(found.sizes) != len(found.written) or (not found.steps and any(found.sizes)):
        raise ValueError("its steps, sizes and digests do not fit")


class PlainFiles:
    """Output to standard output and devices, which cannot be continued; other files among it appear when whole."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        check_distinct(paths)
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

    @property
    def kept(self) -> Path | None:
        """Where the results of an unfinished run are kept: nowhere."""
        return None

    def abandon(self) -> bool:
        """End early: nothing is kept."""
        with contextlib.suppress(_Abandoned):
            self._stack.__exit__(_Abandoned, _Abandoned(), None)
        return False


class _Abandoned(Exception):
    """Thrown into open files so that they are removed."""


def can_be_continued(path: str | Path) -> bool:
    """Whether output at ``path`` is a file, and not standard output or a device."""
    return not is_stream(path)


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")

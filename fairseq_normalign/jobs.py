"""Work on a bitext in windows, over any ``concurrent.futures.Executor``, with finished windows kept on disk.

A window is 1,024 consecutive pairs, fixed by their position: floats differ in their last bits between batches of
different shape, so a result must not depend on how the work is shared. Only this process reads the text and writes
files. Workers receive windows by value and load the models once.

Each finished window is a file in ``OUT.parts/``. Its name holds a digest of the job and of the window's text, so the
same command, run again, uses what fits and computes the rest, and anything that changed has another name. No locks are
needed: a file is complete when it has its name, and its content starts with a checksum.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import logging
import multiprocessing
import os
import pickle
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

import numpy as np

from .errors import MissingExtra, NormalignError, reason_of
from .files import (
    STDIO,
    check_regular,
    is_stream,
    line_without_partner,
    open_binary_output,
    open_input,
    open_output,
    output_place,
    read_bitext,
    read_lines,
    read_parallel,
)
from .version import __version__

WINDOW = 1024
"""Pairs that are read, sorted by length, worked on and written together."""
AHEAD = 4
"""Windows for each worker that may be worked on, or wait to be written, at the same time."""
ATTEMPTS = 3
"""How often lost workers are replaced without a window being finished in between."""
LEAVING = 2.0
"""Seconds that worker processes have to end by themselves."""

TextPair = tuple[str, str]
Count = Callable[[int], object]
T = TypeVar("T")


def nobody(count: int) -> None:
    """Ignore how many pairs are done."""


# -- the text ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """Consecutive pairs of a bitext, or lines of a text (then every target is empty)."""

    number: int
    first: int
    """The position of its first pair in the bitext, from 0."""
    pairs: list[TextPair]
    beside: list[tuple[str, ...]] = field(default_factory=list)
    """The lines of the files beside the bitext, one tuple per pair; empty without such files."""


class Bitext:
    """A source and a target file, line by line, or one file that holds both; ``-`` is standard input."""

    def __init__(
        self, source: str | Path, target: str | Path | None = None, *, beside: Sequence[str | Path] = ()
    ) -> None:
        """Without ``target`` each line of ``source`` holds both sides, with `` ||| `` or a tab between.

        ``beside``: files with a line for each pair.
        """
        self.beside = list(beside)
        self.source = source
        self.target = target
        if str(source) == str(target) == STDIO:
            raise NormalignError("standard input ('-') can be the source or the target, not both")
        self._paths = [source] if target is None else [source, target]
        self._stream = self._read()
        self._ahead: list[TextPair] = []

    def _read(self) -> Iterator[TextPair]:
        return read_bitext(self.source) if self.target is None else read_parallel(self.source, self.target)

    def __str__(self) -> str:
        return ", ".join(map(str, self._paths))

    @property
    def is_seekable(self) -> bool:
        """Whether there are plain files alone, which can be read more than once."""
        return all(str(path) != STDIO and os.path.isfile(path) for path in self._paths)

    def count(self) -> int | None:
        """Return the number of pairs, None if it is unknown before reading; unequal files are an error."""
        if not self.is_seekable:
            for path in self._paths:
                if str(path) != STDIO and not os.path.exists(path):
                    raise NormalignError(f"{path}: no such file")
            return None
        counts = [_count_lines(path) for path in self._paths]
        if counts[0] != counts[-1]:
            fewer, more = sorted(zip(counts, self._paths, strict=True), key=lambda side: side[0])
            raise line_without_partner(more[1], fewer[1], fewer[0])
        return counts[0]

    def first(self, count: int) -> list[TextPair]:
        """Return the first pairs. They come again in :meth:`pairs`, from standard input too."""
        if self.is_seekable:
            return list(itertools.islice(self._read(), count))
        self._ahead += itertools.islice(self._stream, count - len(self._ahead))
        return self._ahead[:count]

    def pairs(self) -> Iterator[TextPair]:
        """Every pair; an end of one file before the other is an error."""
        if self.is_seekable:
            return self._read()
        return itertools.chain(self._ahead, self._stream)

    def windows(self) -> Iterator[Window]:
        """The pairs in windows, with the lines of the files beside them."""
        others = [read_lines(path) for path in self.beside]
        count = 0
        for window in windows_of(self.pairs()):
            columns = [list(itertools.islice(other, len(window.pairs))) for other in others]
            for path, lines in zip(self.beside, columns, strict=True):
                if len(lines) < len(window.pairs):
                    raise line_without_partner(self.source, path, window.first + len(lines))
            count += len(window.pairs)
            yield Window(window.number, window.first, window.pairs, list(zip(*columns, strict=True)))
        for path, other in zip(self.beside, others, strict=True):
            if next(other, None) is not None:
                raise line_without_partner(path, self.source, count)


def windows_of(pairs: Iterable[TextPair], size: int | None = None) -> Iterator[Window]:
    """Cut pairs into windows.

    >>> [(window.number, window.first, len(window.pairs)) for window in windows_of([("a", "b")] * 5, 2)]
    [(0, 0, 2), (1, 2, 2), (2, 4, 1)]
    """
    size = size or WINDOW
    waiting = iter(pairs)
    for number in itertools.count():
        taken = list(itertools.islice(waiting, size))
        if not taken:
            return
        yield Window(number, number * size, taken)


def _count_lines(path: str | Path) -> int:
    count, last = 0, b"\n"
    with open_input(path) as handle:
        while chunk := handle.read(1 << 20):
            count += chunk.count(b"\n")
            last = chunk[-1:]
    return count + (last != b"\n")


# -- what a window becomes --------------------------------------------------------------------------------------------


@dataclass
class Part:
    """What was made of one window, as plain data."""

    texts: list[str] = field(default_factory=list)
    """What is appended to each output."""
    counts: dict[str, int] = field(default_factory=dict)
    """What is counted, for example skipped pairs by reason."""
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    record: Any = None
    """Anything else that JSON can hold."""


class Parts:
    """The folder ``OUT.parts/`` of an output, with the windows of it that are finished."""

    NAMES = re.compile(r"[0-9a-z]+-[0-9a-f]{32}(\.[0-9a-z_]+\.tmp)?")

    def __init__(self, output: str | Path) -> None:
        self.folder = Path(f"{output_place(output)}.parts")
        if self.folder.exists() and not self.folder.is_dir():
            raise NormalignError(f"{self.folder}: is needed as a folder for finished parts, and is none")

    def read(self, name: str) -> Part | None:
        """Return a part; None if it is not there, or not as it was written."""
        from safetensors.numpy import load

        try:
            checksum, _, body = (self.folder / name).read_bytes().partition(b"\n")
        except OSError:
            return None
        if checksum != _checksum(name, body):
            return None
        arrays = load(body)
        text, counts, record = json.loads(arrays.pop("json").tobytes().decode())
        return Part(text, counts, arrays, record)

    def write(self, name: str, part: Part) -> None:
        """Keep a part. It has its name only when it is complete."""
        from safetensors.numpy import save

        content = json.dumps([part.texts, part.counts, part.record]).encode()
        arrays = {key: np.ascontiguousarray(array) for key, array in part.arrays.items()}
        body = save({"json": np.frombuffer(content, dtype=np.uint8), **arrays})
        for attempt in range(ATTEMPTS):
            try:
                self.folder.mkdir(exist_ok=True)
                descriptor, unfinished = tempfile.mkstemp(dir=self.folder, prefix=f"{name}.", suffix=".tmp")
                with open(descriptor, "wb") as handle:
                    handle.write(_checksum(name, body) + b"\n" + body)
                os.replace(unfinished, self.folder / name)
                return
            except FileNotFoundError:  # another run of the same job has just finished and removed the folder
                if attempt == ATTEMPTS - 1:
                    raise
            except OSError as error:
                raise NormalignError(f"{self.folder}: {reason_of(error)}") from None

    def windows(self) -> int:
        """Return how many windows are kept."""
        return sum(path.name[0].isdigit() for path in self.folder.glob("*-*")) if self.folder.is_dir() else 0

    def remove(self) -> None:
        """Remove the parts; the folder too, unless it holds files of somebody else."""
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                if self.NAMES.fullmatch(path.name):
                    path.unlink(missing_ok=True)
            self.folder.rmdir()


def _checksum(name: str, body: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + body).hexdigest().encode()


def digest(*values: object) -> str:
    """Return 32 letters that stand for these plain values.

    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a", 2), len(digest())
    (True, False, 32)
    """
    text = json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def fingerprint(path: str | Path) -> str:
    """Return the SHA-256 of a file, or a digest of those of all files in a folder and the folders in it."""
    if os.path.isdir(path):
        files = sorted(one for one in Path(path).rglob("*") if one.is_file() and "__pycache__" not in one.parts)
        return digest([(one.relative_to(path).as_posix(), fingerprint(one)) for one in files])
    try:
        check_regular(path)
        status = os.stat(path)
        return _sha256(str(path), status.st_size, status.st_mtime_ns, status.st_ino)
    except OSError as error:
        raise NormalignError(f"{path}: {reason_of(error)}") from None


@functools.lru_cache(256)
def _sha256(path: str, *state: int) -> str:
    """``state``: what of a file changes with its content, so that a content is read only once."""
    found = hashlib.sha256()
    with open(path, "rb") as handle:
        while block := handle.read(1 << 20):
            found.update(block)
    return found.hexdigest()


# -- workers ----------------------------------------------------------------------------------------------------------


class Setup(Protocol):
    """What models are loaded from, as plain data that can be sent to a worker."""

    def files(self) -> list[str]:
        """Return every file that what is computed depends on."""
        ...

    def describe(self) -> object:
        """Return, as plain values, everything else that it depends on."""
        ...

    def load(self) -> Any:
        """Load the models."""
        ...


WORKER = 0
"""The number of this worker among those of this machine: it says which GPU is its own."""
_LOADED: dict[str, Any] = {}
_LOADING = threading.Lock()


def _called(version: str, known: dict[str, str], payload: bytes) -> tuple[str | NormalignError | None, Any]:
    """In a worker: do what ``payload`` says; return the user's mistake if there is one, and the result."""
    machine = socket.gethostname()
    if version != __version__:
        return f"the worker on {machine} has version {__version__} of this package, and not {version}", None
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
    try:
        setup, function, arguments = pickle.loads(payload)
        for path, expected in known.items():
            if fingerprint(path) != expected:
                return f"{path}: the file of this name on the worker {machine} has another content", None
        with _LOADING:
            key = digest(setup.describe(), known)
            if key not in _LOADED:
                _LOADED.clear()
                _LOADED[key] = setup.load()
            models = _LOADED[key]
        return None, function(models, *arguments, done=nobody)
    except NormalignError as error:
        return NormalignError(str(error), option=error.option), None


def _start_worker(numbers: Any, threads: int) -> None:
    """In a new process: take a number, leave Ctrl-C to the parent, and end with the parent."""
    global WORKER
    WORKER = numbers.get()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if "torch" in sys.modules:  # the main module of a user's program imports it: too late for the variable
        sys.modules["torch"].set_num_threads(threads)

    def end_with_parent() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


@dataclass(frozen=True)
class Place:
    """Where the work is done: in this process, in several of this machine, or by a Dask cluster."""

    processes: int = 1
    threads: int | None = None
    """Of each process."""
    cluster: str | None = None
    """The address of a Dask scheduler, or the file that it wrote."""
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether this process does the work itself."""
        return self.cluster is None and self.processes == 1


class Workers:
    """Calls functions with the models of a setup, here or wherever a :class:`Place` or an executor says.

    A function is called as ``function(models, *arguments, done=count)``. To be used in a ``with`` block.
    """

    def __init__(
        self,
        setup: Setup,
        place: Place | None = None,
        *,
        executor: Executor | None = None,
        models: Any = None,
        done: Count = nobody,
    ) -> None:
        """``models``: what the setup loads, if that is loaded already; threads share it."""
        self.setup = setup
        self.place = place or Place()
        self.done = done
        self._given = executor
        self._executor: Executor | None = executor
        self._stack = contextlib.ExitStack()
        self._models = models
        self.is_here = executor is None and self.place.is_here
        self.ahead = 1 if self.is_here else AHEAD * max(2, self.place.processes)
        self._known: dict[str, str] | None = None

    @property
    def models(self) -> Any:
        """The models, loaded in this process."""
        if self._models is None:
            self._models = self.setup.load()
        return self._models

    @property
    def known(self) -> dict[str, str]:
        """The fingerprint of every file that the work depends on."""
        if self._known is None:
            self._known = {path: fingerprint(path) for path in self.setup.files()}
        return self._known

    def __enter__(self) -> Workers:
        self._open()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._stack.close()

    def _open(self) -> None:
        if self.is_here or self._given is not None:
            return
        self._stack.close()
        if self.place.cluster is not None:
            self._executor, self.ahead = _cluster(self.place, self._stack)
        else:
            self._executor = _processes(self.place, self._stack)

    def restart(self) -> bool:
        """Replace workers that were lost; return whether that can be done."""
        if self._given is not None or self.is_here:
            return False
        self._open()
        return True

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Call a function; a mistake of the user is an error of the future."""
        if self._executor is None:
            here: Future[Any] = Future()
            here.set_result(self._here(function, arguments, self.done))
            return here
        if isinstance(self._executor, ThreadPoolExecutor):
            return self._executor.submit(self._here, function, arguments, nobody)
        payload = pickle.dumps((self.setup, function, arguments))
        return self._executor.submit(_called, __version__, self.known, payload)

    def _here(
        self, function: Callable[..., Any], arguments: tuple[object, ...], done: Count
    ) -> tuple[NormalignError | None, Any]:
        try:
            return None, function(self.models, *arguments, done=done)
        except NormalignError as error:
            return error, None

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Call a function and wait for what it returns."""
        for attempt in itertools.count(1):
            try:
                error, result = self.submit(function, *arguments).result()
            except Exception as lost:
                if attempt > ATTEMPTS or not is_lost(lost) or not self.restart():
                    raise _no_workers(lost) from None
                continue
            if error is not None:
                raise error if isinstance(error, NormalignError) else NormalignError(error)
            found: T = result
            return found
        raise AssertionError


def is_lost(error: BaseException) -> bool:
    """Return whether an error says that workers are gone, and not that our code has failed."""
    known = isinstance(error, (BrokenExecutor, CancelledError, OSError, TimeoutError))
    return known or type(error).__module__.startswith("distributed")


def _no_workers(error: BaseException) -> BaseException:
    if not is_lost(error):
        return error
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return NormalignError(f"the workers were lost, and no window was finished in {ATTEMPTS} more attempts: {reason}")


def _processes(place: Place, stack: contextlib.ExitStack) -> Executor:
    spawn = multiprocessing.get_context("spawn")
    numbers = spawn.SimpleQueue()
    for number in range(place.processes):
        numbers.put(number)
    before = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(place.processes, spawn, _start_worker, (numbers, place.threads or 1))

    def close() -> None:
        executor.shutdown(wait=False, cancel_futures=True)
        end = time.monotonic() + LEAVING
        for process in set(multiprocessing.active_children()) - before:
            process.join(max(0.0, end - time.monotonic()))  # a killed worker leaves semaphores, which Python reports
            process.kill()  # nobody waits for what it does
        executor.shutdown(wait=True)

    stack.callback(close)
    return executor


def _cluster(place: Place, stack: contextlib.ExitStack) -> tuple[Executor, int]:
    """Return the executor of a cluster, and how many windows it may have at the same time."""
    try:
        from distributed import Client
        from distributed.security import Security
    except ImportError:
        raise MissingExtra("distributed", "cluster", "a cluster") from None
    assert place.cluster is not None
    for name in [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # a lost connection is reported in one line, by us
    tls = {"tls_ca_file": place.tls_ca, "tls_client_cert": place.tls_cert, "tls_client_key": place.tls_key}
    given = {name: path for name, path in tls.items() if path is not None}
    is_file = os.path.isfile(place.cluster)
    try:
        client = stack.enter_context(
            Client(
                **({"scheduler_file": place.cluster} if is_file else {"address": place.cluster}),
                security=Security(require_encryption=True, **given) if given else None,
                timeout=20,
                set_as_default=False,
            )
        )
        client.wait_for_workers(1, timeout=60)
        count = sum(client.nthreads().values())
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise NormalignError(f"{place.cluster}: no Dask scheduler with workers can be used there: {reason}") from None
    executor: Executor = client.get_executor(retries=ATTEMPTS, pure=False)
    return executor, AHEAD * max(2, count)


# -- the job ----------------------------------------------------------------------------------------------------------


@dataclass
class _Entry:
    window: Window
    name: str
    future: Future[Any] | None = None
    part: Part | None = None


def mapped(
    workers: Workers,
    function: Callable[..., Any],
    windows: Iterable[Window],
    *arguments: object,
    parts: Parts | None = None,
    job: str = "",
    extra: Callable[[Window], tuple[object, ...]] = lambda window: (),
    ahead: int | None = None,
) -> Iterator[tuple[Window, Any]]:
    """Yield each window with ``function(models, window, *arguments, *extra(window))``, in order.

    At most ``ahead`` windows are worked on or wait at the same time. With ``parts`` a result is a :class:`Part` that
    is kept as soon as it is there; ``job`` is a digest of everything that it depends on beside the window.
    """
    limit = min(ahead or workers.ahead, workers.ahead)
    waiting: deque[_Entry] = deque()
    stream = iter(windows)
    mistake: NormalignError | None = None
    losses = 0

    def start(entry: _Entry) -> None:
        entry.future = workers.submit(function, entry.window, *arguments, *extra(entry.window))

    while True:
        try:
            while mistake is None and len(waiting) < limit:
                try:
                    window = next(stream, None)
                except NormalignError as error:  # it is reported when the windows before it are done
                    mistake = error
                    break
                if window is None:
                    break
                name = ""
                if parts is not None:
                    name = f"{window.number:07d}-{digest(job, window.first, window.pairs, window.beside)}"
                waiting.append(_Entry(window, name))
                if parts is None or not (parts.folder / name).is_file():
                    start(waiting[-1])
            if not waiting:
                break
            oldest = waiting[0]
            if oldest.future is None and oldest.part is None:
                assert parts is not None
                oldest.part = parts.read(oldest.name)
                if oldest.part is None:
                    start(oldest)
            while oldest.part is None:
                running = [entry for entry in waiting if entry.future is not None and entry.part is None]
                wait([entry.future for entry in running if entry.future], return_when=FIRST_COMPLETED)
                for entry in running:
                    if entry.future is not None and entry.future.done():
                        entry.part = _result(entry)
                        losses = 0
                        if parts is not None:
                            parts.write(entry.name, entry.part)
        except Exception as error:
            if workers.is_here or isinstance(error, NormalignError):
                raise
            losses += 1
            if not is_lost(error) or losses > ATTEMPTS or not workers.restart():
                raise _no_workers(error) from None
            for entry in waiting:
                if entry.future is not None and entry.part is None:
                    start(entry)
            continue
        waiting.popleft()
        yield oldest.window, oldest.part
    if mistake is not None:
        raise mistake


def _result(entry: _Entry) -> Any:
    assert entry.future is not None
    error, result = entry.future.result()
    if error is not None:
        first = entry.window.first
        lines = f"lines {first + 1} to {first + len(entry.window.pairs)}: "
        option = getattr(error, "option", None)
        raise NormalignError(f"{'' if str(error).startswith('line ') else lines}{error}", option=option)
    return result


class Outputs:
    """The files of a job, written in the order of the input; each appears at its place complete, or not at all."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self._stack = contextlib.ExitStack()
        self._paths = list(paths)
        self._handles: list[BinaryIO | None] = []
        self._streams: list[Any] = []

    def __enter__(self) -> Outputs:
        for path in self._paths:
            stream = is_stream(path)
            self._streams.append(self._stack.enter_context(open_output(path)) if stream else None)
            self._handles.append(None if stream else self._temporary(path))
        return self

    def _temporary(self, path: str | Path) -> BinaryIO:
        try:
            return self._stack.enter_context(tempfile.TemporaryFile(dir=output_place(path).parent))
        except OSError as error:
            raise NormalignError(f"{path}: {reason_of(error)}") from None

    def add(self, texts: Sequence[str]) -> None:
        """Append to each file."""
        for path, stream, handle, text in zip(self._paths, self._streams, self._handles, texts, strict=True):
            if stream is not None:
                stream.write(text)
                stream.flush()
                continue
            assert handle is not None
            try:
                handle.write(text.encode())
            except OSError as error:
                raise NormalignError(f"{path}: {reason_of(error)}") from None

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        with self._stack:
            for path, handle in zip(self._paths, self._handles, strict=True):
                if kind is None and handle is not None:
                    handle.seek(0)
                    with open_binary_output(path) as output:
                        shutil.copyfileobj(handle, output, 1 << 20)


def run(
    workers: Workers,
    function: Callable[..., Part],
    windows: Iterable[Window],
    outputs: Sequence[str | Path],
    *arguments: object,
    parts: Parts | None = None,
    job: str = "",
    header: Sequence[str] = (),
    extra: Callable[[Window], tuple[object, ...]] = lambda window: (),
    ahead: int | None = None,
    take: Callable[[Part], object] = lambda part: None,
    done: Count = nobody,
) -> Counter[str]:
    """Do the work on every window and write the outputs; return what was counted, 'pairs' among it.

    ``header``: the start of each output; ``take`` is given each part in order, and ``done`` how many pairs are done;
    the rest as in :func:`mapped`.
    """
    counts: Counter[str] = Counter()
    with Outputs(outputs) as files:
        files.add(header or [""] * len(outputs))
        for window, part in mapped(
            workers, function, windows, *arguments, parts=parts, job=job, extra=extra, ahead=ahead
        ):
            counts.update({"pairs": len(window.pairs), **part.counts})
            files.add(part.texts)
            take(part)
            done(counts["pairs"])
    if parts is not None:
        parts.remove()
    return counts

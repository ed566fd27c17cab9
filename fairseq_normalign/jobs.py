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
from typing import Any, Protocol

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
        self.total: int | None = None  # the number of pairs, once count() has found it

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
        self.total = counts[0]
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
        if self.folder.is_symlink() or (self.folder.exists() and not self.folder.is_dir()):  # no link is followed
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

Answer = tuple[NormalignError | str | None, Any]
"""The mistake of the user that some work ended in, or None, and its result. It is no exception: executors try those
again."""


def _answer(
    models: Any, function: Callable[..., Any], window: Window, arguments: Sequence[object], done: Count
) -> Answer:
    """Do the work on a window; a mistake says on which lines."""
    try:
        return None, function(models, window, *arguments, done=done)
    except NormalignError as error:
        lines = f"lines {window.first + 1} to {window.first + len(window.pairs)}: "
        said = "" if str(error).startswith(("line ", "sentence ")) else lines
        return NormalignError(f"{said}{error}", option=error.option), None


def _called(version: str, known: dict[str, str], payload: bytes) -> Answer:
    """In a worker: load the models, if they are not those of the call before, and do what ``payload`` says."""
    machine = socket.gethostname()
    if version != __version__:
        return f"the worker on {machine} has version {__version__} of this package, and not {version}", None
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
    try:
        setup, function, window, arguments = pickle.loads(payload)
        for path, expected in known.items():
            if fingerprint(path) != expected:
                return f"{path}: the file of this name on the worker {machine} has another content", None
        with _LOADING:
            key = digest(setup.describe(), known)
            if key not in _LOADED:
                _LOADED.clear()
                _LOADED[key] = setup.load()
            models = _LOADED[key]
    except NormalignError as error:
        return NormalignError(str(error), option=error.option), None
    return _answer(models, function, window, arguments, nobody)


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


class Workers:
    """Do work on windows with the models of a setup, here or wherever a :class:`Place` or an executor says.

    To be used in a ``with`` block.
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
        self.is_here = executor is None and self.place.cluster is None and self.place.processes == 1
        """Whether this process does the work itself."""
        self.ahead = 1 if self.is_here else AHEAD * max(2, self.place.processes)

    @property
    def models(self) -> Any:
        """The models, loaded in this process."""
        if self._models is None:
            self._models = self.setup.load()
        return self._models

    @functools.cached_property
    def known(self) -> dict[str, str]:
        """The fingerprint of every file that the work depends on."""
        return {path: fingerprint(path) for path in self.setup.files()}

    def __enter__(self) -> Workers:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._stack.close()

    def start(self) -> bool:
        """Start the workers, in place of those that were lost; return whether there are any that are ours to start."""
        if self.is_here or self._given is not None:
            return False
        self._stack.close()
        if self.place.cluster is not None:
            self._executor, self.ahead = _cluster(self.place, self._stack)
        else:
            self._executor = _processes(self.place, self._stack)
        return True

    def submit(self, function: Callable[..., Any], window: Window, *arguments: object) -> Future[Answer]:
        """Call ``function(models, window, *arguments, done=count)``."""
        if self._executor is None:
            here: Future[Answer] = Future()
            here.set_result(_answer(self.models, function, window, arguments, self.done))
            return here
        if isinstance(self._executor, ThreadPoolExecutor):
            return self._executor.submit(_answer, self.models, function, window, arguments, nobody)
        payload = pickle.dumps((self.setup, function, window, arguments))
        return self._executor.submit(_called, __version__, self.known, payload)

    def call(self, function: Callable[..., Any], pairs: Sequence[TextPair], *arguments: object) -> Any:
        """Do some work on the first pairs alone, and wait for its result."""
        ((_, found),) = mapped(self, function, [Window(0, 0, list(pairs))], *arguments)
        return found


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
    where = {"scheduler_file" if os.path.isfile(place.cluster) else "address": place.cluster}
    try:
        security = Security(require_encryption=True, **given) if given else None
        client = stack.enter_context(Client(**where, security=security, timeout=20, set_as_default=False))
        client.wait_for_workers(1, timeout=60)
        count = sum(client.nthreads().values())
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        raise NormalignError(
            f"{place.cluster}: no Dask scheduler with workers can be used there: {_said(error)}"
        ) from None
    executor: Executor = client.get_executor(retries=ATTEMPTS, pure=False)
    return executor, AHEAD * max(2, count)


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


# -- the job ----------------------------------------------------------------------------------------------------------


@dataclass
class _Entry:
    """A window that is worked on, or waits to be written."""

    window: Window
    name: str = ""
    """Of its part."""
    future: Future[Answer] | None = None
    answer: Answer | None = None


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
    """Yield each window with ``function(models, window, *arguments, *extra(window), done=count)``, in order.

    At most ``ahead`` windows are worked on or wait at the same time. With ``parts`` a result is a :class:`Part` that
    is kept as soon as it is there; ``job`` is a digest of everything that it depends on beside the window.
    """
    limit = min(ahead or workers.ahead, workers.ahead)
    waiting: deque[_Entry] = deque()
    stream = iter(windows)
    mistake: NormalignError | None = None
    losses = 0
    while True:
        while mistake is None and len(waiting) < limit:
            try:
                window = next(stream, None)
            except NormalignError as error:  # it is reported when the windows before it are done
                mistake = error
                break
            if window is None:
                break
            entry = _Entry(window)
            if parts is not None:
                entry.name = f"{window.number:07d}-{digest(job, window.first, window.pairs, window.beside)}"
                part = parts.read(entry.name)
                entry.answer = None if part is None else (None, part)
            waiting.append(entry)
        if not waiting:
            break
        try:
            for entry in waiting:
                if entry.future is None and entry.answer is None:
                    entry.future = workers.submit(function, entry.window, *arguments, *extra(entry.window))
            while waiting[0].answer is None:
                running = {entry.future: entry for entry in waiting if entry.future and entry.answer is None}
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    said, result = future.result()
                    if said is not None:
                        raise said if isinstance(said, NormalignError) else NormalignError(said)
                    running[future].answer = None, result
                    losses = 0
                    if parts is not None:
                        parts.write(running[future].name, result)
        except Exception as error:
            is_lost = isinstance(error, (BrokenExecutor, CancelledError, OSError, TimeoutError))
            if workers.is_here or not (is_lost or type(error).__module__.startswith("distributed")):
                raise
            losses += 1
            if losses > ATTEMPTS or not workers.start():
                many = f"the workers were lost, and no window was finished in {ATTEMPTS} more attempts"
                raise NormalignError(f"{many}: {_said(error)}") from None
            for entry in waiting:
                entry.future = None
            continue
        oldest = waiting.popleft()
        assert oldest.answer is not None
        yield oldest.window, oldest.answer[1]
    if mistake is not None:
        raise mistake


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

    Each output appears at its place complete, or not at all; what is a pipe or a terminal is written at once.
    ``header``: the start of each output; ``take`` is given each part in order, and ``done`` how many pairs are done;
    the rest as in :func:`mapped`.
    """
    counts: Counter[str] = Counter()
    with contextlib.ExitStack() as stack:
        handles: list[Any] = []
        for path in outputs:
            if is_stream(path):
                handles.append(stack.enter_context(open_output(path)))
                continue
            with _one_line(path):  # a file without a name: nothing stays of it when this process is killed
                handle = tempfile.TemporaryFile("w+", encoding="utf-8", newline="", dir=output_place(path).parent)
            stack.callback(_closed, handle)
            handles.append(handle)

        def add(texts: Sequence[str]) -> None:
            for path, handle, text in zip(outputs, handles, texts, strict=True):
                with contextlib.nullcontext() if is_stream(path) else _one_line(path):
                    handle.write(text)
                    handle.flush()

        add(header or [""] * len(outputs))
        for window, part in mapped(
            workers, function, windows, *arguments, parts=parts, job=job, extra=extra, ahead=ahead
        ):
            counts.update({"pairs": len(window.pairs), **part.counts})
            add(part.texts)
            take(part)
            done(counts["pairs"])
        for path, handle in zip(outputs, handles, strict=True):
            if not is_stream(path):
                handle.seek(0)
                with open_binary_output(path) as output:
                    shutil.copyfileobj(handle.buffer, output, 1 << 20)
    if parts is not None:
        parts.remove()
    return counts


def _closed(handle: Any) -> None:
    """Close a temporary file, whatever a full disk says to what it still holds."""
    with contextlib.suppress(OSError):
        handle.close()


@contextlib.contextmanager
def _one_line(path: str | Path) -> Iterator[None]:
    """While this lasts, an error of the operating system is one line about ``path``."""
    try:
        yield
    except OSError as error:
        raise NormalignError(f"{path}: {reason_of(error)}") from None

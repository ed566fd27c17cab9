"""One job in several processes, started by torchrun on one machine or several; or in one, without anything to start.

The processes talk through the key-value store of torchrun's first agent (without torchrun: of the first process), and
through nothing else, so that none of them fails because another one is gone. The store outlives the processes: after
torchrun has started them again, it says how many attempts there were.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import hashlib
import itertools
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch
from torch import distributed

from ..errors import NormalignError

Json = TypeVar("Json")

CONNECTING = datetime.timedelta(minutes=10)
"""How long a process tries to reach the store."""
LEAVING = 60.0
"""Seconds that the first process goes on serving the store to others that have not ended yet."""
POLL = 0.05
"""Seconds between two looks at the store."""


class Superseded(Exception):
    """The first process was started again: this process has to join the new attempt."""


class Processes:
    """This process among all of the job."""

    def __init__(self, rank: int = 0, count: int = 1, store: distributed.Store | None = None) -> None:
        self.rank = rank
        self.count = count
        self.store = store
        self._shared = itertools.count()
        self.attempt = 1
        if store is not None:
            self.attempt = store.add("attempts", 1) if self.is_first else self._current_attempt(store)

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    @property
    def restarted(self) -> bool:
        """Whether an earlier attempt of the same job failed."""
        return self.attempt > 1 or os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"

    @property
    def board(self) -> distributed.Store:
        """What the processes of this attempt have written for each other."""
        assert self.store is not None
        return distributed.PrefixStore(f"attempt {self.attempt}", self.store)

    def share(self, decided: Json) -> Json:
        """Return to every process the value that the first process passes (anything that JSON can hold)."""
        if self.store is None:
            return decided
        key = f"shared {next(self._shared)}"
        if self.is_first:
            self.board.set(key, json.dumps(decided))
            return decided
        self.wait_until(lambda: self.board.check([key]))
        return json.loads(self.board.get(key))

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Return when ``ready``; raise :class:`Superseded` when the first process was started again."""
        self.check_current()
        while not ready():
            time.sleep(POLL)
            self.check_current()

    def check_current(self) -> None:
        """Raise :class:`Superseded` when the first process was started again."""
        if self.store is not None and self.store.add("attempts", 0) != self.attempt:
            raise Superseded

    def finish(self) -> None:
        """Say that the job is done, for processes that are started again all the same."""
        if self.store is not None and self.is_first:
            self.store.set("finished", "")

    @property
    def finished(self) -> bool:
        """Whether an earlier attempt has done the whole job."""
        return self.store is not None and bool(self.store.check(["finished"]))

    def leave(self) -> None:
        """End; a first process that serves the store itself waits for the others."""
        if self.store is None or _agent_serves():
            return
        if not self.is_first:
            self.store.add("left", 1)
            return
        end = time.monotonic() + LEAVING
        while self.store.add("left", 0) < self.count - 1 and time.monotonic() < end:
            time.sleep(POLL)

    @staticmethod
    def _current_attempt(store: distributed.Store) -> int:
        while not (attempt := store.add("attempts", 0)):
            time.sleep(POLL)
        return int(attempt)


@contextlib.contextmanager
def processes() -> Iterator[Processes]:
    """The processes that torchrun started, or this one alone. Each computes on its own device."""
    if not _started_together():
        yield Processes()
        return
    _die_with_parent()
    try:
        group = Processes(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), _store(CONNECTING))
        yield group
        group.leave()
    except distributed.DistError as error:
        reason = str(error).splitlines()[0][:200]
        raise NormalignError(f"the connection to the other processes is lost ({reason}); start the job again") from None


def say_once(line: str, message: str) -> None:
    """Print a line about ``message`` on standard error, unless another process of this job has done so already."""
    store = None
    if _started_together() and _agent_serves():
        with contextlib.suppress(distributed.DistError, ValueError):
            store = _store(datetime.timedelta(seconds=5))
    if store is None:
        print(line, file=sys.stderr, flush=True)
        return
    key = f"said {hashlib.sha256(message.encode('utf-8', 'surrogatepass')).hexdigest()}"
    with contextlib.suppress(distributed.DistError):
        if store.add(key, 1) == 1:
            print(line, file=sys.stderr, flush=True)
            store.set(f"{key} is out", "")
        else:  # torchrun ends the others as soon as one has ended
            store.wait([f"{key} is out"], datetime.timedelta(seconds=5))


def place_of_process() -> str:
    """The machine of this process, as the start of a message; nothing when the job has one machine."""
    return f"on {socket.gethostname()}: " if int(os.environ.get("GROUP_WORLD_SIZE", "1")) > 1 else ""


def own_device(*, cpu: bool = False) -> str:
    """The device of this process: its GPU if there is one, unless ``cpu``."""
    if cpu or not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{int(os.environ.get('LOCAL_RANK', '0')) % torch.cuda.device_count()}"


def _started_together() -> bool:
    known = {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"} <= set(os.environ)
    return known and ("TORCHELASTIC_RUN_ID" in os.environ or os.environ["WORLD_SIZE"] != "1")


def _agent_serves() -> bool:
    """Whether torchrun serves the store, and not the first process."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def _store(timeout: datetime.timedelta) -> distributed.Store:
    serves = os.environ["RANK"] == "0" and not _agent_serves()
    place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    served = distributed.TCPStore(*place, is_master=serves, wait_for_workers=False, timeout=timeout)
    return distributed.PrefixStore("normalign", served)


def _die_with_parent() -> None:
    """End this process when torchrun is killed: what it would write, another attempt writes."""
    if "TORCHELASTIC_RUN_ID" not in os.environ or not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    set_death_signal = 1
    ctypes.CDLL(None, use_errno=True).prctl(set_death_signal, signal.SIGKILL)
    if os.getppid() != parent or parent == 1:
        os.kill(os.getpid(), signal.SIGKILL)

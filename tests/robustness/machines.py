"""A job on several machines, all of them this one: torchrun's agents on the loopback, and kills among them.

An agent that ends before the job is done is started again with the same command, as Slurm or an administrator would.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.tiny_pair import TinyPair

from .kill_jobs import Arguments, in_process, verbs
from .kills import Job, Tally, run_until, table
from .room import NORMALIGN, environment

LIMIT = 900.0
"""Seconds after which a job counts as hanging."""


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("localhost", 0))
        return int(bound.getsockname()[1])


def children(pid: int) -> list[int]:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


@dataclass
class Machines:
    """``count`` agents with ``processes`` workers each, for one command line of ours."""

    command: Sequence[object]
    log: Path
    count: int = 2
    processes: int = 1
    restarts: int = 3
    agents: list[subprocess.Popen] = field(default_factory=list)
    started: int = 0
    killed: dict[str, int] = field(default_factory=lambda: {"worker": 0, "agent": 0})

    def __post_init__(self) -> None:
        self.port = free_port()
        self.agents = [self._start(number) for number in range(self.count)]

    def _start(self, number: int) -> subprocess.Popen:
        self.started += 1
        meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{self.port}", "--rdzv-id", "job"]
        meeting += ["--rdzv-conf", f"is_host={int(number == 0)},read_timeout=20"] if self.count > 1 else []
        asked = ["--nnodes", self.count, "--nproc-per-node", self.processes, "--max-restarts", self.restarts]
        words = [sys.executable, "-m", "torch.distributed.run", *asked, *meeting, *NORMALIGN[1:], *self.command]
        with open(self.log, "ab") as log:
            return subprocess.Popen([*map(str, words)], env=environment(), stdout=log, stderr=log)

    def alive(self) -> dict[str, list[int]]:
        """The processes by kind."""
        agents = [agent.pid for agent in self.agents if agent.poll() is None]
        return {"agent": agents, "worker": [child for agent in agents for child in children(agent)]}

    def look(self) -> bool:
        """Start agents again that have failed; whether the job is done."""
        if any(agent.poll() == 0 for agent in self.agents):
            return True
        for number, agent in enumerate(self.agents):
            if agent.poll() is not None:
                self.agents[number] = self._start(number)
        return False

    def kill(self, kind: str, chance: random.Random) -> bool:
        """Kill one process of a kind; whether there was one."""
        there = self.alive()[kind]
        if not there:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(there), signal.SIGKILL)
        self.killed[kind] += 1
        return True

    def run(self, kinds: Sequence[str], chance: random.Random, longest: float = 25.0) -> bool:
        """Kill processes of these kinds, one after the other at random moments; whether the job came to its end."""
        end = time.monotonic() + LIMIT
        moment = time.monotonic() + chance.random() * longest
        left = list(kinds)
        try:
            while time.monotonic() < end:
                if self.look():
                    return True
                if left and time.monotonic() > moment and self.kill(left[0], chance):
                    left.pop(0)
                    moment = time.monotonic() + chance.random() * longest
                time.sleep(0.02)
            return False
        finally:
            self.end()

    def end(self) -> None:
        """End the agents that are left; theirs end with them."""
        for agent in self.agents:
            if agent.poll() is None:
                agent.send_signal(signal.SIGTERM)
        for agent in self.agents:
            try:
                agent.wait(60)
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait()


KINDS = {1: ("worker",), 2: ("worker", "agent", "worker")}
"""Which processes are killed in turn, by the number of machines."""
EACH = 3
"""Kills in one run of a job."""


def kill_machines(times: int, seed: int, models: TinyPair, folder: Path, *, pairs: int) -> dict[str, Tally]:
    """align and check in two processes and on two machines; each has so many of its processes killed."""
    text = folder / "machines"
    text.mkdir()
    known = verbs(models, text, pairs)
    tallies = {}
    for name in ("align --resume", "check --resume"):
        arguments, results = known[name]
        for count, where in ((1, "2 processes"), (2, "2 machines")):
            place = folder / f"{name}-{count}".replace(" ", "-")
            place.mkdir()
            job = Job(in_process(arguments, window=1024), results)
            found = kill_on_machines(job, arguments, times, random.Random(seed), place, count)
            tallies[f"{name.split()[0]}, {where}"] = found
            print(table({f"{name}, {where}": found}), file=sys.stderr, flush=True)
    return tallies


def kill_on_machines(
    job: Job, arguments: Arguments, times: int, chance: random.Random, folder: Path, count: int
) -> Tally:
    """Run a job on ``count`` machines, with kills, until there were so many; results are those of one process."""
    tally = Tally()
    whole = folder / "whole"
    whole.mkdir()
    started = time.monotonic()
    run_until(job, whole, False, tally, None, {})
    tally.seconds = time.monotonic() - started
    expected = job.found(whole)
    while tally.kills < times and not tally.wrong:
        place = folder / f"run{tally.runs}"
        place.mkdir()
        machines = Machines(arguments(place, True), place / "log", count, processes=3 - count)
        kinds = [KINDS[count][number % len(KINDS[count])] for number in range(min(EACH, times - tally.kills))]
        if not machines.run(kinds, chance):
            tally.wrong.append(f"no end after {LIMIT:g} seconds; {place / 'log'}")
        tally.kills += sum(machines.killed.values())
        tally.runs += 1
        tally.looks += 1
        if job.found(place) != expected:
            tally.wrong.append("the result is not that of one process")
        if "Traceback" in ours(place / "log"):
            tally.wrong.append(f"a traceback of ours: {place / 'log'}")
    return tally


def ours(log: Path) -> str:
    """What was said there, without what torchrun says of itself."""
    blocks = log.read_text(errors="replace").split("Traceback (most recent call last)")
    return "Traceback".join(block for block in blocks if "fairseq_normalign/" in block)

"""Break a job at random moments, run the command again, and compare its output with that of an undisturbed run.

    python faults.py --faults 30 -o /tmp/faults -- align --path de-en.pt --source text.de --target text.en --cpu

Everything after ``--`` is a normalign command that takes -o, --processes and --cluster. A fault is a worker that is
killed or stopped for a while, a scheduler that is killed, or a command that is killed; half of the jobs run with
--processes 2, the others over a Dask scheduler with two workers. For each fault the tool says whether the bytes were
equal and how many finished windows were computed again.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NORMALIGN = [sys.executable, "-m", "fairseq_normalign.cli"]
KINDS = ("worker killed", "worker stopped", "command killed", "scheduler killed")


@dataclass
class Watch:
    """What happens in the folder of finished windows."""

    folder: Path
    seen: dict[str, set[int]] = field(default_factory=lambda: collections.defaultdict(set))
    """The inodes of each file: a window that is computed twice gets a second one."""
    over: bool = False

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *rest: object) -> None:
        self.over = True
        self._thread.join()

    def _look(self) -> None:
        while not self.over:
            with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
                for entry in entries:
                    if entry.name[0].isdigit() and not entry.name.endswith(".tmp"):
                        self.seen[entry.name].add(entry.inode())
            time.sleep(0.1)

    @property
    def windows(self) -> int:
        """How many windows were finished."""
        return len(self.seen)

    @property
    def again(self) -> int:
        """How many finished windows were computed again."""
        return sum(len(inodes) > 1 for inodes in self.seen.values())


@dataclass
class Cluster:
    """A Dask scheduler and its workers on this machine."""

    folder: Path
    workers: int = 2
    environments: Sequence[dict[str, str]] = ()
    """Changes of the environment of each worker."""
    security: Sequence[str] = ()
    """Options of scheduler and workers for encrypted connections."""

    def __enter__(self) -> Cluster:
        self.file = self.folder / "cluster.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.start()
        return self

    def start(self) -> None:
        """Start what is not running."""
        self.stop()
        self.file.unlink(missing_ok=True)
        common = ["--scheduler-file", str(self.file), *self.security]
        self._run("scheduler", [*common, "--host", "127.0.0.1", "--port", "0", "--no-dashboard"], {})
        while not self.file.exists():
            if self.processes[0].poll() is not None:
                raise SystemExit((self.folder / "scheduler.log").read_text()[-2000:])
            time.sleep(0.1)
        for number in range(self.workers):
            changes = self.environments[number] if number < len(self.environments) else {}
            options = [*common, "--nthreads", "1", "--no-dashboard", "--local-directory", str(self.folder / "dask")]
            self._run("worker", [*options, "--no-nanny"], changes)

    def _run(self, what: str, options: list[str], changes: dict[str, str]) -> None:
        with open(self.folder / f"{what}.log", "ab") as log:
            command = [sys.executable, "-m", "distributed.cli.dask_" + what, *options]
            environment = {**os.environ, "OMP_NUM_THREADS": "1", **changes}
            # -m puts the current folder in front of PYTHONPATH
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.folder))

    def stop(self) -> None:
        """End everything."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        self.processes = []

    def __exit__(self, *rest: object) -> None:
        self.stop()

    @property
    def options(self) -> list[str]:
        """What the command needs."""
        return ["--cluster", str(self.file)]


def start(command: Sequence[object], log: Path) -> subprocess.Popen[bytes]:
    """Start a command of normalign."""
    with open(log, "ab") as handle:
        return subprocess.Popen([*NORMALIGN, *map(str, command)], stdout=handle, stderr=handle)


def pool_of(pid: int) -> list[int]:
    """Return the worker processes of a command with --processes (Linux)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(path.read_text().rsplit(")", 1)[1].split()[1])
            if parent == pid and b"spawn_main" in (path.parent / "cmdline").read_bytes():
                found.append(int(path.parent.name))
    return sorted(found)


def broken(command: Sequence[str], out: Path, kind: str, cluster: Cluster | None, *, after: int, stop: float) -> Watch:
    """Run a command with a fault when ``after`` windows are finished, and again until it ends well."""
    log = out.with_name("log")
    log.unlink(missing_ok=True)
    sharing = ["--processes", "2"] if cluster is None else cluster.options
    full = [*command, "-o", out, *sharing]
    with Watch(Path(f"{out}.parts")) as watch:
        process = start(full, log)
        while process.poll() is None and watch.windows < after:
            time.sleep(0.05)
        if process.poll() is None:
            workers = pool_of(process.pid) if cluster is None else [one.pid for one in cluster.processes[1:]]
            if kind == "command killed":
                process.kill()
            elif kind == "scheduler killed" and cluster is not None:
                cluster.processes[0].kill()
            elif workers:
                victim = random.choice(workers)
                os.kill(victim, signal.SIGKILL if kind == "worker killed" else signal.SIGSTOP)
                if kind == "worker stopped":
                    time.sleep(stop)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(victim, signal.SIGCONT)
        code = process.wait()
        for _ in range(3):
            if code == 0:
                break
            if cluster is not None:
                cluster.start()
            code = start(full, log).wait()
        if code:
            raise SystemExit(f"{kind}: exit code {code}\n{log.read_text()[-2000:]}")
    return watch


def faults(
    command: Sequence[str], folder: Path, number: int, stop: float, seed: int
) -> Iterator[tuple[str, bool, int]]:
    """Yield each fault, whether the bytes were equal, and how many finished windows were computed again."""
    folder.mkdir(parents=True, exist_ok=True)
    expected = folder / "expected"
    with Watch(Path(f"{expected}.parts")) as whole:
        if start([*command, "-o", expected], folder / "log").wait():
            raise SystemExit((folder / "log").read_text()[-2000:])
    random.seed(seed)
    for fault in range(number):
        kind = KINDS[fault % len(KINDS)]
        with contextlib.ExitStack() as stack:
            shared = kind == "scheduler killed" or random.random() < 0.5
            cluster = stack.enter_context(Cluster(folder)) if shared else None
            out = folder / "out"
            out.unlink(missing_ok=True)
            after = random.randint(1, max(1, whole.windows - 3))
            watch = broken(command, out, kind, cluster, after=after, stop=stop)
        where = "cluster" if shared else "processes"
        yield f"{kind}, {where}, after {after} windows", out.read_bytes() == expected.read_bytes(), watch.again


def main() -> int:
    arguments, command = sys.argv[1:], []
    if "--" in arguments:
        cut = arguments.index("--")
        arguments, command = arguments[:cut], arguments[cut + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder to work in")
    parser.add_argument("--faults", type=int, default=30)
    parser.add_argument("--stop", type=float, default=30, help="seconds that a worker stands still")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    bad = 0
    for name, equal, again in faults(command, args.output, args.faults, args.stop, args.seed):
        print(f"{name}: {'equal' if equal else 'DIFFERENT'}, {again} finished windows computed again", flush=True)
        bad += not equal or again > 0
    print(f"{args.faults - bad} of {args.faults} faults: equal bytes, no finished window computed again")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())

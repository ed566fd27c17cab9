"""Jobs killed at random moments and run again: ``python -m tests.robustness.kills --times 20``.

Each job runs in a process that is ended by SIGKILL, once or several times, then once more to its end. While it runs,
its results are looked at every few milliseconds: what is at its final place has to be what an unbroken run writes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.tiny_pair import make_tiny_pair

from .room import environment

LOOK = 0.003
"""Seconds between two looks at the results."""
Content = dict[str, bytes]


@dataclass(frozen=True)
class Job:
    """``start(folder, again)`` -> the process; ``results``: names below the folder that are final where they are."""

    start: Callable[[Path, bool], int]
    results: Sequence[str]
    tidy: Callable[[str, bytes], bytes] = lambda name, content: content
    """Takes out of a result what differs from run to run by its nature."""

    def found(self, folder: Path) -> Content:
        """Every final file that is there, and its content."""
        content: Content = {}
        for name in self.results:
            path = folder / name
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                with contextlib.suppress(FileNotFoundError):
                    if file.is_file():
                        content[str(file.relative_to(folder))] = self.tidy(name, file.read_bytes())
        return content


@dataclass
class Tally:
    """What became of one job."""

    kills: int = 0
    """Runs that were ended before they were done."""
    runs: int = 0
    looks: int = 0
    seconds: float = 0.0
    """Of an unbroken run."""
    wrong: list[str] = field(default_factory=list)


def forked(run: Callable[[], int]) -> int:
    """A process that does ``run`` and has everything loaded already; -> its id."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        code = run()
    finally:
        os._exit(code)


def forked_main(arguments: Sequence[object], errors: Path, prepare: Callable[[], object] = lambda: None) -> int:
    """``normalign`` in a process of its own that has everything loaded; -> its id. What it says goes to a file."""
    from fairseq_normalign.cli import main

    def run() -> int:
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)
        prepare()
        try:
            return main([*map(str, arguments)])
        except SystemExit as end:
            return int(end.code or 0)

    return forked(run)


def spawned(command: Sequence[object], **variables: str) -> int:
    """The same for a program."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    process = subprocess.Popen([*map(str, command)], env=environment(**variables), preexec_fn=os.setpgrp, **quiet)  # type: ignore[call-overload]
    return process.pid


def run_until(job: Job, folder: Path, again: bool, tally: Tally, moment: float | None, expected: Content) -> bool:
    """Run it, and end it at ``moment`` seconds; whether it was still running then. None: it may finish."""
    started = time.monotonic()
    child = job.start(folder, again)
    tally.runs += 1
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if os.waitstatus_to_exitcode(status) != 0:
                tally.wrong.append(f"exit code {os.waitstatus_to_exitcode(status)}")
            break
        if moment is not None and time.monotonic() - started >= moment:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        look(job, folder, tally, expected)
        time.sleep(LOOK)
    look(job, folder, tally, expected)
    return not ended


def look(job: Job, folder: Path, tally: Tally, expected: Content) -> None:
    """What is at a final place has to be whole."""
    if not expected:
        return
    tally.looks += 1
    for name, content in job.found(folder).items():
        if content != expected.get(name):
            tally.wrong.append(f"{name}: {len(content)} bytes that no unbroken run writes")


def kill_job(job: Job, times: int, chance: random.Random, folder: Path) -> Tally:
    """Kill it so many times, at moments spread over the time it takes; every broken run is finished at last."""
    tally = Tally()
    whole = folder / "whole"
    whole.mkdir()
    started = time.monotonic()
    run_until(job, whole, False, tally, None, {})
    tally.seconds = time.monotonic() - started
    expected = job.found(whole)
    if not expected:
        tally.wrong.append("the unbroken run wrote nothing")
    attempt = 0
    while tally.kills < times and attempt < 4 * times and not tally.wrong:
        place = folder / f"attempt{attempt}"
        place.mkdir()
        attempt += 1
        again, broken = False, True
        while tally.kills < times and broken:
            broken = run_until(job, place, again, tally, chance.random() * tally.seconds, expected)
            again = again or broken
            tally.kills += broken
            if chance.random() < 0.5:
                break
        if broken:  # one that came to its end by itself is not run again: a dump would be there already
            run_until(job, place, again, tally, None, expected)
        if job.found(place) != expected:
            tally.wrong.append("the result of the last run is not that of an unbroken one")
        shutil.rmtree(place)
    shutil.rmtree(whole)
    return tally


def table(tallies: dict[str, Tally]) -> str:
    rows = [f"{'job':<26}{'kills':>7}{'runs':>7}{'looks':>9}{'unbroken':>11}{'wrong':>7}"]
    for name, tally in tallies.items():
        numbers = f"{tally.kills:>7}{tally.runs:>7}{tally.looks:>9}{tally.seconds:>9.1f} s{len(tally.wrong):>7}"
        rows.append(f"{name:<26}{numbers}")
    return "\n".join(rows)


def kill_everything(
    times: int, seed: int, known: dict[str, Job], folder: Path, slow_times: int = 4
) -> dict[str, Tally]:
    chance = random.Random(seed)
    tallies = {}
    for name, job in known.items():
        place = folder / name.replace(" ", "-").replace(":", "")
        place.mkdir()
        tallies[name] = kill_job(job, slow_times if "steps" in name else times, chance, place)
        print(table({name: tallies[name]}), file=sys.stderr, flush=True)
    return tallies


def main() -> int:
    from .kill_jobs import jobs
    from .machines import kill_machines

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="kills of each job (20)")
    parser.add_argument("--slow-times", type=int, default=4, help="of jobs that start Python anew each time (4)")
    parser.add_argument("--machine-times", type=int, default=4, help="of each job in two processes or on two machines")
    parser.add_argument("--machine-pairs", type=int, default=6000, help="sentence pairs there (6000)")
    parser.add_argument("--pairs", type=int, default=1500, help="sentence pairs that are aligned (1500)")
    parser.add_argument("--only", nargs="*", metavar="JOB", help="these jobs, by the names of the table")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "models").mkdir()
        models = make_tiny_pair(folder / "models")
        known = jobs(models, pairs=args.pairs, lines=4 * args.pairs, slow=args.slow_times > 0)
        chosen = {name: job for name, job in known.items() if args.only is None or name in args.only}
        tallies = kill_everything(args.times, args.seed, chosen, folder, args.slow_times)
        if args.machine_times:
            tallies |= kill_machines(args.machine_times, args.seed, models, folder, pairs=args.machine_pairs)
    print(table(tallies))
    wrong = [f"{name}: {text}" for name, tally in tallies.items() for text in tally.wrong]
    print("\n".join(wrong[:10]), file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

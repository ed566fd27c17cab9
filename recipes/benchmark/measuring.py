"""Time and memory of pieces of work: medians of repetitions that take turns, so that a busy moment hits them all."""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ONE_PROCESS = f"""
import json, os, sys
sys.path.insert(0, {str(HERE)!r})
from fairseq_normalign.cli import main
from measuring import status
code = main(sys.argv[1:])
print(json.dumps({{"cpu": sum(os.times()[:2]), "megabytes": status("VmHWM") / 1024}}))
sys.exit(code)
"""
"""The command, and what it took as the last line. (What wait4 says of a child's memory counts its parent's too.)"""


def in_turns(works: Mapping[str, Callable[[], Any]], repetitions: int, *, before: int = 1) -> dict[str, float]:
    """Median CPU seconds of this process for each piece of work, after rounds ``before`` that do not count."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(before + repetitions):
        for name, work in works.items():
            gc.collect()
            started = time.process_time()
            work()
            if turn >= before:
                seconds[name].append(time.process_time() - started)
    return {name: statistics.median(values) for name, values in seconds.items()}


def peak_megabytes(work: Callable[[], Any]) -> float:
    """How much memory the work takes at its highest, beyond what the process had before (Linux)."""
    gc.collect()
    with open("/proc/self/clear_refs", "w", encoding="ascii") as handle:
        handle.write("5")
    before = status("VmRSS")
    work()
    return (status("VmHWM") - before) / 1024


def status(name: str) -> int:
    """Kilobytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise KeyError(name)


def alone(module: str, function: str, *arguments: object) -> Any:
    """What a function of a module beside this one returns, in a process of its own; all of it as JSON."""
    code = (
        f"import sys, json; sys.path.insert(0, {str(HERE)!r}); import {module};"
        f"print(json.dumps({module}.{function}(*map(json.loads, sys.argv[1:]))))"
    )
    given = [json.dumps(str(one) if isinstance(one, Path) else one) for one in arguments]
    done = subprocess.run([sys.executable, "-c", code, *given], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def run(command: list[str], processes: int = 1, checkout: Path | None = None) -> dict[str, float]:
    """Wall and CPU seconds and (of one process) peak megabytes of a command of ours, in one process or several.

    ``checkout``: the folder of another version, whose command is run.
    """
    start = [sys.executable, "-c", ONE_PROCESS]
    if processes > 1:
        start = [sys.executable, "-m", "fairseq_normalign.cli"]
        command = [*command, "--processes", str(processes)]
    before = time.perf_counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if checkout is not None:
        environment["PYTHONPATH"] = str(checkout)
    done = subprocess.run([*start, *command], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    wall = time.perf_counter() - before
    return {"wall": wall, **(json.loads(done.stdout.splitlines()[-1]) if processes == 1 else {})}

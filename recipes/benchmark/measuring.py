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


def in_turns(works: Mapping[str, Callable[[], Any]], repetitions: int) -> dict[str, float]:
    """Median CPU seconds of this process for each piece of work, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repetitions + 1):
        for name, work in works.items():
            gc.collect()
            before = time.process_time()
            work()
            if turn:
                seconds[name].append(time.process_time() - before)
    return {name: statistics.median(values) for name, values in seconds.items()}


def peak_megabytes(work: Callable[[], Any]) -> float:
    """How much memory the work takes at its highest, beyond what the process had before (Linux)."""
    gc.collect()
    with open("/proc/self/clear_refs", "w", encoding="ascii") as handle:
        handle.write("5")
    before = _status("VmRSS")
    work()
    return (_status("VmHWM") - before) / 1024


def _status(name: str) -> int:
    """Kilobytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise KeyError(name)


def alone(module: str, *arguments: object) -> Any:
    """What ``main(*arguments)`` of a module beside this one prints, as JSON, in a process of its own."""
    code = f"import sys, json; sys.path.insert(0, {str(HERE)!r}); import {module}; {module}.main(*sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def run(command: list[str], processes: int = 1) -> dict[str, float]:
    """Wall and CPU seconds and peak megabytes of a command of ours, in one process or by torchrun."""
    start = [sys.executable, "-m", "fairseq_normalign.cli"]
    if processes > 1:
        launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes)]
        start = [*launcher, "-m", "fairseq_normalign.cli"]
    before = time.perf_counter()
    child = subprocess.Popen([*start, *command], env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}")
    return {
        "wall": time.perf_counter() - before,
        "cpu": usage.ru_utime + usage.ru_stime,
        "megabytes": usage.ru_maxrss / 1024,
    }

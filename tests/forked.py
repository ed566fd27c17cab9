"""Python programs in forks of one process that has torch and fairseq loaded: the standard library's fork server.

Importing both takes some four seconds, and the tests run a hundred commands. Each is a process of its own, with its own
arguments, folder, environment and standard streams; it imports this package afresh.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch._dynamo", "fairseq"])  # the first is what an optimizer imports


def run_python(arguments: Sequence[str], cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``python ARGUMENTS``: ``-c CODE``, ``-m MODULE`` or a file, and the arguments of the program."""
    with tempfile.TemporaryDirectory() as place:
        streams = [Path(place) / name for name in ("in", "out", "err")]
        for path in streams:
            path.write_text(stdin, encoding="utf-8")
        process = SERVER.Process(target=become, args=(list(arguments), cwd, dict(os.environ), streams))
        process.start()
        process.join(600)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"still running after ten minutes: {arguments}")
        out, err = (path.read_text(encoding="utf-8") for path in streams[1:])
    return subprocess.CompletedProcess(arguments, process.exitcode, out, err)


def become(arguments: list[str], cwd: Path, environment: dict[str, str], streams: Sequence[Path]) -> None:
    """Turn this fork into the program and run it."""
    for number, path in enumerate(streams):
        os.dup2(os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_TRUNC), number)
    sys.stdin = open(0, encoding="utf-8")
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    logging.root.handlers.clear()  # fairseq's commands set logging up
    installed = [folder for folder in sys.path if folder.startswith((sys.prefix, sys.base_prefix))]
    repository = str(Path(__file__).resolve().parent.parent)
    sys.path[:] = ["", *environment.get("PYTHONPATH", "").split(os.pathsep), repository, *installed]
    first, *rest = arguments
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    elif first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(first)
        runpy.run_path(first, run_name="__main__")

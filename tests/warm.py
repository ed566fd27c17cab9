"""Python processes that start with torch and fairseq loaded: forks of one process that has imported them.

Importing both takes some four seconds, and the tests run a few hundred commands. ``warm_python()`` is the start of a
command line to be used like ``[sys.executable]``: each command is a process of its own, with its own arguments, folder,
environment and standard streams, and imports this package afresh. With ``NORMALIGN_COLD=1`` in the environment (as
under ``bash tests/run.sh --slow``) it is ``[sys.executable]``. What tests imports or signals uses that anyway.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time

COLD = b"cold"
"""The answer to a command that this server cannot run as a new Python would."""


# -- the tests' side --------------------------------------------------------------------------------------------------


class Server:
    """The process that is forked from. It ends with the tests, whatever ends them: its standard input is closed."""

    def __init__(self) -> None:
        import atexit
        import subprocess
        import tempfile

        self.path = os.path.join(tempfile.mkdtemp(prefix="warm"), "socket")
        command = [sys.executable, __file__, "--serve", self.path]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while not os.path.exists(self.path) and self.process.poll() is None:
            time.sleep(0.01)
        atexit.register(self.stop, os.getpid())

    def stop(self, owner: int) -> None:
        """End the server, unless this is a fork of the tests."""
        if os.getpid() == owner:
            self.process.communicate()
            import shutil

            shutil.rmtree(os.path.dirname(self.path), ignore_errors=True)


_servers: dict[int, Server] = {}


def warm_python() -> list[str]:
    """Return the command line of an interpreter that has torch and fairseq loaded: ``[*warm_python(), "-c", code]``."""
    if os.environ.get("NORMALIGN_COLD"):
        return [sys.executable]
    server = _servers.get(os.getpid()) or _servers.setdefault(os.getpid(), Server())
    return [sys.executable, "-I", "-S", __file__, server.path]


def warm_programs(folder: str | os.PathLike[str]) -> str:
    """Write ``python`` and the programs of this environment that are Python into a folder, and return it for PATH."""
    import shlex

    os.makedirs(folder, exist_ok=True)
    own = os.path.dirname(sys.executable)
    start = shlex.join(warm_python())
    programs = [name for name in os.listdir(own) if name == "normalign" or name.startswith("fairseq-")]
    for name in ("python", *programs):
        path = os.path.join(folder, name)
        script = "" if name == "python" else shlex.quote(os.path.join(own, name))
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {start} {script} "$@"\n')
        os.chmod(path, 0o755)
    return os.fspath(folder)


# -- the command's side: it hands everything to the server, and ends as the fork ends ---------------------------------


def ask(path: str, arguments: list[str]) -> int | None:
    """Return how the command ended, as ``waitpid`` tells it; None where it has to be run by a new Python."""
    if not arguments or (arguments[0][0] == "-" and arguments[0] not in ("-c", "-m")):
        return None
    request = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ), "mask": os.umask(0o022)}
    os.umask(request["mask"])
    message = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
            socket.send_fds(connection, [len(message).to_bytes(8, "big")], [0, 1, 2])
        except OSError:  # no server, or a closed stream
            return None
        connection.sendall(message)
        answer = connection.recv(64)
    return None if answer == COLD else int(answer or b"9")


def end_like(status: int) -> None:
    """Exit with the same code, or by the same signal."""
    if os.WIFSIGNALED(status):
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.WEXITSTATUS(status))


# -- the server's side ------------------------------------------------------------------------------------------------


def serve(path: str) -> None:
    """Fork for every request, until standard input is closed; returns in each fork when its command has ended."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    sys.path[0] = os.path.dirname(sys.executable)  # not this folder, whose tests are named as packages are
    for name in ("torch", "torch._dynamo", "fairseq"):  # the second is what an optimizer imports
        with contextlib.suppress(ImportError):
            __import__(name)
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return attend(connection)
        connection.close()
        while _ended(-1):
            pass


def _ended(child: int) -> tuple[int, int] | None:
    try:
        found = os.waitpid(child, os.WNOHANG)
    except ChildProcessError:
        return None
    return found if found[0] else None


def attend(connection: socket.socket) -> None:
    """Run one command in a fork, and tell the client how it ended. A client that goes away ends its command."""
    header, streams, _, _ = socket.recv_fds(connection, 8, 3)
    message = b""
    while len(message) < int.from_bytes(header, "big"):
        message += connection.recv(1 << 16)
    request = json.loads(message)
    if not _same_interpreter(request["environment"]):
        connection.sendall(COLD)
        os._exit(0)
    child = os.fork()
    if child == 0:
        connection.close()
        return become(request, streams)
    for stream in streams:
        os.close(stream)
    while not (ended := _ended(child)):
        if select.select([connection], [], [], 0.01)[0]:
            os.kill(child, signal.SIGKILL)
    try:
        connection.sendall(str(ended[1]).encode())
    finally:
        os._exit(0)


def _same_interpreter(environment: dict[str, str]) -> bool:
    """Whether a new Python would be set as this one is; folders on its path can be added."""
    import locale

    ours, theirs = (
        {name: value for name, value in steps.items() if name.startswith("PYTHON")}
        for steps in (os.environ, environment)
    )
    ours.pop("PYTHONPATH", None)
    theirs.pop("PYTHONPATH", None)
    if locale.getpreferredencoding(False).lower() in ("utf-8", "utf8") and theirs.get("PYTHONUTF8") == "1":
        del theirs["PYTHONUTF8"]
    return ours == theirs


def become(request: dict, streams: list[int]) -> None:
    """Turn this fork into the command, and run it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    old_path = os.environ.get("PYTHONPATH", "")
    os.chdir(request["folder"])
    os.umask(request["mask"])
    os.environ.clear()
    os.environ.update(request["environment"])
    _renew_streams()
    _renew_path(old_path)
    try:
        _run(request["arguments"])
    except SystemExit as end:
        _end(end.code)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        _end(1)
    _end(0)


def _end(code: object) -> None:
    """End as ``sys.exit(code)`` does, but for taking every module apart, which takes a second in a fork."""
    import atexit
    import threading

    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        if not sys.stdout.closed:
            sys.stdout.flush()
    except (OSError, ValueError):
        code = 120
    os._exit((code or 0) & 0xFF)


def _renew_streams() -> None:
    """New objects for the new streams, also for handlers of logging; fairseq's commands set logging up themselves."""
    import logging

    sys.stdin = sys.__stdin__ = open(0, encoding=sys.stdin.encoding, errors=sys.stdin.errors, closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False)
    sys.stderr = sys.__stderr__ = open(
        2, "w", buffering=1, encoding=sys.stderr.encoding, errors=sys.stderr.errors, closefd=False
    )
    for handler in logging.root.handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(sys.stderr)


def _renew_path(old: str) -> None:
    import importlib

    before = [folder for folder in old.split(os.pathsep) if folder]
    wanted = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:] = [sys.path[0], *wanted, *(folder for folder in sys.path[1:] if folder not in {*before, *wanted})]
    importlib.invalidate_caches()


def _run(arguments: list[str]) -> None:
    """As the command line of Python: ``-c CODE``, ``-m MODULE`` or a file, and the arguments of the program."""
    import logging
    import runpy
    import types

    first, *rest = arguments
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path[0] = ""
        sys.modules["__main__"] = main = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
    elif first == "-m":
        sys.argv = ["-m", *rest[1:]]
        sys.path[0] = os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *rest]
        sys.path[0] = os.path.dirname(first)
        if os.path.basename(first).startswith("fairseq-"):
            logging.root.handlers.clear()
            logging.root.setLevel(logging.WARNING)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        found = ask(sys.argv[1], sys.argv[2:])
        if found is None:
            os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
        end_like(found)

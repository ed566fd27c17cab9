"""A command in a fork of the warm process does what it does in a new Python."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from tests.warm import warm_programs, warm_python

SCRIPTS = {
    "arguments and name": "import sys; print(sys.argv, __name__)",
    "folder and environment": "import os; print(os.getcwd(), os.environ['ASKED'], 'HOME' in os.environ)",
    "streams": "import sys; print(sys.stdin.read()); print('seen', file=sys.stderr)",
    "exit code": "import sys; sys.exit(3)",
    "exit line": "import sys; sys.exit('a line')",
    "exception": "1 / 0",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "at exit": "import atexit; atexit.register(print, 'last')",
    "thread": "import threading, time; threading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()",
    "file that is closed": "import sys; sys.stdout.close()",
    "this package": "import sys; print('fairseq_normalign' in sys.modules); import fairseq_normalign",
    "random numbers": "import random; print(len({random.random()}))",
    "folder of modules": "import beside; print(beside.NAME)",
}


def outcome(start: list[str], code: str, folder) -> tuple[int, str, str]:
    environment = {**os.environ, "ASKED": "ja ä", "PYTHONPATH": os.pathsep.join(sys.path[1:])}
    result = subprocess.run(
        [*start, "-c", code, "one", "two words"],
        cwd=folder,
        env=environment,
        input="ein\nzwei\n",
        encoding="utf-8",
        check=False,
        capture_output=True,
    )
    return result.returncode, result.stdout, "\n".join(result.stderr.splitlines()[-1:])


@pytest.mark.parametrize("name", SCRIPTS)
def test_as_a_new_python(name, tmp_path):
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    cold = outcome([sys.executable], SCRIPTS[name], tmp_path)
    assert outcome(warm_python(), SCRIPTS[name], tmp_path) == cold


def test_forks_have_torch_and_fairseq_and_not_each_others_modules():
    code = "import sys; print('torch' in sys.modules, 'json.tool' in sys.modules); import json.tool"
    for _ in range(2):
        done = subprocess.run([*warm_python(), "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [str(not os.environ.get("NORMALIGN_COLD")), "False"]


def test_other_settings_of_python_are_obeyed(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([*warm_python(), "-c", "print('ä')"], env=environment, capture_output=True, check=True)
    assert done.stdout == b"\xe4\n"


def test_programs_for_shells(tmp_path):
    folder = warm_programs(tmp_path / "with space")
    script = (
        f"PATH={shlex.quote(folder)}:$PATH; normalign --version; echo 'print(6 * 7)' | python -; python -m this | wc -l"
    )
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True)
    version, answer, lines = done.stdout.split("\n")[:3]
    assert version.startswith("normalign ")
    assert (answer, int(lines)) == ("42", 21)

"""tests/run.sh and tests/matrix.sh, with stand-ins for what they start."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

RUN = """#!/bin/bash
echo "$PYTHON" >&2
echo "== pytest"
echo "SKIPPED [1] tests/a.py:3: no browser"
echo "======= 2 failed, 31 passed, 1 skipped, 4 deselected in 3.21s ======="
echo "== pytest FAILED; ruff check passed; ruff format passed; mypy passed"
exit 1
"""


def bash(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(script), *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def program(path: Path, code: str) -> None:
    path.write_text(f"#!/bin/bash\n{code}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("failing", [None, "python", "ruff", "mypy"])
def test_every_check_runs_and_any_failure_counts(tmp_path, failing):
    root = tmp_path / "with spaces"
    (root / "tests").mkdir(parents=True)
    (root / "recipes").mkdir()
    (root / "programs").mkdir()
    shutil.copy(REPOSITORY / "tests" / "run.sh", root / "tests")
    (root / "recipes" / "setup.sh").write_text('export PATH="$PWD/programs:$PATH"\n')
    for name in ("python", "ruff", "mypy"):
        program(root / "programs" / name, f'echo "{name}: $*"; exit {int(name == failing)}')
    result = bash(root / "tests" / "run.sh", "-k", "one thing")
    assert result.returncode == (1 if failing else 0)
    lines = result.stdout.splitlines()
    assert any(re.fullmatch(r"python: -m pytest -n [1-4] -k one thing", line) for line in lines)
    assert "mypy: " in lines
    ended = {"python": "pytest FAILED", "ruff": "ruff check FAILED; ruff format FAILED", "mypy": "mypy FAILED"}
    assert ("FAILED" in lines[-1]) is bool(failing)
    assert failing is None or ended[failing] in lines[-1]


def test_the_matrix_is_one_table_of_fresh_clones(tmp_path):
    root = tmp_path / "a repository"
    (root / "tests").mkdir(parents=True)
    shutil.copy(REPOSITORY / "tests" / "matrix.sh", root / "tests")
    program(root / "tests" / "run.sh", RUN)
    names = {f"GIT_{role}_{what}": "x@y.z" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", *command], cwd=root, env={**os.environ, **names}, check=True)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / f"python{version}", f'exec "{sys.executable}" "$@"')
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    matrix = str(tmp_path / "the matrix")
    result = bash(root / "tests" / "matrix.sh", PATH=path, PYTHONS=f"{version} 3.2", MATRIX=matrix)
    assert result.returncode == 1, result.stderr
    table = result.stdout[result.stdout.index("| Python") :].splitlines()
    checks = "pytest FAILED; ruff check passed; ruff format passed; mypy passed"
    assert table[2] == f"| {version} | 31 | 2 |  | 1 | {checks} | 0 |"
    assert table[3] == "| 3.2 | no such interpreter |"
    assert f"{version}: SKIPPED [1] tests/a.py:3: no browser" in table
    assert (tmp_path / "the matrix" / version / "tests" / "run.sh").exists()

"""recipes/setup.sh with a stand-in for Python: what it asks pip for, what it leaves alone, where it stops."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

PYTHON = r"""#!/bin/bash
# A Python that can import the names in $STATE/packages, and whose pip adds and removes them.
known() { grep -qx "$1" "$STATE/packages" 2>/dev/null; }
case "$1 $2" in
  "-m venv")
    [ ! -e "$STATE/no-venv-$(basename "$0")" ] || exit 1
    mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-m pip")
    shift 2
    [ "$1" != --version ] || exit 0
    echo "$*" >>"$STATE/pip"
    for word in "$@"; do
      [ ! -e "$STATE/refused" ] || ! grep -qxF -- "$word" "$STATE/refused" || exit 1
      case $1:$word in
        install:fairseq-fixed==* | install:fairseq==*) echo fairseq >>"$STATE/packages" ;;
        install:torchaudio) echo "$(cat "$STATE/audio" 2>/dev/null || echo torchaudio)" >>"$STATE/packages" ;;
        install:torch[=\>]*) echo torch >>"$STATE/packages" ;;
        uninstall:torchaudio) sed -i /torchaudio/d "$STATE/packages" ;;
      esac
    done
    echo "  Downloading https://host/x/torch-9.9.whl (190.1 MB)"
    echo "Building wheel for fairseq (setup.py): started" ;;
  "--version ") echo "Python 3.99" ;;
  "- fairseq-fixed") echo "regex" ;;
  "- torch"*) [ "$2" = "torch==2.9" ] ;;
  "-c "*)
    case $2 in
      *ensurepip*) [ ! -e "$STATE/no-ensurepip-$(basename "$0")" ] ;;
      *sys.version_info\ \>=*) exit 1 ;;
      *"find_spec('torchaudio')"*) known torchaudio || known broken-torchaudio ;;
      *"find_spec('fairseq')"*) known fairseq || known broken-fairseq ;;
      *"find_spec('torch')"*) known torch || known old-torch ;;
      *"import torchaudio"*) known torchaudio ;;
      *"import fairseq"*) known fairseq ;;
      *"import torch;"*) known torch ;;
    esac ;;
esac
"""
NAMES = ("python3.11", "python3", "python3.12", "python3.13", "python3.10", "python")


@dataclass(frozen=True)
class Machine:
    """A repository whose path has spaces, with every interpreter a stand-in."""

    folder: Path

    @property
    def repository(self) -> Path:
        return self.folder / "a repository"

    def write(self, name: str, *lines: str) -> None:
        (self.folder / "state" / name).write_text("".join(f"{line}\n" for line in lines))

    def has(self) -> set[str]:
        file = self.folder / "state" / "packages"
        return set(file.read_text().split()) if file.exists() else set()

    def asked(self) -> str:
        """Everything pip was asked for."""
        file = self.folder / "state" / "pip"
        return file.read_text() if file.exists() else ""

    def set_up(self, **variables: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder / 'programs'}{os.pathsep}/usr/bin{os.pathsep}/bin"
        environment = {"PATH": path, "HOME": str(self.folder), "STATE": str(self.folder / "state"), **variables}
        script = 'set -euo pipefail; . "$0" dev; echo "ready: $PATH"'
        command = ["bash", "-c", script, str(self.repository / "recipes" / "setup.sh")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def make_environment(self) -> str:
        """An environment that somebody has already."""
        place = self.folder / "some environment"
        (place / "bin").mkdir(parents=True)
        shutil.copy(self.folder / "programs" / "python", place / "bin" / "python")
        return str(place)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    (made.repository / "recipes").mkdir(parents=True)
    shutil.copy(REPOSITORY / "recipes" / "setup.sh", made.repository / "recipes")
    shutil.copy(REPOSITORY / "pyproject.toml", made.repository)
    (tmp_path / "state").mkdir()
    (tmp_path / "programs").mkdir()
    for name in NAMES:
        program = tmp_path / "programs" / name
        program.write_text(PYTHON)
        program.chmod(0o755)
    return made


def test_from_nothing_it_installs_everything_and_says_what_it_downloads(machine):
    result = machine.set_up()
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"ready: {machine.repository / '.venv' / 'bin'}:")
    assert {"torch", "fairseq"} <= machine.has()
    assert f"-e {machine.repository}[dev]" in machine.asked()
    assert "--no-deps fairseq-fixed==0.12.3.1" in machine.asked()
    assert "GB of downloads" in result.stderr
    assert "downloading torch-9.9.whl (190.1 MB)" in result.stderr
    assert "compiling fairseq" in result.stderr


def test_the_second_time_it_does_nothing(machine):
    machine.set_up()
    asked = machine.asked()
    result = machine.set_up()
    assert (result.returncode, result.stderr) == (0, "")
    assert machine.asked() == asked


def test_a_fairseq_that_imports_is_left_alone(machine):
    environment = machine.make_environment()
    machine.write("packages", "torch", "fairseq")
    result = machine.set_up(VENV=environment)
    assert result.returncode == 0, result.stderr
    assert "fairseq-fixed" not in machine.asked()
    assert "fairseq==" not in machine.asked()
    assert "torch" not in machine.asked().replace(str(machine.folder), "")


@pytest.mark.parametrize(
    ("package", "message"), [("broken-fairseq", "the fairseq in VENV"), ("old-torch", "the torch in VENV")]
)
def test_what_somebody_has_is_never_replaced(machine, package, message):
    environment = machine.make_environment()
    machine.write("packages", package, *(["torch"] if package == "broken-fairseq" else []))
    result = machine.set_up(VENV=environment)
    assert result.returncode == 2
    assert f"error: {message}={environment}" in result.stderr
    assert machine.asked() == ""


def test_a_torch_that_cannot_be_had_is_an_error(machine):
    machine.write("refused", "torch==2.15.0+cpu")
    result = machine.set_up(TORCH="torch==2.15.0+cpu")
    assert result.returncode == 2
    assert "error: TORCH=torch==2.15.0+cpu could not be installed" in result.stderr
    assert "torch" not in machine.has()


def test_the_torch_that_was_asked_for_is_installed(machine):
    result = machine.set_up(TORCH="torch==2.9")
    assert result.returncode == 0, result.stderr
    assert "install torch==2.9 " in machine.asked()
    assert "torch==2.13.0" not in machine.asked()


def test_the_next_torch_is_tried_where_none_was_asked_for(machine):
    machine.write("refused", "torch==2.13.0+cpu")
    result = machine.set_up()
    assert result.returncode == 0, result.stderr
    assert "install torch==2.13.0 " in machine.asked()


@pytest.mark.parametrize("index", ["", "file:///builds"])
def test_without_a_gpu_the_cpu_build_is_asked_for_and_looked_for_where_one_says(machine, index):
    assert machine.set_up(TORCH_INDEX=index).returncode == 0
    first = machine.asked().splitlines()[0]
    assert ("--extra-index-url file:///builds" in first) is bool(index)
    assert "torch==2.13.0+cpu" in first


def test_with_a_gpu_the_usual_build_is_installed(machine):
    smi = machine.folder / "programs" / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'GPU 0: of some kind'\n")
    smi.chmod(0o755)
    assert machine.set_up().returncode == 0
    assert machine.asked().startswith("install torch==2.13.0 ")


def test_torchaudio_that_does_not_import_is_removed(machine):
    machine.write("audio", "broken-torchaudio")
    result = machine.set_up()
    assert result.returncode == 0, result.stderr
    assert "uninstall -y torchaudio" in machine.asked()
    assert "removing torchaudio" in result.stderr
    assert "'pip check' goes on naming it" in result.stderr


def test_torchaudio_that_imports_stays(machine):
    assert machine.set_up().returncode == 0
    assert "install --no-deps" in machine.asked()
    assert "torchaudio" in machine.has()


def test_in_an_environment_of_somebodys_own_torchaudio_is_only_mentioned(machine):
    environment = machine.make_environment()
    machine.write("packages", "torch", "fairseq", "broken-torchaudio")
    result = machine.set_up(VENV=environment)
    assert result.returncode == 0, result.stderr
    assert "warning: the torchaudio in VENV" in result.stderr
    assert "uninstall" not in machine.asked()


@pytest.mark.parametrize("lacking", ["no-ensurepip", "no-venv"])
def test_an_interpreter_that_makes_no_environment_is_passed_over(machine, lacking):
    machine.write(f"{lacking}-python3.11")
    result = machine.set_up()
    assert result.returncode == 0, result.stderr


def test_no_interpreter_at_all_is_one_line(machine):
    for name in NAMES:
        machine.write(f"no-ensurepip-{name}")
    result = machine.set_up()
    assert result.returncode == 2
    assert "error: no Python from 3.10 to 3.13" in result.stderr
    assert "python3-venv" in result.stderr


def test_the_interpreter_that_was_asked_for_or_none(machine):
    machine.write("no-ensurepip-python3.12")
    result = machine.set_up(PYTHON="python3.12")
    assert result.returncode == 2
    assert "PYTHON=python3.12 is not a Python from 3.10 to 3.13 with venv and ensurepip" in result.stderr


def test_what_pip_cannot_install_is_an_error(machine):
    machine.write("refused", "fairseq-fixed==0.12.3.1")
    result = machine.set_up()
    assert result.returncode == 2
    assert "fairseq could not be installed" in result.stderr
    assert "normalign-setup.log" in result.stderr

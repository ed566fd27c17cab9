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

    def read(self, name: str) -> str:
        """``packages``: what is installed; ``pip``: everything pip was asked for."""
        file = self.folder / "state" / name
        return file.read_text() if file.exists() else ""

    def set_up(self, **variables: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder / 'programs'}{os.pathsep}/usr/bin{os.pathsep}/bin"
        environment = {"PATH": path, "HOME": str(self.folder), "STATE": str(self.folder / "state"), **variables}
        script = 'set -euo pipefail; . "$0" dev; echo "ready: $PATH"'
        command = ["bash", "-c", script, str(self.repository / "recipes" / "setup.sh")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


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


def test_from_nothing_it_installs_everything_once_and_says_what_it_downloads(machine):
    result = machine.set_up()
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"ready: {machine.repository / '.venv' / 'bin'}:")
    assert {"torch", "fairseq", "torchaudio"} == set(machine.read("packages").split())
    asked = machine.read("pip")
    assert f"-e {machine.repository}[dev]" in asked
    assert "--no-deps fairseq-fixed==0.12.3.1" in asked
    said = ("GB of downloads", "downloading torch-9.9.whl (190.1 MB)", "compiling fairseq")
    assert all(part in result.stderr for part in said)
    again = machine.set_up()
    assert (again.returncode, again.stderr) == (0, "")
    assert machine.read("pip") == asked


@pytest.mark.parametrize(
    ("there", "code", "says"),
    [
        ("torch fairseq", 0, ""),
        ("torch broken-fairseq", 2, "error: the fairseq in VENV=PLACE"),
        ("old-torch", 2, "error: the torch in VENV=PLACE"),
        ("torch fairseq broken-torchaudio", 0, "warning: the torchaudio in VENV"),
    ],
)
def test_what_somebody_has_is_never_replaced(machine, there, code, says):
    place = machine.folder / "some environment"
    (place / "bin").mkdir(parents=True)
    shutil.copy(machine.folder / "programs" / "python", place / "bin" / "python")
    machine.write("packages", *there.split())
    result = machine.set_up(VENV=str(place))
    assert result.returncode == code, result.stderr
    assert says.replace("PLACE", str(place)) in result.stderr
    asked = machine.read("pip").replace(str(machine.folder), "")
    assert not [name for name in ("torch", "fairseq-fixed", "fairseq==", "uninstall") if name in asked]
    assert code == 0 or not asked


@pytest.mark.parametrize(
    ("refused", "variables", "first"),
    [
        ("", {}, "install torch==2.13.0+cpu "),
        ("", {"TORCH_INDEX": "file:///builds"}, "install --extra-index-url file:///builds torch==2.13.0+cpu "),
        ("", {"TORCH": "torch==2.9"}, "install torch==2.9 "),
        ("torch==2.13.0+cpu", {}, "install torch==2.13.0+cpu "),
    ],
    ids=["the CPU build", "from an index", "as asked for", "the next where the first is refused"],
)
def test_which_torch_is_installed(machine, refused, variables, first):
    machine.write("refused", refused)
    assert machine.set_up(**variables).returncode == 0
    asked = machine.read("pip")
    assert asked.startswith(first)
    assert ("install torch==2.13.0 " in asked) is bool(refused)


def test_with_a_gpu_the_usual_torch_is_installed(machine):
    smi = machine.folder / "programs" / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'GPU 0: of some kind'\n")
    smi.chmod(0o755)
    assert machine.set_up().returncode == 0
    assert machine.read("pip").startswith("install torch==2.13.0 ")


def test_torchaudio_that_does_not_import_is_removed(machine):
    machine.write("audio", "broken-torchaudio")
    result = machine.set_up()
    assert result.returncode == 0, result.stderr
    assert "uninstall -y torchaudio" in machine.read("pip")
    assert "removing torchaudio" in result.stderr
    assert "'pip check' goes on naming it" in result.stderr


@pytest.mark.parametrize("lacking", ["no-ensurepip", "no-venv"])
def test_an_interpreter_that_makes_no_environment_is_passed_over(machine, lacking):
    machine.write(f"{lacking}-python3.11")
    result = machine.set_up()
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("refused", "without", "variables", "says"),
    [
        (
            "torch==2.15.0+cpu",
            (),
            {"TORCH": "torch==2.15.0+cpu"},
            "error: TORCH=torch==2.15.0+cpu could not be installed",
        ),
        ("fairseq-fixed==0.12.3.1", (), {}, "fairseq could not be installed"),
        ("", NAMES, {}, "error: no Python from 3.10 to 3.13"),
        (
            "",
            ("python3.12",),
            {"PYTHON": "python3.12"},
            "PYTHON=python3.12 is not a Python from 3.10 to 3.13 with venv",
        ),
    ],
)
def test_what_cannot_be_had_is_an_error(machine, refused, without, variables, says):
    machine.write("refused", refused)
    for name in without:
        machine.write(f"no-ensurepip-{name}")
    result = machine.set_up(**variables)
    assert result.returncode == 2
    assert says in result.stderr
    assert ("python3-venv" if without == NAMES else "") in result.stderr
    assert "normalign-setup.log" in result.stderr or not refused

"""The program where neither torch nor a host is installed: what needs none works, the rest says what to type."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_normalign.requirements import explained_imports, missing_package
from tests.conftest import REPOSITORY

CORE = ("numpy", "sacremoses", "safetensors", "subword-nmt", "tqdm")

START = """
import json, sys
allowed, blocked = map(set, json.loads(sys.argv.pop(1)))
class Blocker:
    def find_spec(self, name, path=None, target=None):
        first = name.partition(".")[0]
        if first in blocked or (allowed and first not in allowed):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
"""
"""Python that can import what it is allowed to and nothing else."""
MAIN = "from fairseq_normalign.cli import main; sys.exit(main())"
TEXT = ("--source", "s", "--target", "t")


def with_what_they_need(names: tuple[str, ...]) -> set[str]:
    """These distributions and all that they require, extras aside."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        found.add(name)
        try:
            lines = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:  # for another system
            continue
        waiting += [re.match(r"[\w.-]+", line)[0] for line in lines if "extra ==" not in line]
    return found


def modules_of(name: str) -> set[str]:
    """What a distribution installs that can be imported, by the first part of its files' paths."""
    try:
        files = importlib.metadata.files(name) or []
    except importlib.metadata.PackageNotFoundError:
        return set()
    return {file.parts[0].partition(".")[0] for file in files if file.suffix in (".py", ".so", ".pyd")}


@pytest.fixture(scope="module")
def allowed() -> list[str]:
    core = with_what_they_need(CORE)
    assert not {"torch", "fairseq", "fairseq-fixed", "transformers"} & core
    modules = {module for name in core for module in modules_of(name)}
    return sorted({*modules, *sys.stdlib_module_names, *sys.builtin_module_names, "fairseq_normalign"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gold").write_text("1-1 2-2 3p3\n1-2 2-1\n")
    (tmp_path / "links").write_text("0-0 1-1 2-2\n0-1 1-1\n")
    (tmp_path / "s").write_text("das ist gut\nja doch\n")
    (tmp_path / "t").write_text("that is good\noh yes\n")
    (tmp_path / "model.pt").write_bytes(b"")
    return tmp_path


def alone(folder: Path, *arguments: str, allowed=(), blocked=(), code: str = MAIN) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", START + code, json.dumps([allowed, blocked]), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["score", "gold", "links", "--gold-base", "1"], "22.2  80.0  75.0"),
        (["convert", "links", "--to", "naacl"], "0001 3 3 S"),
        (["symmetrize", "links", "links"], "0-0 1-1 2-2"),
        (["view", "--links", "links", *TEXT], "■"),
        (["user-dir"], "fairseq_normalign"),
        (["align", "--help-all"], "--precision"),
    ],
)
def test_links_need_no_host(allowed, folder, arguments, expected):
    result = alone(folder, *arguments, allowed=allowed)
    assert result.returncode == 0, result.stderr
    assert result.stderr == "" or arguments[0] == "view"
    assert expected in result.stdout


HOST = r"needs .*pip install 'fairseq-normalign\[(fairseq|transformers)\]'"


@pytest.mark.parametrize(
    ("verb", "says"),
    [
        *((f"{verb} --path model.pt", HOST) for verb in ("align", "layers", "view", "analyze heads")),
        ("compare --path model.pt --gold gold --gold-base 1", HOST),
        ("view --links links -o a.png", r"pip install 'fairseq-normalign\[plots\]'"),
    ],
)
def test_what_is_missing_is_one_line_with_what_to_type(allowed, folder, verb, says):
    result = alone(folder, *verb.split(), *TEXT, allowed=allowed)
    assert result.returncode == 2
    assert re.search(f"error: .*{says}", result.stderr.splitlines()[-1])
    assert len(result.stderr.splitlines()) == 1 or "links" in verb


def test_from_python_it_is_our_error(allowed, folder):
    code = (
        "import fairseq_normalign\ntry: fairseq_normalign.load('model.pt')\n"
        "except fairseq_normalign.errors.NormalignError as error: print(error)"
    )
    assert "pip install 'fairseq-normalign[fairseq]'" in alone(folder, allowed=allowed, code=code).stdout


def test_with_the_other_host_alone_a_fairseq_checkpoint_says_what_it_needs(folder):
    blocked = ("fairseq", "fairseq_cli", "hydra", "omegaconf")
    result = alone(folder, "align", "--path", "model.pt", *TEXT, "--cpu", blocked=blocked)
    assert result.returncode == 2
    says = "a fairseq checkpoint needs the package 'fairseq': pip install 'fairseq-normalign[fairseq]'"
    assert result.stderr.splitlines()[-1].endswith(says)


def test_a_module_that_no_extra_brings_stays_a_bug():
    assert missing_package("no_such_module") is None
    with pytest.raises(ModuleNotFoundError), explained_imports():
        import no_such_module  # noqa: F401


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise ValueError('mutable default <class x>')", "ValueError: mutable default"),
        ("import a_part_that_is_missing", "No module named 'a_part_that_is_missing'"),
    ],
)
def test_a_fairseq_that_does_not_import_is_one_line(folder, code, reason):
    (folder / "fairseq").mkdir()
    (folder / "fairseq" / "__init__.py").write_text(code)
    result = alone(folder, "align", "--path", "model.pt", *TEXT, "--cpu")
    assert result.returncode == 2
    assert f"the fairseq at {folder / 'fairseq'} cannot be imported" in result.stderr.splitlines()[-1]
    assert reason in result.stderr.splitlines()[-1]

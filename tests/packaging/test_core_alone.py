"""The program where neither torch nor a host is installed: what needs none works, the rest says what to type."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.requirements import explained_imports, import_fairseq, missing_package
from tests.conftest import REPOSITORY

CORE = ("numpy", "sacremoses", "safetensors", "subword-nmt", "tqdm")

BLOCKED = """
import json, sys
allowed = set(json.loads(sys.argv.pop(1)))
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
"""
"""Python that can import what it is allowed to and nothing else."""


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
def allowed() -> str:
    core = with_what_they_need(CORE)
    assert not {"torch", "fairseq", "fairseq-fixed", "transformers"} & core
    modules = {module for name in core for module in modules_of(name)}
    return json.dumps(sorted({*modules, *sys.stdlib_module_names, *sys.builtin_module_names, "fairseq_normalign"}))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "gold").write_text("1-1 2-2 3p3\n1-2 2-1\n")
    (tmp_path / "links").write_text("0-0 1-1 2-2\n0-1 1-1\n")
    (tmp_path / "s").write_text("das ist gut\nja doch\n")
    (tmp_path / "t").write_text("that is good\noh yes\n")
    (tmp_path / "model.pt").write_bytes(b"")
    return tmp_path


def alone(allowed: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = (
        f"{BLOCKED}\nsys.path.insert(0, {str(REPOSITORY)!r})\nfrom fairseq_normalign.cli import main\nsys.exit(main())"
    )
    command = [sys.executable, "-c", code, allowed, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["score", "gold", "links", "--gold-base", "1"], "22.2  80.0  75.0"),
        (["convert", "links", "--to", "naacl"], "0001 3 3 S"),
        (["symmetrize", "links", "links"], "0-0 1-1 2-2"),
        (["view", "--links", "links", "--source", "s", "--target", "t"], "■"),
        (["user-dir"], "fairseq_normalign"),
        (["align", "--help-all"], "--bf16"),
    ],
)
def test_links_need_no_host(allowed, files, arguments, expected):
    result = alone(allowed, files, *arguments)
    assert (result.returncode, result.stderr) == (0, "") or arguments[0] == "view"
    assert result.returncode == 0, result.stderr
    assert expected in result.stdout


TEXT = ("--source", "s", "--target", "t")


@pytest.mark.parametrize(
    "arguments",
    [
        ["align", "--path", "model.pt", *TEXT],
        ["layers", "--path", "model.pt", *TEXT],
        ["compare", "--path", "model.pt", *TEXT, "--gold", "gold", "--gold-base", "1"],
        ["view", "--path", "model.pt", *TEXT],
        ["analyze", "heads", "--path", "model.pt", *TEXT],
    ],
)
def test_a_model_without_a_host_is_one_line_with_what_to_type(allowed, files, arguments):
    result = alone(allowed, files, *arguments)
    lines = result.stderr.splitlines()
    assert result.returncode == 2
    assert len(lines) == 1
    assert re.search(r"error: .* needs .*pip install 'fairseq-normalign\[(fairseq|transformers)\]'", lines[0])


def test_from_python_it_is_our_error(allowed, files):
    code = (
        f"{BLOCKED}\nsys.path.insert(0, {str(REPOSITORY)!r})\nimport fairseq_normalign\n"
        "try: fairseq_normalign.load('model.pt')\n"
        "except fairseq_normalign.errors.NormalignError as error: print(error)"
    )
    command = [sys.executable, "-c", code, allowed]
    result = subprocess.run(command, cwd=files, capture_output=True, text=True, check=True)
    assert "pip install 'fairseq-normalign[fairseq]'" in result.stdout


def test_figures_name_their_extra(allowed, files):
    result = alone(allowed, files, "view", "--links", "links", *TEXT, "-o", "a.png")
    assert result.returncode == 2
    assert "pip install 'fairseq-normalign[plots]'" in result.stderr.splitlines()[-1]


def test_a_module_that_no_extra_brings_stays_a_bug():
    assert missing_package("no_such_module") is None
    with pytest.raises(ModuleNotFoundError), explained_imports():
        import no_such_module  # noqa: F401


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            "raise ValueError('mutable default <class x> for field common is not allowed')",
            "ValueError: mutable default",
        ),
        ("import a_part_that_is_missing", "No module named 'a_part_that_is_missing'"),
    ],
)
def test_a_fairseq_that_does_not_import_is_one_line(tmp_path, monkeypatch, code, reason):
    (tmp_path / "fairseq").mkdir()
    (tmp_path / "fairseq" / "__init__.py").write_text(code)
    for name in [name for name in sys.modules if name.partition(".")[0] == "fairseq"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(NormalignError) as caught:
        import_fairseq()
    assert f"the fairseq at {tmp_path / 'fairseq'} cannot be imported" in str(caught.value)
    assert reason in str(caught.value)


def test_with_the_other_host_alone_a_fairseq_checkpoint_says_what_it_needs(files):
    code = (
        "import sys\nclass Blocker:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('fairseq', 'fairseq_cli', 'hydra', 'omegaconf'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        f"sys.meta_path.insert(0, Blocker())\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from fairseq_normalign.cli import main\nsys.exit(main())"
    )
    command = [sys.executable, "-c", code, "align", "--path", "model.pt", *TEXT, "--cpu"]
    result = subprocess.run(command, cwd=files, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].endswith(
        "a fairseq checkpoint needs the package 'fairseq': pip install 'fairseq-normalign[fairseq]'"
    )

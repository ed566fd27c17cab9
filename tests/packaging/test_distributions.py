"""What the wheel and the source distribution hold, and what their metadata promises."""

from __future__ import annotations

import email.message
import email.parser
import importlib.metadata
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from fairseq_normalign.version import __version__
from tests.conftest import PACKAGE, REPOSITORY


@pytest.fixture(scope="module")
def built(built_wheel: Path) -> Path:
    """A folder with the wheel and the source distribution."""
    folder = built_wheel.parent
    code = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=folder / "copy")
    return folder


@pytest.fixture(scope="module")
def wheel(built_wheel: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(built_wheel)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.parser.Parser().parsestr(wheel.read(name).decode("utf-8"))


def sources(folder: Path) -> set[str]:
    """The files of a folder that a distribution has to hold."""
    found = (path.relative_to(REPOSITORY) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if not {"__pycache__", "work"} & set(path.parts)}


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == sources(PACKAGE)
    assert {"fairseq_normalign/py.typed", "fairseq_normalign/show/assets/page.js"} <= held
    assert any(name.endswith("/licenses/LICENSE") for name in wheel.namelist())


def test_the_source_distribution_holds_tests_recipes_and_documents(built):
    (file,) = built.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert sources(PACKAGE) | sources(REPOSITORY / "tests") | sources(REPOSITORY / "recipes") <= held
    assert {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md"} <= held
    assert not [name for name in held if "__pycache__" in name or "/work/" in name or name.startswith(".venv")]


def requirements(metadata: email.message.Message, extra: str | None = None) -> set[str]:
    """The names of the packages that the core or an extra needs."""
    found = set()
    for line in metadata.get_all("Requires-Dist", []):
        of_extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if (of_extra[1] if of_extra else None) == extra:
            found.add(re.match(r"[\w.-]+(\[[\w,-]+\])?", line)[0])
    return found


def test_the_core_needs_no_host(metadata):
    assert requirements(metadata) == {"numpy", "sacremoses", "safetensors", "subword-nmt", "tqdm"}


def test_extras_bring_the_hosts(metadata):
    assert requirements(metadata, "fairseq") == {"fairseq", "fairseq-fixed", "torch"}
    assert {"torch", "transformers"} <= requirements(metadata, "transformers")
    (everything,) = requirements(metadata, "all")
    assert {"fairseq", "transformers"} <= set(re.findall(r"[\w-]+", everything))
    old, new = (
        next(line for line in metadata.get_all("Requires-Dist") if line.startswith(f"{name}=="))
        for name in ("fairseq", "fairseq-fixed")
    )
    assert re.search(r"python_version < ['\"]3.11['\"]", old)
    assert re.search(r"python_version >= ['\"]3.11['\"]", new)


def test_metadata_names_version_licence_and_pythons(metadata, wheel):
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.10"
    classified = set(re.findall(r"Python :: (3\.\d+)", "\n".join(metadata.get_all("Classifier"))))
    workflow = (REPOSITORY / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert set(re.findall(r'"(3\.\d+)"', workflow)) == classified
    assert "run: bash tests/run.sh" in workflow
    matrix = (REPOSITORY / "tests" / "matrix.sh").read_text(encoding="utf-8")
    assert set(re.search(r"PYTHONS:-([\d. ]+)", matrix)[1].split()) == classified
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "normalign = fairseq_normalign.cli:main" in wheel.read(name).decode()


def test_the_citation_has_the_version():
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == __version__


def make_environment(folder: Path, *steps: Sequence[object]) -> Path:
    """A new environment in which pip installs one step after the other; its programs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    for step in steps:
        pip = [str(folder / "bin" / "pip"), "install", "-q", *map(str, step)]
        installed = subprocess.run(pip, capture_output=True, text=True, check=False)
        if installed.returncode and "No matching distribution" in installed.stderr:
            pytest.skip("no package index can be reached")
        assert installed.returncode == 0, installed.stderr
    return folder / "bin"


def write_fairseq(folder: Path) -> Path:
    """The wheel of somebody's own fairseq."""
    path = folder / "fairseq-1.0.0a0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("fairseq/__init__.py", "MINE = True\n")
        info = "fairseq-1.0.0a0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: fairseq\nVersion: 1.0.0a0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"fairseq/__init__.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True], ids=["empty", "with a fairseq"])
def test_installed_into_an_environment_the_core_works_and_nothing_else_changes(built_wheel, tmp_path, own):
    programs = make_environment(tmp_path / "new", *([[write_fairseq(tmp_path)]] if own else []), [built_wheel])
    (tmp_path / "links").write_text("0-0 1-1\n")
    scored = subprocess.run([programs / "normalign", "score", "links", "links"], cwd=tmp_path, capture_output=True)
    assert scored.returncode == 0
    listed = subprocess.run([programs / "pip", "list"], capture_output=True, text=True, check=True).stdout
    hosts = {"torch", "fairseq", "fairseq-fixed"} & {line.split()[0] for line in listed.splitlines()}
    assert hosts == ({"fairseq"} if own else set())
    subprocess.run([programs / "pip", "check"], check=True, capture_output=True)
    if own:
        subprocess.run([programs / "python", "-c", "import fairseq; assert fairseq.MINE"], check=True, cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["*.whl", "*.tar.gz"])
@pytest.mark.parametrize("host", ["transformers", "fairseq"])
def test_try_runs_in_an_environment_with_either_host_alone(built, tmp_path, form, host):
    """As docs/getting_started.md says: torch first; fairseq is built against it."""
    (file,) = built.glob(form)
    torch = [f"torch=={importlib.metadata.version('torch')}", "numpy"]
    tools = [["setuptools<81", "wheel", "cython"]] if host == "fairseq" else []
    options = ["--no-build-isolation"] if host == "fairseq" else []
    programs = make_environment(tmp_path / "new", torch, *tools, [*options, f"{file}[{host}]"])
    other = {"transformers": "fairseq", "fairseq": "transformers"}[host]
    assert not list((tmp_path / "new").glob(f"lib/*/site-packages/{other}/__init__.py"))
    tried = subprocess.run([programs / "normalign", "try"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stderr
    assert "■" in tried.stdout
    assert (tmp_path / "normalign-try.html").stat().st_size > 10_000

"""Real workers and real faults: the bytes are those of one process, and no finished window is computed again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.tiny_pair import make_tiny_pair, write_text
from tests.conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "recipes" / "benchmark"))
from faults import KINDS, NORMALIGN, Cluster, broken

needs_dask = pytest.mark.skipif(shutil.which("dask") is None, reason="needs distributed")
PAIRS = 4200
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make_tiny_pair(tmp_path_factory.mktemp("faults")).folder


def command(verb: str, folder: Path) -> list[str]:
    if not (folder / "many.de").exists():
        write_text(folder, PAIRS, "many")
    models = ["--path", folder / "de-en.pt"]
    text = ["--data", folder, "--source", folder / "many.de", "--target", folder / "many.en", "--cpu"]
    return [verb, *map(str, models), *map(str, text), "--readings", "default"]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NORMALIGN, *map(str, arguments)], env=ENVIRONMENT, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.fixture(scope="module")
def expected(folder) -> dict[str, bytes]:
    """What one process writes."""
    found = {}
    for verb in ("align", "check"):
        assert run(*command(verb, folder), "-o", folder / verb).returncode == 0
        found[verb] = (folder / verb).read_bytes()
        assert not Path(f"{folder / verb}.parts").exists()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["align", "check"])
def test_processes_write_the_bytes_of_one(folder, expected, tmp_path, verb):
    assert run(*command(verb, folder), "-o", tmp_path / "out", "--processes", 2).returncode == 0
    assert (tmp_path / "out").read_bytes() == expected[verb]
    printed = run(*command(verb, folder), "--processes", 2)
    assert printed.stdout.encode() == expected[verb]


@pytest.mark.slow
@needs_dask
def test_a_cluster_writes_the_bytes_of_one(folder, expected, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    with Cluster(tmp_path) as cluster:
        for verb in ("align", "check"):
            assert run(*command(verb, folder), "-o", tmp_path / verb, *cluster.options).returncode == 0
            assert (tmp_path / verb).read_bytes() == expected[verb]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shared", [False, pytest.param(True, marks=needs_dask)])
def test_a_fault_changes_nothing(folder, expected, tmp_path, monkeypatch, kind, shared):
    if kind == "scheduler killed" and not shared:
        pytest.skip("there is none")
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    out = tmp_path / "out"
    if not shared:
        watch = broken(command("align", folder), out, kind, None, after=2, stop=3)
    else:
        with Cluster(tmp_path) as cluster:
            watch = broken(command("align", folder), out, kind, cluster, after=2, stop=3)
    assert out.read_bytes() == expected["align"]
    assert watch.again == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("out")) == ["out"]


@pytest.mark.slow
@needs_dask
@pytest.mark.parametrize("what", ["version", "model"])
def test_a_worker_with_another_version_or_model_ends_the_job(folder, tmp_path, monkeypatch, what):
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    other = tmp_path / "other"
    ignored = shutil.ignore_patterns("__pycache__", "toy")
    shutil.copytree(REPOSITORY / "fairseq_normalign", other / "fairseq_normalign", ignore=ignored)
    version = other / "fairseq_normalign" / "version.py"
    if what == "version":
        version.write_text('__version__ = "0.0.1"\n')
    else:  # the file is changed for the worker alone
        jobs = other / "fairseq_normalign" / "jobs.py"
        found = "return found.hexdigest()"
        assert found in jobs.read_text()
        jobs.write_text(jobs.read_text().replace(found, f'{found} + path.endswith(".pt") * "x"'))
    with Cluster(tmp_path, workers=1, environments=[{"PYTHONPATH": str(other)}]) as cluster:
        found = run(*command("align", folder), "-o", tmp_path / "out", *cluster.options)
    assert found.returncode == 2, found.stderr
    assert found.stderr.count("\n") == 1
    assert ("has version 0.0.1" if what == "version" else "another content") in found.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_two_commands_at_once_and_an_output_that_was_changed(folder, expected, tmp_path):
    out = tmp_path / "out"
    full = [*NORMALIGN, *command("align", folder), "-o", str(out)]
    both = [subprocess.Popen(full, env=ENVIRONMENT, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [one.wait(600) for one in both] == [0, 0]
    assert out.read_bytes() == expected["align"]
    for damage in (out.unlink, lambda: out.write_bytes(expected["align"][:999]), lambda: out.write_bytes(b"other\n")):
        damage()
        assert run(*command("align", folder), "-o", out).returncode == 0
        assert out.read_bytes() == expected["align"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]

"""Half precision on the CPU is tried in a child process first; the failing CPU is a stand-in that kills the child."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from fairseq_normalign import half_precision
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.half_precision import LIMIT, SAFE_INSTRUCTIONS, prepare_cpu
from tests.cli.tiny_pair import make_tiny_pair
from tests.conftest import PACKAGE, REPOSITORY
from tests.warm import warm_python

DIES = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
DIES_UNLIMITED = f"import os, signal; os.environ.get({LIMIT!r}) or os.kill(os.getpid(), signal.SIGILL)"
ILLEGAL = signal.strsignal(signal.SIGILL)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """As at the start of a process: nothing tried, nothing limited, and oneDNN on again afterwards."""
    torch = pytest.importorskip("torch")
    monkeypatch.delenv(LIMIT, raising=False)
    monkeypatch.setattr(half_precision, "_prepared", set())
    before = torch.backends.mkldnn.enabled
    yield
    torch.backends.mkldnn.set_flags(before)
    os.environ.pop(LIMIT, None)


def test_where_it_works_nothing_is_changed_or_said(monkeypatch, capsys):
    monkeypatch.setattr(half_precision, "PROBE", "pass")
    prepare_cpu("bf16")
    assert LIMIT not in os.environ
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("started", [False, True])
def test_where_it_kills_the_instructions_are_limited_and_a_line_says_so(monkeypatch, capsys, started):
    import torch

    monkeypatch.setattr(half_precision, "PROBE", DIES_UNLIMITED)
    prepare_cpu("bf16", started=started)
    assert os.environ[LIMIT] == SAFE_INSTRUCTIONS
    assert torch.backends.mkldnn.enabled is not started
    (line,) = capsys.readouterr().err.splitlines()
    assert "bfloat16" in line
    assert ILLEGAL in line
    assert f"{LIMIT}={SAFE_INSTRUCTIONS}" in line


def test_it_is_tried_once_in_a_process(monkeypatch, tmp_path):
    count = f"open({str(tmp_path / 'count')!r}, 'a').write('.')"
    monkeypatch.setattr(half_precision, "PROBE", count)
    for precision in ("bf16", "bf16", "fp16", "bf16"):
        prepare_cpu(precision)
    assert (tmp_path / "count").read_text() == ".."


def test_where_nothing_helps_it_is_one_line(monkeypatch):
    monkeypatch.setattr(half_precision, "PROBE", DIES)
    with pytest.raises(NormalignError) as caught:
        prepare_cpu("fp16")
    assert "cannot compute in float16" in str(caught.value)
    assert ILLEGAL in str(caught.value)
    assert LIMIT not in os.environ


def test_a_limit_of_the_users_own_is_kept(monkeypatch):
    monkeypatch.setenv(LIMIT, "AVX2")
    monkeypatch.setattr(half_precision, "PROBE", DIES)
    with pytest.raises(NormalignError):
        prepare_cpu("bf16")
    assert os.environ[LIMIT] == "AVX2"


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_the_probe_itself_runs_here(monkeypatch, precision):
    monkeypatch.setenv(LIMIT, SAFE_INSTRUCTIONS)  # whatever this machine's CPU announces
    prepare_cpu(precision)


@pytest.mark.parametrize(
    ("probe", "code", "said"),
    [
        (DIES_UNLIMITED, 0, "normalign: note: bfloat16"),
        (DIES, 2, "normalign align: error: this machine cannot compute"),
    ],
)
def test_align_in_bfloat16_where_the_probe_fails(tmp_path, probe, code, said):
    tiny_pair = make_tiny_pair(tmp_path)
    run = (
        "import sys\nfrom fairseq_normalign import half_precision\nfrom fairseq_normalign.cli import main\n"
        f"half_precision.PROBE = {probe!r}\nsys.exit(main())"
    )
    out = tmp_path / "links"
    command = [*warm_python(), "-c", run, "align", *tiny_pair.arguments(), "--bf16", "-o", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == code, result.stderr
    assert [line for line in result.stderr.splitlines() if line.startswith(said)]
    assert out.exists() is (code == 0)


@pytest.mark.parametrize(
    ("probe", "code", "said"),
    [
        (DIES_UNLIMITED, 0, "normalign: note: float16"),
        (DIES, 2, "fairseq_normalign: error: this machine cannot compute"),
    ],
)
def test_fairseq_in_float16_where_the_probe_fails(tmp_path, probe, code, said):
    tiny_pair = make_tiny_pair(tmp_path)
    run = (
        "import sys\nsys.argv[0] = 'fairseq-interactive'\nfrom fairseq_cli import interactive\n"
        "from fairseq_normalign import half_precision, register\nregister()\n"
        f"half_precision.PROBE = {probe!r}\ninteractive.cli_main()"
    )
    options = ["--task", "translation_normalign", "--user-dir", str(PACKAGE), "-s", "de", "-t", "en", "--beam", "1"]
    options += ["--print-alignment", "hard", "--cpu", "--fp16", "--path", str(tiny_pair.path())]
    command = [*warm_python(), "-c", run, str(tiny_pair.folder), *options]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run(
        command, input="w1 w2\n", capture_output=True, text=True, env=environment, timeout=300, check=False
    )
    assert result.returncode == code, result.stderr
    assert [line for line in result.stderr.splitlines() if line.startswith(said)]
    assert ("\nA-0\t" in result.stdout) is (code == 0)

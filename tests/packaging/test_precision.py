"""Half precision on the CPU is tried in a child process first; the failing CPU is a stand-in that kills the child."""

from __future__ import annotations

import os
import signal

import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts import precision as precisions
from fairseq_normalign.hosts.precision import LIMIT, SAFE_INSTRUCTIONS, prepare_cpu
from tests.cli.tiny_pair import make_tiny_pair
from tests.conftest import PACKAGE, run

DIES = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
DIES_UNLIMITED = f"import os, signal; os.environ.get({LIMIT!r}) or os.kill(os.getpid(), signal.SIGILL)"
ILLEGAL = signal.strsignal(signal.SIGILL)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """As at the start of a process: nothing tried, nothing limited, and oneDNN on again afterwards."""
    torch = pytest.importorskip("torch")
    monkeypatch.delenv(LIMIT, raising=False)
    monkeypatch.setattr(precisions, "_prepared", set())
    before = torch.backends.mkldnn.enabled
    yield
    torch.backends.mkldnn.set_flags(before)
    os.environ.pop(LIMIT, None)


def test_where_it_works_nothing_is_changed_and_it_is_tried_once(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(precisions, "PROBE", f"open({str(tmp_path / 'count')!r}, 'a').write('.')")
    for precision in ("bfloat16", "bfloat16", "float16", "bfloat16"):
        prepare_cpu(precision)
    assert (tmp_path / "count").read_text() == ".."
    assert LIMIT not in os.environ
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("started", [False, True])
def test_where_it_kills_the_instructions_are_limited_and_a_line_says_so(monkeypatch, capsys, started):
    import torch

    monkeypatch.setattr(precisions, "PROBE", DIES_UNLIMITED)
    prepare_cpu("bfloat16", started=started)
    assert os.environ[LIMIT] == SAFE_INSTRUCTIONS
    assert torch.backends.mkldnn.enabled is not started
    (line,) = capsys.readouterr().err.splitlines()
    assert all(part in line for part in ("bfloat16", ILLEGAL, f"{LIMIT}={SAFE_INSTRUCTIONS}"))


@pytest.mark.parametrize("users", [None, "AVX2"])
def test_where_nothing_helps_it_is_one_line_and_a_limit_of_the_users_own_is_kept(monkeypatch, users):
    if users:
        monkeypatch.setenv(LIMIT, users)
    monkeypatch.setattr(precisions, "PROBE", DIES)
    with pytest.raises(NormalignError, match=f"cannot compute in float16.*{ILLEGAL}"):
        prepare_cpu("float16")
    assert os.environ.get(LIMIT) == users


@pytest.mark.parametrize("precision", ["float16", "bfloat16", "int8"])
def test_the_probe_itself_runs_here(monkeypatch, precision):
    monkeypatch.setenv(LIMIT, SAFE_INSTRUCTIONS)  # whatever this machine's CPU announces
    prepare_cpu(precision)


@pytest.mark.parametrize(
    ("probe", "code", "said"),
    [(DIES_UNLIMITED, 0, "normalign: note: {kind}"), (DIES, 2, "{program}: error: this machine cannot compute")],
)
@pytest.mark.parametrize("program", ["normalign align", "fairseq_normalign"])
def test_a_command_where_the_probe_fails(tmp_path, program, probe, code, said):
    pair = make_tiny_pair(tmp_path)
    out = tmp_path / "links"
    if program == "normalign align":
        kind, start = "bfloat16", "from fairseq_normalign.cli import main; sys.exit(main())"
        options = ["align", *pair.arguments(), "--precision", "bfloat16", "-o", out]
    else:
        kind = "float16"
        start = "sys.argv[0] = 'fairseq-interactive'; from fairseq_cli import interactive; "
        start += "from fairseq_normalign import register; register(); interactive.cli_main()"
        options = [tmp_path, "--task", "translation_normalign", "--user-dir", PACKAGE, "-s", "de", "-t", "en", "--cpu"]
        options += ["--print-alignment", "hard", "--fp16", "--beam", 1, "--path", pair.path()]
    patched = f"import sys; from fairseq_normalign.hosts import precision; precision.PROBE = {probe!r}; {start}"
    result = run("python", "-c", patched, *options, stdin="w1 w2\n")
    assert result.returncode == code, result.stderr
    said = said.format(kind=kind, program=program)
    assert [line for line in result.stderr.splitlines() if line.startswith(said)]
    assert (out.exists() or "\nA-0\t" in result.stdout) is (code == 0)

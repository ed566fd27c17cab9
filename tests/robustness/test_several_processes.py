"""A job in several processes: the bytes of one, whoever is slow, killed, started again, or given something wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from torch import distributed

from fairseq_normalign.align import bitext, processes
from fairseq_normalign.cli import main
from tests.cli.tiny_pair import TinyPair, write_text

from .kills import forked, forked_main
from .machines import Machines, children, free_port, ours
from .room import NORMALIGN, environment, make_models

PAIRS = 400
WINDOW = 32


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    found = make_models(tmp_path_factory.mktemp("several"))
    write_text(found.folder, PAIRS, "many")
    return found


def align(models: TinyPair, out: Path | str, *more: object) -> list[object]:
    texts = models.folder / "many.de", models.folder / "many.en"
    return ["align", *models.arguments(*texts), "--readings", "default", "-o", out, *more]


@pytest.fixture(scope="module")
def expected(models) -> bytes:
    out = models.folder / "expected"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bitext, "WINDOW", WINDOW)
        assert main([*map(str, align(models, out))]) == 0
    return out.read_bytes()


@dataclass
class Group:
    """Processes as torchrun starts them, with its store, but without torchrun."""

    errors: Path
    count: int = 2
    port: int = 0
    window: int = WINDOW

    def __post_init__(self) -> None:
        if not self.port:
            self.store = distributed.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
            self.port = self.store.port

    def start(self, rank: int, command: Sequence[object], slow: float = 0.0) -> int:
        """``slow``: seconds that each window takes longer."""

        def prepare() -> None:
            known = {"RANK": rank, "WORLD_SIZE": self.count, "MASTER_PORT": self.port, "MASTER_ADDR": "localhost"}
            torchrun = {"TORCHELASTIC_RUN_ID": "job", "TORCHELASTIC_USE_AGENT_STORE": True}
            os.environ.update({name: str(value) for name, value in {**known, **torchrun}.items()})
            bitext.WINDOW = self.window
            if slow:
                _slow_down(slow)

        return forked_main(command, self.errors, prepare)

    def said(self) -> list[str]:
        return self.errors.read_text().splitlines() if self.errors.exists() else []


def _slow_down(seconds: float) -> None:
    from fairseq_normalign.align import job

    fast = job._align

    def slow(*given, **more):
        time.sleep(seconds)
        return fast(*given, **more)

    job._align = slow


def code_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill_when(pid: int, part: Path) -> None:
    """SIGKILL as soon as something is written."""
    for _ in range(4000):
        if part.exists() and part.stat().st_size:
            break
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    assert code_of(pid) == -signal.SIGKILL


def test_three_processes_write_the_bytes_of_one(models, expected, tmp_path):
    group = Group(tmp_path / "errors", 3)
    command = align(models, tmp_path / "out", "--progress")
    started = [group.start(rank, command, slow=0.3 if rank == 1 else 0.0) for rank in (0, 1, 2)]
    assert [code_of(one) for one in started] == [0, 0, 0]
    assert (tmp_path / "out").read_bytes() == expected
    said = (tmp_path / "errors").read_text()
    assert f"{PAIRS}/{PAIRS}" in said, "progress is that of the whole job"
    assert said.count("pairs/s") < 3 * PAIRS // WINDOW


def test_two_processes_write_the_dump_of_one(models, tmp_path):
    texts = models.arguments()
    alone = ["align", *texts, "--readings", "default", "-o", tmp_path / "one", "--dump", tmp_path / "dump1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bitext, "WINDOW", 8)
        assert main([*map(str, alone)]) == 0
    group = Group(tmp_path / "errors", window=8)
    command = ["align", *texts, "--readings", "default", "-o", tmp_path / "two", "--dump", tmp_path / "dump2"]
    started = [group.start(rank, command, slow=0.1) for rank in (0, 1)]
    assert [code_of(one) for one in started] == [0, 0], group.said()
    for one in sorted((tmp_path / "dump1").iterdir()):
        assert one.read_bytes() == (tmp_path / "dump2" / one.name).read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_job_ends_without_a_process_that_was_killed(models, expected, tmp_path):
    group = Group(tmp_path / "errors")
    command = align(models, tmp_path / "out")
    first, second = group.start(0, command, slow=0.05), group.start(1, command, slow=0.2)
    kill_when(second, tmp_path / "out.part")
    assert code_of(first) == 0
    assert (tmp_path / "out").read_bytes() == expected


def test_processes_that_are_started_again_go_on_by_themselves(models, expected, tmp_path):
    group = Group(tmp_path / "errors")
    command = align(models, tmp_path / "out", "--restart")
    started = [group.start(rank, command, slow=0.1) for rank in (0, 1)]
    kill_when(started[0], tmp_path / "out.part")
    again = group.start(0, command)  # the second process of the first attempt joins the new one
    assert code_of(again) == 0
    assert code_of(started[1]) == 0
    assert (tmp_path / "out").read_bytes() == expected
    assert group.store.get("normalign/attempts") == b"2"
    assert group.said() == []
    late = group.start(1, command)  # a job that is done is not done again
    assert code_of(late) == 0


def test_what_was_printed_is_not_printed_again(models, tmp_path):
    group = Group(tmp_path / "errors", 1)
    processes.Processes(0, 1, distributed.PrefixStore("normalign", group.store))
    assert code_of(group.start(0, align(models, "-"))) == 2
    (line,) = group.said()
    assert line.endswith("error: torchrun has started the job again, and what is printed stays printed; give -o FILE")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a process with its parent")
def test_a_worker_ends_with_torchrun(models, tmp_path):
    group = Group(tmp_path / "errors")

    def agent() -> int:
        worker = group.start(0, align(models, tmp_path / "out"), slow=0.2)
        (tmp_path / "worker").write_text(str(worker))
        return code_of(worker)

    killed = forked(agent)
    kill_when(killed, tmp_path / "out.part")
    worker = int((tmp_path / "worker").read_text())
    for _ in range(400):
        if not Path(f"/proc/{worker}/cmdline").exists() or not Path(f"/proc/{worker}/cmdline").read_bytes():
            break  # gone, or nobody has asked for its exit code yet
        time.sleep(0.01)
    else:
        pytest.fail("the worker goes on")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (["--layer", "99"], ["--layer", "99"], "no decoder layer 99"),
        (["--layer", "1"], ["--bogus"], "unrecognized arguments: --bogus"),
        (["--layer", "1"], ["--layer", "99"], "no decoder layer 99"),
    ],
    ids=["everywhere", "in the options of another process", "in the work of another process"],
)
def test_a_mistake_is_one_line(models, tmp_path, first, second, says):
    group = Group(tmp_path / "errors")
    common = [word for word in align(models, tmp_path / "out") if word not in ("--readings", "default")]
    other = group.start(1, [*common, *second])
    one = group.start(0, [*common, *first], slow=30.0)
    assert code_of(other) == 2
    if first == second:
        assert code_of(one) == 2
    else:  # torchrun would end it
        os.kill(one, signal.SIGTERM)
        assert code_of(one) == -signal.SIGTERM
    (line,) = group.said()
    assert line.startswith("normalign align: error: ")
    assert says in line


def test_a_lost_connection_is_one_line(models, tmp_path):
    """The store is made after the process, which would hold its sockets open otherwise."""
    group = Group(tmp_path / "errors", port=free_port())
    other = group.start(1, align(models, tmp_path / "out"))
    store = distributed.TCPStore("localhost", group.port, is_master=True, wait_for_workers=False)
    while not store.check(["normalign/attempts"]):
        time.sleep(0.05)
    del store
    assert code_of(other) == 2
    assert "the connection to the other processes is lost" in group.said()[-1]


# -- torchrun itself --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_torchrun_starts_a_killed_worker_again(models, tmp_path):
    write_text(tmp_path, 6000, "more")
    texts = models.arguments(tmp_path / "more.de", tmp_path / "more.en")
    command = ["align", *texts, "--readings", "default"]
    subprocess.run([*NORMALIGN, *command, "-o", tmp_path / "one"], env=environment(), check=True)
    machines = Machines([*command, "-o", tmp_path / "two"], tmp_path / "log", count=1, processes=2)
    agent = machines.agents[0]
    kill_worker_when(agent.pid, tmp_path / "two.part")
    assert agent.wait(600) == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert "Traceback" not in ours(tmp_path / "log")


def kill_worker_when(agent: int, part: Path) -> None:
    for _ in range(60_000):
        if part.exists() and part.stat().st_size:
            break
        time.sleep(0.01)
    os.kill(children(agent)[-1], signal.SIGKILL)


@pytest.mark.slow
def test_a_mistake_under_torchrun(models, tmp_path):
    """Only the second process has the wrong file; torchrun tries twice."""
    script = tmp_path / "job.py"
    script.write_text(
        "import os, sys\nfrom fairseq_normalign.cli import main\n"
        "wrong = ['--bpe-codes', '/no/such/file'] if os.environ['RANK'] == '1' else []\n"
        "sys.exit(main([*sys.argv[1:], *wrong]))\n"
    )
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "1"]
    command = [*launcher, script, *align(models, tmp_path / "out")]
    found = subprocess.run([*map(str, command)], env=environment(), capture_output=True, text=True, check=False)
    lines = [line for line in found.stderr.splitlines() if line.startswith("normalign align: error")]
    assert lines == ["normalign align: error: /no/such/file: no such file or directory"]
    assert "(exitcode: 2) local_rank: 1" in found.stderr

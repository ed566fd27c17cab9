"""Windows of a bitext over an executor, with finished windows kept on disk."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fairseq_normalign import jobs
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.jobs import Bitext, Part, Parts, Workers, fingerprint, mapped, run, windows_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recipes" / "benchmark"))
from faults import Cluster


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_windows_hold_every_pair_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "WINDOW", 3)
    source, target = (write(tmp_path / side, [f"{side}{n}" for n in range(7)]) for side in "st")
    bitext = Bitext(source, target)
    windows = list(bitext.windows())
    assert bitext.count() == 7
    assert [window.first for window in windows] == [0, 3, 6]
    assert [pair for window in windows for pair in window.pairs] == [(f"s{n}", f"t{n}") for n in range(7)]
    assert bitext.first(2) == [("s0", "t0"), ("s1", "t1")]


@pytest.mark.parametrize(("sources", "targets", "place"), [(3, 2, "s:3"), (0, 1, "t:1")])
def test_unequal_files_name_the_line(tmp_path, sources, targets, place):
    source, target = write(tmp_path / "s", "abc"[:sources]), write(tmp_path / "t", "abc"[:targets])
    with pytest.raises(NormalignError, match=place):
        Bitext(source, target).count()
    with pytest.raises(NormalignError, match=place):
        list(Bitext(source, target).pairs())


def test_standard_input_can_be_looked_at_first(tmp_path, monkeypatch):
    target = write(tmp_path / "t", "abc")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1\n2\n3\n")))
    bitext = Bitext("-", target)
    assert bitext.count() is None
    assert bitext.first(2) == [("1", "a"), ("2", "b")]
    assert list(bitext.pairs()) == [("1", "a"), ("2", "b"), ("3", "c")]


@dataclass(frozen=True)
class Nothing:
    """A set-up without models."""

    paths: tuple[str, ...] = ()

    def files(self) -> list[str]:
        return list(self.paths)

    def describe(self) -> object:
        return None

    def load(self) -> object:
        return None


PAIRS = [(f"s{number}", f"t{number}") for number in range(20)]
COMPUTED: list[int] = []


def upper(models: object, window: jobs.Window, *, done: jobs.Count) -> Part:
    COMPUTED.append(window.number)
    lines = "".join(f"{source.upper()} {target}\n" for source, target in window.pairs)
    return Part([lines], {"words": len(window.pairs)}, {"sizes": np.arange(window.number)}, {"first": window.first})


def computed(out: Path, pairs=PAIRS, job: str = "job", function=upper, **options) -> list[int]:
    """Run a job in windows of 2; return the windows that were computed."""
    COMPUTED.clear()
    with Workers(Nothing(), **options) as workers:
        counts = run(workers, function, windows_of(pairs, 2), [out], parts=Parts(out), job=job)
    assert counts == {"pairs": len(pairs), "words": len(pairs)}
    assert out.read_text() == "".join(f"{source.upper()} {target}\n" for source, target in pairs)
    assert sorted(path.name for path in out.parent.iterdir()) == [out.name]
    return sorted(COMPUTED)


def stop_at(number: int, error: BaseException):
    def work(models: object, window: jobs.Window, *, done: jobs.Count) -> Part:
        if window.number == number:
            raise error
        return upper(models, window, done=done)

    return work


@pytest.fixture
def interrupted(tmp_path) -> Path:
    """The output of a job that was interrupted in its seventh window."""
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        computed(out, function=stop_at(6, KeyboardInterrupt()))
    assert not out.exists()
    return out


def parts_of(out: Path) -> list[Path]:
    return sorted(Path(f"{out}.parts").iterdir())


def test_the_same_command_computes_the_rest(interrupted):
    assert len(parts_of(interrupted)) == 6
    assert computed(interrupted) == [6, 7, 8, 9]


def test_a_part_that_was_damaged_is_computed_again(interrupted):
    deleted, truncated, one, other, emptied, changed = parts_of(interrupted)
    deleted.unlink()
    truncated.write_bytes(truncated.read_bytes()[:-3])
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    emptied.write_bytes(b"")
    changed.write_bytes(changed.read_bytes().replace(b"S10", b"S11"))
    assert computed(interrupted) == list(range(10))


def test_another_text_or_another_job_is_computed_anew(interrupted):
    pairs = [*PAIRS[:4], ("other", "pair"), *PAIRS[5:]]
    assert computed(interrupted, pairs) == [2, 6, 7, 8, 9]
    with pytest.raises(KeyboardInterrupt):
        computed(interrupted.parent / "more", function=stop_at(6, KeyboardInterrupt()))
    interrupted.unlink()
    assert computed(interrupted.parent / "more", job="other") == list(range(10))


def test_somebody_elses_files_stay(interrupted):
    own = Path(f"{interrupted}.parts") / "notes.txt"
    own.write_text("mine")
    with pytest.raises(AssertionError, match=r"out\.parts"):
        computed(interrupted)
    assert [path.name for path in parts_of(interrupted)] == ["notes.txt"]


def test_two_runs_of_one_job_at_once(tmp_path):
    out = tmp_path / "out"
    half = threading.Barrier(2)

    def slow(models: object, window: jobs.Window, *, done: jobs.Count) -> Part:
        if window.number in (3, 7):
            half.wait(60)
        return upper(models, window, done=done)

    def job() -> None:
        with Workers(Nothing()) as workers:
            run(workers, slow, windows_of(PAIRS, 2), [out], parts=Parts(out), job="job")

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(job), pool.submit(job)]:
            future.result()
    assert out.read_text() == "".join(f"{source.upper()} {target}\n" for source, target in PAIRS)


def test_results_come_in_order_and_only_so_many_windows_wait():
    read: list[int] = []

    def watched():
        for window in windows_of(PAIRS, 1):
            read.append(window.number)
            yield window

    with ThreadPoolExecutor(3) as pool, Workers(Nothing(), executor=pool) as workers:
        for place, (window, _) in enumerate(mapped(workers, upper, watched(), ahead=5)):
            assert window.number == place
            assert read[-1] <= place + 5


class Unlucky(Executor):
    """Works in this process; the workers break down at some calls."""

    def __init__(self, *broken: int) -> None:
        self.calls = itertools.count()
        self.broken = broken

    def submit(self, function, /, *arguments):
        future: Future = Future()
        if next(self.calls) in self.broken:
            future.set_exception(BrokenProcessPool("a process ended"))
        else:
            future.set_result(function(*arguments))
        return future


@pytest.mark.parametrize("broken", [(3,), (0, 9, 20)])
def test_lost_workers_are_replaced(tmp_path, monkeypatch, broken):
    pool = Unlucky(*broken)
    monkeypatch.setattr(jobs, "_processes", lambda place, stack: pool)
    found = computed(tmp_path / "out", place=jobs.Place(processes=2))
    assert sorted(set(found)) == list(range(10))


def test_workers_that_are_always_lost_end_the_job_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "_processes", lambda place, stack: Unlucky(*range(1000)))
    with pytest.raises(NormalignError, match="the workers were lost"):
        computed(tmp_path / "out", place=jobs.Place(processes=2))


def test_a_mistake_names_the_lines_and_an_error_of_ours_is_not_hidden(tmp_path):
    with pytest.raises(NormalignError, match="lines 5 to 6: no such word"):
        computed(tmp_path / "out", function=stop_at(2, NormalignError("no such word")))
    with pytest.raises(ZeroDivisionError):
        computed(tmp_path / "out", function=stop_at(2, ZeroDivisionError()))


def test_a_worker_with_another_file_or_another_version_is_refused(tmp_path, monkeypatch):
    model = tmp_path / "model"
    model.write_text("one")
    known = {str(model): fingerprint(model)}
    payload = jobs.pickle.dumps((Nothing(), upper, next(windows_of(PAIRS, 2)), ()))
    assert jobs._called(jobs.__version__, known, payload)[0] is None
    assert "has version" in jobs._called("0.0.1", known, payload)[0]
    model.write_text("other")
    assert "another content" in jobs._called(jobs.__version__, known, payload)[0]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out.parts").write_text("")
    with pytest.raises(NormalignError, match="needed as a folder"):
        Parts(tmp_path / "out")


def test_a_full_disk_is_one_line(tmp_path):
    """A limit on the size of files stands for the disk: what a file still holds cannot be written when it is closed."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))
    try:
        with pytest.raises(NormalignError, match=r"out: file too large"), Workers(Nothing()) as workers:
            run(workers, upper, windows_of(PAIRS, 2), [tmp_path / "out"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def worker(models: object, window: jobs.Window, folder: str, *, done: jobs.Count) -> Part:
    """Work for a while, and leave a file with the number of the process and of the window."""
    Path(folder, f"{os.getpid()}-{window.number}").touch()
    time.sleep(0.2)
    return upper(models, window, done=done)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals")
@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("shared", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_worker_that_is_killed_or_stopped_changes_nothing(tmp_path, monkeypatch, kind, shared):
    """Two real processes; once windows are finished, the worker of the sixth one gets a signal, and is woken later."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    seen, out = tmp_path / "seen", tmp_path / "results" / "out"
    seen.mkdir()
    out.parent.mkdir()

    finished: list[int] = []

    def disturb() -> None:
        while not (found := sorted(seen.glob("*-5"))) or not finished:
            time.sleep(0.01)
            done = [path for path in Path(f"{out}.parts").glob("*-*") if path.suffix == ""]
            finished[:] = [int(path.name.split("-")[0]) for path in done]
        pid = int(found[0].name.split("-")[0])
        os.kill(pid, kind)
        time.sleep(2)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    disturbing = threading.Thread(target=disturb, daemon=True)
    with contextlib.ExitStack() as stack:
        place = jobs.Place(processes=2)
        if shared:
            pytest.importorskip("distributed")
            cluster = stack.enter_context(Cluster(tmp_path))
            place = jobs.Place(cluster=str(cluster.file))
        workers = stack.enter_context(Workers(Nothing(), place))
        disturbing.start()
        run(workers, worker, windows_of(PAIRS, 2), [out], str(seen), parts=Parts(out), job="job")
    disturbing.join(60)
    assert out.read_text() == "".join(f"{source.upper()} {target}\n" for source, target in PAIRS)
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    counts = Counter(int(path.name.split("-")[1]) for path in seen.iterdir())
    assert sorted(counts) == list(range(10))
    assert finished
    assert all(counts[number] == 1 for number in finished)


@pytest.mark.slow
def test_a_cluster_with_certificates(tmp_path, monkeypatch):
    """Encrypted connections on this machine; without the certificates the scheduler cannot be reached."""
    pytest.importorskip("distributed")
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    key, certificate = str(tmp_path / "node.key"), str(tmp_path / "node.pem")
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([openssl, *made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    security = ["--protocol", "tls", "--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key]
    (tmp_path / "seen").mkdir()
    (tmp_path / "results").mkdir()
    out = tmp_path / "results" / "out"
    with Cluster(tmp_path, security=security) as cluster:
        assert json.loads(cluster.file.read_text())["address"].startswith("tls://")
        place = jobs.Place(cluster=str(cluster.file), tls_ca=certificate, tls_cert=certificate, tls_key=key)
        with Workers(Nothing(), place) as workers:
            run(workers, worker, windows_of(PAIRS, 2), [out], str(tmp_path / "seen"), parts=Parts(out), job="job")
        with pytest.raises(NormalignError, match="no Dask scheduler with workers can be used there"):
            Workers(Nothing(), jobs.Place(cluster=str(cluster.file))).__enter__()
    assert out.read_text() == "".join(f"{source.upper()} {target}\n" for source, target in PAIRS)
    seen = {path.name.split("-")[0] for path in (tmp_path / "seen").iterdir()}
    assert str(os.getpid()) not in seen

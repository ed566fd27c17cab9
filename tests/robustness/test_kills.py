"""Work that is killed at any moment: run again, it ends as if nothing had been."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from .kill_jobs import jobs
from .kills import Job, forked, kill_everything, kill_job, table
from .machines import kill_machines
from .room import make_models


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return make_models(tmp_path_factory.mktemp("killed"))


def test_killed_and_run_again(models, tmp_path, capsys):
    known = jobs(models, pairs=200, lines=1000)
    del known["translate"]  # searching takes its time; it is killed in the slow tests
    tallies = kill_everything(1, 1, known, tmp_path)
    print(table(tallies))
    for name, tally in tallies.items():
        assert not tally.wrong, f"{name}: {tally.wrong}"
        assert tally.kills == 1, f"{name} was never caught running"


@pytest.mark.slow
def test_killed_many_times(models, tmp_path, capsys):
    tallies = kill_everything(20, 2, jobs(models, slow=True), tmp_path)
    with capsys.disabled():
        print("\n" + table(tallies))
    for name, tally in tallies.items():
        assert not tally.wrong, f"{name}: {tally.wrong}"
        assert tally.kills >= 4


@pytest.mark.slow
def test_killed_in_two_processes_and_on_two_machines(models, tmp_path, capsys):
    tallies = kill_machines(3, 3, models, tmp_path, pairs=6000)
    with capsys.disabled():
        print("\n" + table(tallies))
    for name, tally in tallies.items():
        assert not tally.wrong, f"{name}: {tally.wrong}"
        assert tally.kills >= 1, f"{name} was never caught running"


def test_the_watch_sees_a_half_file(tmp_path):
    """A job that writes in place is caught."""

    def start(folder: Path, again: bool) -> int:
        def run() -> int:
            import time

            with open(folder / "out", "w", encoding="utf-8") as handle:
                for number in range(20):
                    print(number, file=handle, flush=True)
                    time.sleep(0.01)
            return 0

        return forked(run)

    tally = kill_job(Job(start, ["out"]), 2, random.Random(1), tmp_path)
    assert any("no unbroken run writes" in text for text in tally.wrong)

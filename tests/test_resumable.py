from __future__ import annotations

import fcntl
import json
import os

import pytest

from fairseq_normalign import resumable
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.resumable import Journal, PlainFiles, ResumableFiles, UnfinishedRun, can_be_continued

JOB = {"--layer": 1}


def interrupted(paths, texts, *, job=JOB) -> None:
    """A run that was ended after some steps."""
    files = ResumableFiles(paths, job)
    for number, text in enumerate(texts):
        files.append([f"{text}\n"] * len(paths), str(number))
    assert files.abandon() == bool(texts)


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_was_done_is_kept_and_the_rest_cut_off(tmp_path):
    paths = [tmp_path / "links", tmp_path / "scores"]
    first = ResumableFiles(paths, {"--layer": 1})
    first.append(["a\n", "1\n"], "one")
    first.journal.counts = {"pairs": 1}
    first.append(["b\n", "2\n"], "two")
    assert first.abandon()
    with open(tmp_path / "links.part", "a", encoding="utf-8") as handle:
        handle.write("half a li")
    second = ResumableFiles(paths, {"--layer": 1}, resume=True)
    assert (second.journal.steps, second.journal.digest, second.journal.counts) == (2, "two", {"pairs": 1})
    second.append(["c\n", "3\n"], "three")
    assert not paths[0].exists()
    second.finish()
    assert [path.read_text() for path in paths] == ["a\nb\nc\n", "1\n2\n3\n"]
    assert names(tmp_path) == ["links", "scores"]


def test_another_job_is_refused(tmp_path):
    interrupted([tmp_path / "out"], "a")
    with pytest.raises(NormalignError, match="--layer was 1, is 2"):
        ResumableFiles([tmp_path / "out"], {"--layer": 2}, resume=True)
    with pytest.raises(NormalignError, match="the journal of a job with 1 outputs"):
        ResumableFiles([tmp_path / "out", tmp_path / "scores"], JOB, resume=True)
    (tmp_path / "out.part").write_text("")
    with pytest.raises(NormalignError, match="cut off"):
        ResumableFiles([tmp_path / "out"], JOB, resume=True)
    (tmp_path / "out.part.json").write_text("{")
    with pytest.raises(NormalignError, match="not a whole journal"):
        ResumableFiles([tmp_path / "out"], JOB, resume=True)


def test_changed_bytes_in_what_was_done_are_seen(tmp_path):
    interrupted([tmp_path / "out"], ["0-0", "1-1"])
    (tmp_path / "out.part").write_text("0-0\n1-2\n")
    with pytest.raises(NormalignError, match="changed since"):
        ResumableFiles([tmp_path / "out"], JOB, resume=True)
    assert (tmp_path / "out.part").read_text() == "0-0\n1-2\n"


@pytest.mark.parametrize("change", [{"steps": 0}, {"steps": 10**9}, {"counts": {"pairs": 7}}, {"digest": "x"}])
def test_a_changed_journal_is_refused(tmp_path, change):
    interrupted([tmp_path / "out"], "ab")
    record = tmp_path / "out.part.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), **change}))
    with pytest.raises(NormalignError, match="its check sum is wrong"):
        ResumableFiles([tmp_path / "out"], JOB, resume=True)


def test_steps_and_sizes_have_to_fit(tmp_path):
    interrupted([tmp_path / "out"], "ab")
    record = tmp_path / "out.part.json"
    journal = Journal.unsealed(record.read_text())
    journal.steps = 0
    record.write_text(journal.sealed())
    with pytest.raises(NormalignError, match="do not fit"):
        ResumableFiles([tmp_path / "out"], JOB, resume=True)


def test_unfinished_work_is_not_thrown_away_unasked(tmp_path):
    interrupted([tmp_path / "out"], "ab")
    with pytest.raises(UnfinishedRun, match=r"out.part: the results of an unfinished run are kept here"):
        ResumableFiles([tmp_path / "out"], JOB)
    assert (tmp_path / "out.part").read_text() == "a\nb\n"
    files = ResumableFiles([tmp_path / "out"], {"--layer": 2}, restart=True)
    files.append(["c\n"], "")
    files.finish()
    assert (tmp_path / "out").read_text() == "c\n"


def test_nothing_done_leaves_nothing(tmp_path):
    interrupted([tmp_path / "out"], [])
    assert names(tmp_path) == []


def test_a_run_killed_before_its_first_step_needs_no_decision(tmp_path):
    files = ResumableFiles([tmp_path / "out"], JOB)
    files._handles[0].write(b"half a li")
    files._unlock()
    ResumableFiles([tmp_path / "out"], JOB).finish()
    assert (tmp_path / "out").read_text() == ""


def test_a_file_that_is_only_called_part_is_left_alone(tmp_path):
    (tmp_path / "out.part").write_text("mine\n")
    for resume in (False, True):
        with pytest.raises(NormalignError, match="not of an unfinished run; move it away"):
            ResumableFiles([tmp_path / "out"], JOB, resume=resume)
    assert (tmp_path / "out.part").read_text() == "mine\n"
    (tmp_path / "out.part").unlink()
    (tmp_path / "other").write_text("mine\n")
    (tmp_path / "out.part").symlink_to("other")
    with pytest.raises(NormalignError, match="symbolic links"):
        ResumableFiles([tmp_path / "out"], JOB, restart=True)
    assert (tmp_path / "other").read_text() == "mine\n"


def test_two_runs_do_not_share_a_file(tmp_path):
    first = ResumableFiles([tmp_path / "out"], {})
    with pytest.raises(NormalignError, match="another run"):
        ResumableFiles([tmp_path / "out"], {})
    first.abandon()


def second_run(tmp_path) -> None:
    """It must not start while the first is at its end."""
    with pytest.raises(NormalignError, match="another run is writing it"):
        ResumableFiles([tmp_path / "out"], JOB, restart=True)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_second_run_between_the_steps_of_finishing(tmp_path, monkeypatch, moment):
    first = ResumableFiles([tmp_path / "out"], JOB)
    first.append(["whole\n"], "")
    put = resumable.put_in_place

    def put_in_place(finished, place) -> None:
        if moment == "before":
            second_run(tmp_path)
        put(finished, place)
        if moment == "after":
            second_run(tmp_path)

    monkeypatch.setattr(resumable, "put_in_place", put_in_place)
    first.finish()
    assert (tmp_path / "out").read_text() == "whole\n"
    assert names(tmp_path) == ["out"]


def test_a_second_run_that_opened_the_file_before_it_was_renamed(tmp_path, monkeypatch):
    """It gets the lock on what is the finished file by then, and must not empty it."""
    first = ResumableFiles([tmp_path / "out"], JOB)
    first.append(["whole\n"], "")
    flock, finished = fcntl.flock, []

    def late(handle, how) -> None:
        if not finished:
            finished.append(True)
            first.finish()
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    second = ResumableFiles([tmp_path / "out"], JOB)
    assert (tmp_path / "out").read_text() == "whole\n"
    second.append(["other\n"], "")
    second.finish()
    assert (tmp_path / "out").read_text() == "other\n"


def test_a_run_that_was_ended_between_two_renames(tmp_path):
    paths = [tmp_path / "links", tmp_path / "scores"]
    interrupted(paths, "ab")
    os.replace(tmp_path / "scores.part", tmp_path / "scores")
    ResumableFiles(paths, JOB, resume=True).finish()
    assert [path.read_text() for path in paths] == ["a\nb\n"] * 2
    assert names(tmp_path) == ["links", "scores"]


def test_an_older_result_is_not_taken_for_what_is_gone(tmp_path):
    interrupted([tmp_path / "out"], "ab")
    (tmp_path / "out.part").unlink()
    (tmp_path / "out").write_text("old\n")
    with pytest.raises(NormalignError, match="cut off or gone"):
        ResumableFiles([tmp_path / "out"], JOB, resume=True)
    assert (tmp_path / "out").read_text() == "old\n"


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/out")
    files = ResumableFiles([tmp_path / "link"], JOB)
    files.append(["a\n"], "")
    assert names(tmp_path / "real") == ["out.part", "out.part.json"]
    files.finish()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "out").read_text() == "a\n"


def test_plain_files_vanish_when_abandoned(tmp_path):
    files = PlainFiles([tmp_path / "out"])
    files.append(["a\n"], "")
    assert not files.abandon()
    assert names(tmp_path) == []
    files = PlainFiles([tmp_path / "out"])
    files.append(["a\n"], "")
    files.finish()
    assert (tmp_path / "out").read_text() == "a\n"
    assert not can_be_continued("-")
    assert not can_be_continued("/dev/null")
    assert not can_be_continued("/dev/stdout")
    assert can_be_continued(tmp_path / "new")

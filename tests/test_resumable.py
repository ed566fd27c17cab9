from __future__ import annotations

import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.resumable import PlainFiles, ResumableFiles, can_be_continued


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
    assert sorted(path.name for path in tmp_path.iterdir()) == ["links", "scores"]


def test_another_job_is_refused(tmp_path):
    files = ResumableFiles([tmp_path / "out"], {"--layer": 1})
    files.append(["a\n"], "one")
    files.abandon()
    with pytest.raises(NormalignError, match="--layer was 1, is 2"):
        ResumableFiles([tmp_path / "out"], {"--layer": 2}, resume=True)
    (tmp_path / "out.part").write_text("")
    with pytest.raises(NormalignError, match="cut off"):
        ResumableFiles([tmp_path / "out"], {"--layer": 1}, resume=True)
    (tmp_path / "out.part.json").write_text("{")
    with pytest.raises(NormalignError, match="not a journal"):
        ResumableFiles([tmp_path / "out"], {"--layer": 1}, resume=True)


def test_nothing_done_leaves_nothing(tmp_path):
    assert not ResumableFiles([tmp_path / "out"], {}).abandon()
    assert list(tmp_path.iterdir()) == []


def test_two_runs_do_not_share_a_file(tmp_path):
    first = ResumableFiles([tmp_path / "out"], {})
    with pytest.raises(NormalignError, match="another run"):
        ResumableFiles([tmp_path / "out"], {})
    first.abandon()


def test_plain_files_vanish_when_abandoned(tmp_path):
    files = PlainFiles([tmp_path / "out"])
    files.append(["a\n"], "")
    assert not files.abandon()
    assert list(tmp_path.iterdir()) == []
    files = PlainFiles([tmp_path / "out"])
    files.append(["a\n"], "")
    files.finish()
    assert (tmp_path / "out").read_text() == "a\n"
    assert not can_be_continued("-")
    assert not can_be_continued("/dev/null")
    assert can_be_continued(tmp_path / "new")

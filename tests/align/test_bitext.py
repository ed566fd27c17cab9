from __future__ import annotations

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.align.bitext import Bitext
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.text.batching import batches_by_length


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_windows_hold_every_pair_in_order(tmp_path):
    source, target = (write(tmp_path / side, [f"{side}{n}" for n in range(7)]) for side in "st")
    bitext = Bitext(source, target, window=3)
    windows = list(bitext.windows())
    assert bitext.count() == 7
    assert [window.first for window in windows] == [0, 3, 6]
    assert [pair for window in windows for pair in window.pairs] == [(f"s{n}", f"t{n}") for n in range(7)]
    assert bitext.first(2) == [("s0", "t0"), ("s1", "t1")]


def test_digests_tell_what_came_before(tmp_path):
    target = write(tmp_path / "t", "abcd")
    ends = []
    for number, lines in enumerate((["1", "2", "3", "4"], ["1", "2", "3", "x"], ["x", "2", "3", "4"])):
        bitext = Bitext(write(tmp_path / f"s{number}", lines), target, window=2)
        ends.append([window.digest for window in bitext.windows()])
    assert ends[0][0] == ends[1][0] != ends[2][0]
    assert len({one[1] for one in ends}) == 3


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


sizes = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=30)


@given(sizes, st.integers(1, 100))
def test_batches_hold_every_pair_once_and_keep_the_limit(sizes, max_tokens):
    found = batches_by_length(sizes, max_tokens)
    assert sorted(place for batch in found for place in batch) == list(range(len(sizes)))
    for batch in found:
        longest = max(max(sizes[place]) for place in batch)
        assert len(batch) == 1 or len(batch) * longest <= max_tokens

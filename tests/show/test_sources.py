"""Pairs from dumps and files."""

from __future__ import annotations

import numpy as np
import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.dump import DumpWriter
from fairseq_normalign.links.gold import Gold
from fairseq_normalign.show.sources import (
    open_dumps,
    pairs_of_dumps,
    pairs_of_files,
    read_soft,
    with_links,
)


def write_dump(path, pairs, method):
    with DumpWriter(path, method=method, heads=pairs[0].readings[method].heads is not None) as writer:
        for pair in reversed(pairs):  # fairseq writes by length, not in order
            writer.add(
                pair.id,
                source_pieces=pair.source.pieces,
                target_pieces=pair.target.pieces,
                source=pair.source.by_word,
                target=pair.target.by_word,
                layers=pair.readings[method].steps,
                heads=pair.readings[method].heads,
            )
    return path


@pytest.fixture
def pairs(make):
    rng = np.random.default_rng(1)
    return [make(n, "ein kleines Haus".split(), "a small house".split(), rng, heads=2) for n in range(3)]


def test_two_dumps_make_one_pair_each_in_order(tmp_path, pairs):
    paths = [str(write_dump(tmp_path / method, pairs, method)) for method in ("weights", "norms")]
    found = list(pairs_of_dumps(open_dumps(paths), golds=[pair.gold for pair in pairs]))
    assert [pair.id for pair in pairs_of_dumps(open_dumps(paths), wanted={1})] == [1]
    assert [pair.id for pair in found] == [0, 1, 2]
    for given, read in zip(pairs, found, strict=True):
        assert list(read.readings) == ["weights", "norms"]
        assert read.source == given.source
        assert read.gold == given.gold
        np.testing.assert_array_equal(read.readings["norms"].steps, given.readings["norms"].steps)
        np.testing.assert_array_equal(read.readings["weights"].heads, given.readings["weights"].heads)


def test_dumps_of_different_sentences_are_refused(tmp_path, pairs, make):
    other = [make(n, "ein großes Haus".split(), "a big house".split(), np.random.default_rng(2)) for n in range(3)]
    paths = [
        str(write_dump(tmp_path / "one", pairs, "norms")),
        "b=" + str(write_dump(tmp_path / "two", other, "norms")),
    ]
    with pytest.raises(NormalignError, match="sentence 1 is not the same"):
        list(pairs_of_dumps(open_dumps(paths)))


def test_gold_that_is_short_or_out_of_range_is_refused(tmp_path, pairs):
    dumps = open_dumps([str(write_dump(tmp_path / "d", pairs, "norms"))])
    with pytest.raises(NormalignError, match="the gold file has 1 sentences, none for sentence 2"):
        list(pairs_of_dumps(dumps, golds=[pairs[0].gold]))
    with pytest.raises(NormalignError, match=r"link 3-0 .* of sentence 1 is out of range: it has 3 source"):
        list(pairs_of_dumps(dumps, golds=[Gold(frozenset({(3, 0)}), frozenset())] * 3))


def texts(tmp_path, source, target):
    (tmp_path / "s").write_text(source, encoding="utf-8")
    (tmp_path / "t").write_text(target, encoding="utf-8")
    return tmp_path / "s", tmp_path / "t"


def test_soft_files_in_both_forms(tmp_path):
    (tmp_path / "soft").write_text("0.9,0.1 0.2,0.8\n[[[1, 0]], [[0, 1]]]\n\n", encoding="utf-8")
    arrays = read_soft(tmp_path / "soft")
    assert arrays[0].tolist() == [[[0.9, 0.1], [0.2, 0.8]]]
    assert arrays[1].shape == (2, 1, 2)
    assert arrays[2].shape == (1, 0, 0)


@pytest.mark.parametrize("line", ["0.9,x", "0.9,0.1 0.2", "[[1, -1]]", "[[NaN]]", "[1]", "{}"])
def test_bad_soft_lines_are_named(tmp_path, line):
    (tmp_path / "soft").write_text("1\n" + line + "\n", encoding="utf-8")
    with pytest.raises(NormalignError, match="soft:2: not a soft alignment"):
        read_soft(tmp_path / "soft")


def test_pairs_of_files(tmp_path):
    sides = texts(tmp_path, "a b\n\nc\n", "x y\n\nz\n")
    soft = {"m": [np.eye(2)[None], np.zeros((1, 0, 0)), np.ones((1, 1, 1))]}
    pairs = list(with_links(pairs_of_files(*sides, soft=soft), {"other": [[(0, 1, True)], [], [(0, 0, False)]]}))
    assert pairs[0].source.words == ("a", "b")
    assert pairs[0].readings["other"].links == ((0, 1),)
    assert pairs[1].readings["m"].words.shape == (1, 0, 0)
    assert pairs[2].readings["other"].links == ((0, 0),)


def test_files_that_do_not_fit_are_refused(tmp_path):
    sides = texts(tmp_path, "a b\nc\n", "x y\n")
    with pytest.raises(NormalignError, match=r":2: no line of .* to go with it; that file has 1"):
        list(pairs_of_files(*sides))
    sides = texts(tmp_path, "a b\n", "x y\n")
    with pytest.raises(NormalignError, match="the soft alignment of sentence 1 is 1 x 1; the sentence has 2 target"):
        list(pairs_of_files(*sides, soft={"m": [np.ones((1, 1, 1))]}))
    with pytest.raises(NormalignError, match=r"m has 2 sentences, .* has 1"):
        list(pairs_of_files(*sides, soft={"m": [np.ones((1, 2, 2))] * 2}))
    with pytest.raises(NormalignError, match="other: link 5-0"):
        list(with_links(pairs_of_files(*sides), {"other": [[(5, 0, True)]]}))

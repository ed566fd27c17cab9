"""Dumps: what goes in comes out; complete or absent; nothing in them is trusted."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links import dump as module
from fairseq_normalign.links.dump import Dump, DumpWriter
from fairseq_normalign.links.pieces import segment

SOURCE = ("ein@@", "s", "<2>", "</s>")
TARGET = ("o@@", "ne")


def add(writer: DumpWriter, number: int, heads: bool = False) -> np.ndarray:
    layers = np.random.default_rng(number).random((3, len(TARGET) + 1, len(SOURCE)), dtype=np.float32)
    writer.add(
        number,
        source_pieces=SOURCE,
        target_pieces=TARGET,
        source=segment(SOURCE, specials={"</s>"}),
        target=segment(TARGET),
        layers=layers,
        heads=layers[:, None].repeat(2, axis=1) if heads else None,
        score=-0.5 * number,
    )
    return layers


def test_round_trip_over_several_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SHARD_BYTES", 1000)
    with DumpWriter(tmp_path / "dump", method="norms", heads=True) as writer:
        written = [add(writer, number, heads=True) for number in (5, 3, 3, 8, 9, 1, 2)]
    dump = Dump(tmp_path / "dump")
    assert len(list((tmp_path / "dump").glob("shard-*"))) > 1
    assert [(pair.id, pair.rank) for pair in dump] == [(5, 0), (3, 0), (3, 1), (8, 0), (9, 0), (1, 0), (2, 0)]
    for pair, layers in zip(dump, written, strict=True):
        np.testing.assert_array_equal(pair.layers, layers)
        np.testing.assert_array_equal(pair.heads[:, 1], layers)
        assert pair.source.words == ("eins", "<2>")
        assert pair.source.specials == (3,)
        assert pair.target_pieces == TARGET
        assert pair.score == -0.5 * pair.id
    assert dump.meta["method"] == "norms"
    assert dump.meta["sentences"] == 6
    with pytest.raises(IndexError):
        dump[7]


def test_an_error_leaves_nothing_behind(tmp_path):
    def interrupted() -> None:
        with DumpWriter(tmp_path / "dump", method="norms") as writer:
            add(writer, 1)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_at_its_place_before_the_end(tmp_path):
    writer = DumpWriter(tmp_path / "dump", method="norms")
    add(writer, 1)
    assert not (tmp_path / "dump").exists()
    writer.close()
    writer.close()
    assert len(Dump(tmp_path / "dump")) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["dump"]


def test_a_sentence_is_in_a_dump_once(tmp_path):
    with DumpWriter(tmp_path / "dump", method="norms") as writer:
        for number in (5, 5, 3, 2000):
            add(writer, number)
        with pytest.raises(NormalignError, match="sentence 5 was added before"):
            add(writer, 5)
    assert Dump(tmp_path / "dump").ids() == [(5, 0), (5, 1), (3, 0), (2000, 0)]
    index = tmp_path / "dump" / "index.jsonl"
    index.write_text(index.read_text().replace('"id": 3', '"id": 5'))
    with pytest.raises(NormalignError, match=r"index.jsonl:3: sentence 5 with rank 0 is there twice, first in line 1"):
        Dump(tmp_path / "dump").ids()


@pytest.mark.parametrize("name", ["meta.json", "index.jsonl", "shard-00000.safetensors"])
def test_a_pipe_in_the_place_of_a_file_does_not_wait(tmp_path, name):
    with DumpWriter(tmp_path / "dump", method="norms") as writer:
        add(writer, 0)
    (tmp_path / "dump" / name).unlink()
    os.mkfifo(tmp_path / "dump" / name)
    with pytest.raises(NormalignError, match="is a pipe or a device"):
        list(Dump(tmp_path / "dump"))


def test_where_it_cannot_be_written(tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(NormalignError, match="exists already"):
        DumpWriter(tmp_path / "there", method="norms")
    with pytest.raises(NormalignError, match="there is no directory"):
        DumpWriter(tmp_path / "nowhere" / "dump", method="norms")


@pytest.fixture
def good(tmp_path):
    with DumpWriter(tmp_path / "dump", method="norms") as writer:
        add(writer, 1)
    return tmp_path / "dump"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shard": 7}, "shard-00007"),
        ({"shard": "../../x"}, "not a line of a dump"),
        ({"target_pieces": ["a"]}, "not a line of a dump"),
        ({"source": {"words": ["a"], "spans": [[0, 99]], "specials": []}}, "not a line of a dump"),
        ({"source": None}, "not a line of a dump"),
    ],
)
def test_a_damaged_index_is_named(good, change, message):
    index = good / "index.jsonl"
    index.write_text(json.dumps({**json.loads(index.read_text()), **change}) + "\n")
    with pytest.raises(NormalignError, match=message):
        Dump(good)[0]


def test_damaged_files_are_named(good):
    (good / "shard-00000.safetensors").write_bytes(b"\xff" * 50)
    with pytest.raises(NormalignError, match="shard-00000"):
        Dump(good)[0]
    (good / "index.jsonl").write_text("")
    with pytest.raises(NormalignError, match=r"0 lines, 1 in meta\.json"):
        Dump(good)
    (good / "meta.json").write_text("{}")
    with pytest.raises(NormalignError, match="not a dump of version"):
        Dump(good)
    with pytest.raises(NormalignError, match="not a dump"):
        Dump(good / "nowhere")

"""A saved choice comes back as it was; anything else is refused in one line."""

from __future__ import annotations

import json

import pytest

from fairseq_normalign.analysis.choose_readings import RatedReading, ReadingChoice
from fairseq_normalign.analysis.saved_choice import alignment_heads, ranked_list, read_choice, write_choice
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.experts import parse_expert
from fairseq_normalign.links.readings import Reading

CHOICE = ReadingChoice(
    expert=parse_expert("1.2:awi,3:awo"),
    stability=(0.97, 1.0),
    ranked=(
        RatedReading(Reading("norms", 0, 1, "awi"), 0.26, 1.0),
        RatedReading(Reading("norms", 2, None, "awo"), 0.18, 1.0),
        RatedReading(Reading("norms", 2, 3, "awo"), 0.17, 1.0),
        RatedReading(Reading("norms", 1, 0, "awo"), 0.16, 0.99),
        RatedReading(Reading("norms", 0, 0, "awo"), 0.05, 0.1),
    ),
    diagonal=0.1,
    pairs=500,
    doubts=("something is close",),
)


def test_a_choice_comes_back_as_it_was(tmp_path):
    write_choice(tmp_path / "choice.json", CHOICE)
    assert read_choice(tmp_path / "choice.json") == CHOICE


def test_the_ranked_list_counts_from_one():
    assert ranked_list(CHOICE)[0] == {
        "method": "norms",
        "layer": 1,
        "head": 2,
        "step": "awi",
        "support": 0.26,
        "above_diagonal": 1.0,
    }
    assert ranked_list(CHOICE)[1]["head"] is None


def test_alignment_heads_are_the_supported_heads_counted_from_zero():
    assert alignment_heads(CHOICE) == {"alignment_heads": [[1, 0], [2, 3]]}
    assert alignment_heads(CHOICE, "awi") == {"alignment_heads": [[0, 1]]}


def test_alignment_heads_need_support():
    nothing = ReadingChoice(CHOICE.expert, CHOICE.stability, CHOICE.ranked[4:], 0.1, 40, ())
    with pytest.raises(NormalignError, match="no single head is supported at AWO by the 40 pairs"):
        alignment_heads(nothing)


def changed(**values) -> dict:
    record = {
        "kind": "normalign readings",
        "readings": "1.2:awi",
        "stability": [1],
        "pairs": 40,
        "diagonal": 0.1,
        "doubts": [],
        "ranked": [],
    }
    return {**record, **values}


ROW = {"method": "norms", "layer": 1, "head": 2, "step": "awi", "support": 0.5, "above_diagonal": 1.0}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "is not a choice of readings"),
        (changed(kind="other"), "is not a choice of readings"),
        (changed(readings=3), "'readings' has to be a text"),
        (changed(readings="1.2:awx"), "is not a reading"),
        (changed(stability=[0.5, 0.5]), "'stability' has 2 numbers for 1 readings"),
        (changed(stability=["x"]), "stability has to be a number from 0 to 1"),
        (changed(stability=[True]), "stability has to be a number from 0 to 1"),
        (changed(pairs=-1), "pairs has to be a whole number from 0"),
        (changed(pairs=1.5), "pairs has to be a whole number from 0"),
        (changed(diagonal=None), "diagonal has to be a number"),
        (changed(doubts=[1]), "'doubts' has to hold texts"),
        (changed(ranked={}), "'ranked' has to be a list"),
        (changed(ranked=[3]), "'ranked', entry 1: has to be an object"),
        (changed(ranked=[ROW, {**ROW, "layer": 0}]), "'ranked', entry 2: 'layer' has to be a whole number from 1"),
        (changed(ranked=[{**ROW, "layer": 10**9}]), "'layer' has to be a whole number from 1 to 1000"),
        (changed(ranked=[{**ROW, "head": "2"}]), "'head' has to be a whole number"),
        (changed(ranked=[{**ROW, "step": ["awi"]}]), "'step' has to be one of"),
        (changed(ranked=[{**ROW, "support": 2}]), "'support' has to be a number from 0 to 1"),
        (changed(ranked=[{**ROW, "method": None}]), "'method' has to be a text"),
    ],
)
def test_malformed_choices_are_refused(tmp_path, record, message):
    path = tmp_path / "choice.json"
    path.write_text(json.dumps(record))
    with pytest.raises(NormalignError, match=message) as error:
        read_choice(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"kind": NaN}', b'{"a": ' * 50_000], ids=range(6)
)
def test_what_is_no_json_is_refused(tmp_path, raw):
    (tmp_path / "choice.json").write_bytes(raw)
    with pytest.raises(NormalignError, match="is not JSON"):
        read_choice(tmp_path / "choice.json")


def test_a_huge_file_is_not_read_whole(tmp_path):
    (tmp_path / "choice.json").write_bytes(b" " * 10_000_001)
    with pytest.raises(NormalignError, match="larger than 10000000 bytes"):
        read_choice(tmp_path / "choice.json")


def test_a_missing_file_is_said_in_one_line(tmp_path):
    with pytest.raises(NormalignError, match=r"choice\.json"):
        read_choice(tmp_path / "choice.json")

"""The choice of readings without gold, on text whose right answer is known; a saved choice comes back as it was."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_normalign.analysis.choose_readings import (
    RatedReading,
    ReadingChoice,
    alignment_heads,
    choice_record,
    choose_readings,
    read_choice,
    word_shares,
    write_choice,
)
from fairseq_normalign.analysis.decisions import PairDecisions
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.experts import default_expert, parse_expert
from fairseq_normalign.links.readings import Reading

METHOD = "norms"
LAYERS, HEADS = 3, 2


def pairs(
    count: int, right: dict[tuple[str, int, int | None], float], seed: int = 1, monotone: bool = False
) -> list[PairDecisions]:
    """Sentences of distinct words, translated word by word in a random order, or in the same.

    ``right``: (step, layer, head) -> how often that reading links the right word; the others guess.
    """
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        length = int(chance.integers(5, 10))
        words = chance.choice(40, size=length, replace=False)
        order = np.arange(length) if monotone else chance.permutation(length)
        pair = PairDecisions(tuple(f"s{n}" for n in words), tuple(f"t{n}" for n in words[order]))

        def decided(reading, length=length, order=order):
            guess = chance.integers(0, length, size=length)
            return np.where(chance.random(length) < right.get(reading, 0.0), order, guess)

        for step in ("awo", "awi"):
            pair.layers[METHOD, step] = [decided((step, layer, None)) for layer in range(LAYERS)]
            pair.heads[METHOD, step] = [
                np.stack([decided((step, layer, head)) for head in range(HEADS)]) for layer in range(LAYERS)
            ]
        found.append(pair)
    return found


def test_the_best_head_after_and_the_best_layer_before_are_chosen():
    choice = choose_readings(pairs(100, {("awi", 0, 1): 0.9, ("awo", 2, None): 0.6, ("awo", 1, 0): 0.2}), layers=LAYERS)
    assert str(choice.expert) == "norms:1.2:awi,norms:3:awo"
    assert choice.doubts == ()
    assert choice.stability == (1.0, 1.0)
    assert [one.reading.spec for one in choice.ranked[:2]] == ["norms:1.2:awi", "norms:3:awo"]
    assert len(choice.ranked) == 2 * LAYERS * (1 + HEADS)
    supports = [one.support for one in choice.ranked]
    assert supports == sorted(supports, reverse=True)


def test_beside_a_whole_layer_the_look_before_counts_as_a_root():
    choice = choose_readings(pairs(100, {("awi", 1, None): 0.9, ("awo", 2, 0): 0.6}), layers=LAYERS)
    assert str(choice.expert) == "norms:2:awi,norms:3.1:awo^0.5"


@pytest.mark.parametrize(("step", "expected"), [("awi", "norms:1.2:awi"), ("awo", "norms:1.2:awo")])
def test_a_look_without_support_is_left_out(step, expected):
    choice = choose_readings(pairs(100, {(step, 0, 1): 0.8}), layers=LAYERS)
    assert str(choice.expert) == expected
    assert choice.expert.exponents == (1.0,)
    assert any("than the diagonal" in doubt for doubt in choice.doubts)


@pytest.mark.parametrize(("monotone", "expected"), [(True, "norms:1.2:awi,norms:3:awo"), (False, "norms:1.2:awi")])
def test_in_a_monotone_text_a_reading_on_the_diagonal_is_right(monotone, expected):
    text = pairs(100, {("awi", 0, 1): 1.0}, monotone=monotone)
    for pair in text:
        pair.layers[METHOD, "awo"][2] = np.arange(len(pair.target))
    assert str(choose_readings(text, layers=LAYERS).expert) == expected


def test_a_reading_far_from_the_diagonal_is_not_supported_in_a_monotone_text_either():
    choice = choose_readings(pairs(100, {("awi", 0, 1): 0.8, ("awo", 2, 0): 0.3}, monotone=True), layers=LAYERS)
    assert choice.expert == default_expert(LAYERS)


def test_a_model_that_knows_nothing_gets_the_default():
    choice = choose_readings(pairs(100, {}), layers=LAYERS)
    assert choice.expert == default_expert(LAYERS)


def test_too_few_pairs_get_the_default():
    choice = choose_readings(pairs(10, {("awi", 0, 1): 1.0}), layers=6)
    assert str(choice.expert) == "norms:2:awi,norms:6:awo^0.5"
    assert choice.ranked == ()
    assert choice.doubts == (f"too few pairs (10) to choose readings; using the default {choice.expert}",)
    assert choose_readings([], layers=6).expert == choice.expert


def test_a_close_choice_is_unsure():
    choice = choose_readings(pairs(120, {("awi", 0, 0): 0.7, ("awi", 0, 1): 0.7, ("awo", 2, None): 0.7}), layers=LAYERS)
    assert choice.stability[0] < 0.95
    assert "wins in" in choice.doubts[0]
    assert "the runner-up is" in choice.doubts[0]


def test_support_is_the_mean_share_of_the_lexicon():
    text = pairs(100, {("awi", 0, 1): 0.9})
    shares = word_shares([(pair.source, pair.target) for pair in text])
    total = words = 0.0
    for share, pair in zip(shares, text, strict=True):
        for target, source in enumerate(pair.heads[METHOD, "awi"][0][1]):
            total, words = total + share[target, source], words + 1
    found = next(one for one in choose_readings(text, layers=LAYERS).ranked if one.reading.spec == "norms:1.2:awi")
    assert found.support == pytest.approx(total / words)


def test_words_that_are_linked_to_nothing_find_no_support():
    text = pairs(100, {("awi", 0, 1): 1.0})
    for pair in text:
        pair.heads[METHOD, "awi"][0][1][:] = -1
    found = next(one for one in choose_readings(text, layers=LAYERS).ranked if one.reading.spec == "norms:1.2:awi")
    assert found.support == 0


def test_decisions_without_heads_choose_layers():
    text = pairs(120, {("awi", 0, None): 0.9, ("awo", 2, None): 0.8})
    for pair in text:
        pair.heads.clear()
    assert str(choose_readings(text, layers=LAYERS).expert) == "norms:1:awi,norms:3:awo^0.5"


sentences = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4)


def slow_shares(pairs, rounds):
    """IBM model 1 with an empty word, as in the books."""
    probability = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in pairs:
            for t in target:
                norm = sum(probability[s, t] for s in [None, *source])
                for s in [None, *source]:
                    counts[s, t] += probability[s, t] / norm
                    totals[s] += probability[s, t] / norm
        probability = defaultdict(float, {(s, t): count / totals[s] for (s, t), count in counts.items()})
    shares = []
    for source, target in pairs:
        rows = [[probability[s, t] for s in source] for t in target]
        shares.append(np.array([[value / sum(row) for value in row] for row in rows]))
    return shares


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(sentences, sentences), max_size=5), st.integers(1, 3))
def test_as_in_the_books(pairs, rounds):
    for found, expected in zip(word_shares(pairs, rounds), slow_shares(pairs, rounds), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


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


def test_the_readings_of_a_choice_come_back(tmp_path):
    write_choice(tmp_path / "choice.json", CHOICE)
    assert read_choice(tmp_path / "choice.json") == CHOICE.expert


def test_the_record_counts_from_one():
    first, second, *_ = choice_record(CHOICE)["ranked"]
    assert (first["layer"], first["head"], second["head"]) == (1, 2, None)


def test_alignment_heads_are_the_supported_heads_counted_from_zero():
    assert alignment_heads(CHOICE) == {"alignment_heads": [[1, 0], [2, 3]]}
    assert alignment_heads(CHOICE, "awi") == {"alignment_heads": [[0, 1]]}


def test_alignment_heads_need_support():
    nothing = ReadingChoice(CHOICE.expert, CHOICE.stability, CHOICE.ranked[4:], 0.1, 40, ())
    with pytest.raises(NormalignError, match="no single head is supported at AWO by the 40 pairs"):
        alignment_heads(nothing)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "is not a choice of readings"),
        ({"kind": "other", "readings": "1.2:awi"}, "is not a choice of readings"),
        ({"kind": "normalign readings"}, "'readings' has to be a text"),
        ({"kind": "normalign readings", "readings": 3}, "'readings' has to be a text"),
        ({"kind": "normalign readings", "readings": "1.2:awx"}, "is not a reading"),
        ({"kind": "normalign readings", "readings": "0:awi"}, "layers and heads count from 1"),
    ],
)
def test_malformed_choices_are_refused(tmp_path, record, message):
    path = tmp_path / "choice.json"
    path.write_text(json.dumps(record))
    with pytest.raises(NormalignError, match=message) as error:
        read_choice(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": ' * 50_000], ids=range(5))
def test_what_is_no_json_is_refused(tmp_path, raw):
    (tmp_path / "choice.json").write_bytes(raw)
    with pytest.raises(NormalignError, match="is not JSON"):
        read_choice(tmp_path / "choice.json")


def test_a_huge_file_is_not_read_whole(tmp_path):
    (tmp_path / "choice.json").write_bytes(b" " * 10_000_001)
    with pytest.raises(NormalignError, match="larger than 10000000 bytes"):
        read_choice(tmp_path / "choice.json")

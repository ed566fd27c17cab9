"""The choice of readings without gold, on text whose right answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from fairseq_normalign.analysis.choose_readings import choose_readings
from fairseq_normalign.analysis.decisions import PairDecisions
from fairseq_normalign.analysis.lexicon import word_shares
from fairseq_normalign.links.experts import default_expert

METHOD = "norms"
LAYERS, HEADS = 3, 2


def pairs(count: int, right: dict[tuple[str, int, int | None], float], seed: int = 1) -> list[PairDecisions]:
    """Sentences of distinct words, translated word by word in a random order.

    ``right``: (step, layer, head) -> how often that reading links the right word; the others guess.
    """
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        length = int(chance.integers(5, 10))
        words = chance.choice(40, size=length, replace=False)
        order = chance.permutation(length)
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
    assert choice.is_sure
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


def test_a_model_that_knows_nothing_gets_the_default():
    choice = choose_readings(pairs(100, {}), layers=LAYERS)
    assert choice.expert == default_expert(LAYERS)
    assert not choice.is_sure


def test_too_few_pairs_get_the_default():
    choice = choose_readings(pairs(10, {("awi", 0, 1): 1.0}), layers=6)
    assert str(choice.expert) == "norms:2:awi,norms:6:awo^0.5"
    assert choice.ranked == ()
    assert choice.doubts == ("only 10 sentence pairs to choose by; the default is used",)
    assert choose_readings([], layers=6).expert == choice.expert


def test_a_close_choice_is_unsure():
    choice = choose_readings(pairs(120, {("awi", 0, 0): 0.7, ("awi", 0, 1): 0.7, ("awo", 2, None): 0.7}), layers=LAYERS)
    assert choice.stability[0] < 0.95
    assert "is close to" in choice.doubts[0]


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

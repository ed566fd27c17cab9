from __future__ import annotations

import numpy as np
import pytest

from fairseq_normalign.analysis.decisions import PairDecisions
from fairseq_normalign.analysis.layer_choice import judge_layers, sentence_of
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.show.layer_table import STYLES, render_layers

METHOD = "norms"


def pairs(count: int, *, right: tuple[str, int], turned: bool = False, seed: int = 1) -> list[PairDecisions]:
    """Sentences of distinct words, translated word by word in a random order; one of six candidates knows it."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        length = int(chance.integers(4, 9))
        words = chance.choice(40, size=length, replace=False)
        order = chance.permutation(length)
        answer = np.argsort(order) if turned else order
        source, target = tuple(f"s{n}" for n in words), tuple(f"t{n}" for n in words[order])
        pair = PairDecisions(*((target, source) if turned else (source, target)))
        for step in ("awo", "awi"):
            guesses = [np.arange(length), chance.integers(0, length, size=length), np.zeros(length, dtype=int)]
            if right[0] == step:
                guesses[right[1]] = answer
            pair.layers[METHOD, step] = guesses
            pair.peaks[METHOD, step] = [0.5] * 3
        pair.means[METHOD] = [0.1, 0.2, 0.9]
        found.append(pair)
    return found


@pytest.mark.parametrize("right", [("awi", 0), ("awo", 2)])
def test_the_lexicon_finds_the_layer_that_translates(right):
    verdict = judge_layers(pairs(200, right=right), methods=[METHOD])
    chosen = verdict.choice.candidate
    assert (chosen.step, chosen.layer) == right
    assert verdict.choice.criterion == "lexicon"
    assert verdict.choice.is_sure
    assert verdict.choice.stability == 1
    assert len(verdict.criteria) == 6


def test_agreement_finds_the_layers_of_both_directions():
    forward, backward = pairs(60, right=("awi", 0)), pairs(60, right=("awo", 1), turned=True)
    verdict = judge_layers(forward, backward, methods=[METHOD])
    assert (verdict.choice.candidate.step, verdict.choice.candidate.layer) == ("awi", 0)
    assert verdict.reverse_choice is not None
    assert (verdict.reverse_choice.candidate.step, verdict.reverse_choice.candidate.layer) == ("awo", 1)
    assert verdict.choice.criterion == "supported"
    best = max(verdict.criteria, key=lambda one: one.supported)
    assert best.candidate == verdict.choice.candidate
    positional = next(one for one in verdict.criteria if str(one.candidate) == "norms awo layer 1")
    assert best.agreement == pytest.approx(1)
    assert positional.agreement == pytest.approx(1), "layers that follow positions agree, and must not be chosen"


def test_a_setting_that_was_asked_for_is_kept():
    verdict = judge_layers(pairs(100, right=("awi", 0)), methods=[METHOD], steps=["awo"])
    assert verdict.choice.candidate.step == "awo"


def test_few_pairs_and_equal_layers_are_doubts():
    few = judge_layers(pairs(5, right=("awi", 0)), methods=[METHOD])
    assert any("only 5 sentence pairs" in doubt for doubt in few.choice.doubts)
    twins = pairs(100, right=("awi", 0))
    for number, pair in enumerate(twins):
        answer = pair.layers[METHOD, "awi"][0]
        spoiled = [answer.copy(), answer.copy()]
        spoiled[number % 2][:2] = 0
        pair.layers[METHOD, "awi"][:2] = spoiled
    verdict = judge_layers(twins, methods=[METHOD])
    assert any("is close" in doubt for doubt in verdict.choice.doubts)
    assert "unsure: " in sentence_of(verdict.choice, verdict.criteria)


def test_nothing_to_judge_by():
    with pytest.raises(NormalignError, match="no sentence pair"):
        judge_layers([], methods=[METHOD])


def test_every_style_shows_every_layer():
    verdict = judge_layers(pairs(40, right=("awi", 0)), pairs(40, right=("awi", 0), turned=True), methods=[METHOD])
    for style in STYLES:
        text = render_layers(verdict, style)
        assert text.count(METHOD) >= 12
        assert "reverse" in text
    assert "--layer 1 --step awi" in render_layers(verdict, option="--")

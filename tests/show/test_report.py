"""What a report shows: links and soft alignments of readings, their counts, and which sentences are examples."""

from __future__ import annotations

import numpy as np
import pytest

from fairseq_normalign.analysis.comparison import Sampling, choose_examples, compare_pairs
from fairseq_normalign.analysis.decisions import best_reading, pair_counts
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.read_pair import links_of, soft_of
from fairseq_normalign.links.readings import Reading, every_reading
from fairseq_normalign.links.score import metrics_of, score

WORDS = "a b c d e f g".split()


@pytest.fixture
def pairs(make):
    rng = np.random.default_rng(0)
    return [make(n, WORDS, WORDS, rng, heads=2, links=True) for n in range(12)]


def aer(pairs, choice):
    return score([pair.gold for pair in pairs], [links_of(pair, choice) for pair in pairs]).aer


def test_best_reading_has_the_lowest_aer_of_its_method(pairs):
    every = [choice for choice in every_reading("norms", pairs[0].readings["norms"].shape) if choice.head is None]
    assert aer(pairs, best_reading(pairs, "norms")) == min(aer(pairs, choice) for choice in every)


def test_examples_are_the_extremes(pairs):
    choice, baseline = Reading("norms", 1), Reading("weights", 1)
    examples = choose_examples(pairs, choice, baseline, each=1)
    by_kind = {note: example.pair for example in examples for note in example.pair.notes}
    one = {pair.id: aer([pair], choice) for pair in pairs}
    gain = {pair.id: aer([pair], choice) - aer([pair], baseline) for pair in pairs}
    assert one[by_kind["best"].id] == min(one.values())
    assert one[by_kind["worst"].id] == max(one.values())
    assert gain[by_kind["most improved by norms against weights"].id] == min(gain.values())
    nearest = min(abs(rate - aer(pairs, choice)) for rate in one.values())
    assert abs(one[by_kind["typical"].id] - aer(pairs, choice)) == pytest.approx(nearest)


def test_the_comparison_scores_what_is_drawn(pairs):
    found = compare_pairs(pairs, Sampling(20))
    for row in found.layers:
        for layer, figure in enumerate(row.layers):
            assert figure.aer == pytest.approx(aer(pairs, Reading(row.method, layer, None, row.step)))
    for row in found.heads:
        for layer, heads in enumerate(row.aer):
            for head, rate in enumerate(heads):
                assert rate == pytest.approx(aer(pairs, Reading(row.method, layer, head, row.step)))
    other = next(system for system in found.systems if system.name == "other")
    assert other.figure.aer == pytest.approx(aer(pairs, Reading("other")))


def test_soft_of_a_word_is_summed_over_source_and_averaged_over_target_pieces(pair):
    steps = pair.readings["norms"].steps[1]
    for step, shift in (("awo", 0), ("awi", 1)):
        soft = soft_of(pair, Reading("norms", 1, None, step))
        for t, (first, last) in enumerate(pair.target.by_word.spans):
            for s, (start, stop) in enumerate(pair.source.by_word.spans):
                cells = [steps[row + shift, start:stop].sum() for row in range(first, last)]
                assert soft[t, s] == pytest.approx(np.mean(cells))


def test_links_by_threshold_are_the_shares_above_it(pair):
    choice = Reading("weights", 2, None, "awo")
    soft = soft_of(pair, choice)
    expected = {(s, t) for t, row in enumerate(soft) for s, value in enumerate(row) if value / row.sum() > 0.3}
    assert set(links_of(pair, choice, threshold=0.3)) == expected
    assert expected


def test_counts_are_those_of_the_scorer(pair):
    counts = pair_counts(pair)
    choices = [one for name, found in pair.readings.items() for one in every_reading(name, found.shape)]
    assert len(choices) == len(counts) == 2 * 3 * 3 * 2 + 1
    for choice, row in zip(choices, counts, strict=True):
        links, gold = set(links_of(pair, choice)), pair.gold
        sizes = [len(links), len(gold.sure), len(gold.possible), len(links & gold.sure), len(links & gold.possible)]
        assert row.tolist() == sizes
        assert metrics_of(row)["aer"] == pytest.approx(score([gold], [links]).aer)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Reading("nothing"), "no method 'nothing' here; there are weights, norms, other"),
        (Reading("norms", 3), "there is no layer 4; it has 3"),
        (Reading("norms", 0, 2), "there is no head 3; it has 2"),
    ],
)
def test_a_choice_that_is_not_there_is_named(pair, choice, message):
    with pytest.raises(NormalignError, match=message):
        soft_of(pair, choice)

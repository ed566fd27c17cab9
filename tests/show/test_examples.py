"""Which sentences a report shows."""

from __future__ import annotations

import numpy as np
import pytest

from fairseq_normalign.analysis.comparison import compare_pairs
from fairseq_normalign.analysis.decisions import decisions_of
from fairseq_normalign.analysis.error_rates import Sampling
from fairseq_normalign.analysis.examples import choose_examples
from fairseq_normalign.analysis.pair_counts import best_reading
from fairseq_normalign.links.read_pair import links_of
from fairseq_normalign.links.readings import Reading, every_reading
from fairseq_normalign.links.score import score

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


def test_decisions_are_the_links(pairs):
    decided = decisions_of(pairs[0])
    for layer, sources in enumerate(decided.layers["norms", "awo"]):
        links = [(int(s), t) for t, s in enumerate(sources) if s >= 0]
        assert sorted(links) == links_of(pairs[0], Reading("norms", layer, None, "awo"))

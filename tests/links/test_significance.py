import time

import numpy as np
import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links import significance
from fairseq_normalign.links.score import metrics_of
from fairseq_normalign.links.significance import bootstrap, compare_to_first, intervals


def system(quality, sentences=508, seed=0):
    """Counts of a system that finds each of 20 sure links with the given chance and adds as many as it misses."""
    hits = np.random.default_rng(seed).binomial(20, quality, size=sentences)
    full = np.full(sentences, 20)
    return np.stack([full, full, full, hits, hits], axis=1)


def test_bootstrap_is_the_loop_over_drawn_sentences():
    counts = system(0.7, 30)
    generator = np.random.default_rng(5)
    drawn = generator.integers(30, size=(40, 30))
    expected = [float(metrics_of(sum(counts[row] for row in rows))["aer"]) for rows in drawn]
    np.testing.assert_allclose(bootstrap([counts], 40, seed=5)[0]["aer"], expected)


def test_in_chunks_it_is_the_same(monkeypatch):
    counts = [system(0.7, 30), system(0.6, 30, seed=1)]
    whole = bootstrap(counts, 25, seed=3), compare_to_first(counts, samples=25, trials=33, seed=3)
    monkeypatch.setattr(significance, "_CELLS", 100)
    parts = bootstrap(counts, 25, seed=3), compare_to_first(counts, samples=25, trials=33, seed=3)
    np.testing.assert_array_equal(whole[0][1]["f"], parts[0][1]["f"])
    assert whole[1][0].p_bootstrap == parts[1][0].p_bootstrap


def test_interval_covers_the_score_with_about_its_standard_error():
    counts = system(0.7)
    low, high = intervals(bootstrap([counts], 1000, seed=1)[0])["aer"]
    score = float(metrics_of(counts.sum(axis=0))["aer"])
    assert low < score < high
    standard_error = np.sqrt(0.7 * 0.3 / 20 / 508)
    assert (high - low) / 2 == pytest.approx(1.96 * standard_error, rel=0.15)


def test_equal_systems_do_not_differ_and_different_ones_do():
    first, better, same = system(0.6, seed=1), system(0.7, seed=2), system(0.6, seed=1)
    against_better, against_same = compare_to_first([first, better, same], samples=500, trials=500, seed=7)
    assert against_better.difference == pytest.approx(-0.1, abs=0.02)
    assert against_better.p_bootstrap == against_better.p_randomization == 1 / 501
    assert (against_same.difference, against_same.p_bootstrap, against_same.p_randomization) == (0, 1, 1)


def test_p_values_of_equally_good_systems_spread_over_the_unit_interval():
    p_values = []
    for seed in range(40):
        pair = [system(0.6, 60, seed=2 * seed), system(0.6, 60, seed=2 * seed + 1)]
        p_values += [
            (c.p_bootstrap, c.p_randomization) for c in compare_to_first(pair, samples=200, trials=200, seed=seed)
        ]
    means = np.mean(p_values, axis=0)
    assert ((means > 0.35) & (means < 0.65)).all(), means


def test_a_seed_gives_the_same_numbers_again():
    counts = [system(0.6), system(0.61, seed=4)]
    once, again = (compare_to_first(counts, samples=100, trials=100, seed=9) for _ in range(2))
    assert once == again
    assert compare_to_first(counts, samples=100, trials=100, seed=10) != once


def test_a_thousand_samples_of_508_sentences_take_less_than_a_second():
    counts = system(0.7)
    start = time.perf_counter()
    bootstrap([counts], 1000, seed=1)
    assert time.perf_counter() - start < 1


def test_wrong_arguments():
    with pytest.raises(NormalignError, match="at least 1, not 0"):
        bootstrap([system(0.5)], 0, seed=1)
    with pytest.raises(NormalignError, match="no sentences"):
        bootstrap([np.zeros((0, 5))], 10, seed=1)
    with pytest.raises(NormalignError, match="aer, precision, recall, f"):
        compare_to_first([system(0.5)] * 2, samples=1, trials=1, seed=1, metric="bleu")

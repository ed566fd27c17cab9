import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links import score as score_module
from fairseq_normalign.links.formats.blocks import Block
from fairseq_normalign.links.gold import Gold
from fairseq_normalign.links.score import (
    COUNTS,
    METRICS,
    bootstrap,
    compare_to_first,
    count_blocks,
    count_links,
    count_sources,
    gold_block,
    intervals,
    metrics_of,
    score,
    score_of,
)

LINK = st.tuples(st.integers(0, 4), st.integers(0, 4))
GOLD = st.builds(Gold, st.sets(LINK), st.sets(LINK))
CORPUS = st.lists(st.tuples(GOLD, st.lists(LINK)), min_size=1, max_size=6)


def block_of(sentences):
    rows = [(n, s, t, sure) for n, links in enumerate(sentences) for s, t, sure in links]
    table = np.asarray(rows, dtype=np.int64).reshape(-1, 4)
    return Block(len(sentences), table[:, 0], table[:, 1], table[:, 2], table[:, 3].astype(bool))


def counted_as_sets(gold, links):
    found = set(links)
    return [len(found), len(gold.sure), len(gold.possible), len(found & gold.sure), len(found & gold.possible)]


@given(CORPUS)
def test_blocks_are_counted_like_sets(corpus):
    gold = block_of([[*((*x, False) for x in g.possible), *((*x, True) for x in g.sure)] for g, _ in corpus])
    hypothesis = block_of([[(*link, True) for link in links] for _, links in corpus])
    assert count_blocks(gold, hypothesis).tolist() == [counted_as_sets(*one) for one in corpus]
    assert count_links(*zip(*corpus, strict=True)).tolist() == [counted_as_sets(*one) for one in corpus]


@given(st.lists(st.tuples(GOLD, st.lists(st.integers(-1, 4), max_size=5)), min_size=1, max_size=6), st.integers(1, 3))
def test_best_sources_are_counted_like_sets(corpus, times):
    golds, decided = zip(*corpus, strict=True)
    links = [[(s, t) for t, s in enumerate(sources) if s >= 0] for sources in decided]
    expected = [counted_as_sets(*one) for one in zip(golds, links, strict=True)]
    sources = [np.array(one, dtype=np.intp) for one in decided]
    assert count_sources(gold_block(golds).repeated(times), sources * times).tolist() == expected * times


@given(CORPUS, st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_corpus_score_is_the_formula_on_summed_counts(corpus, alpha):
    a = sum(len(set(links)) for _, links in corpus)
    s = sum(len(gold.sure) for gold, _ in corpus)
    a_s = sum(len(gold.sure & set(links)) for gold, links in corpus)
    a_p = sum(len(gold.possible & set(links)) for gold, links in corpus)
    found = score([gold for gold, _ in corpus], [links for _, links in corpus], alpha=alpha)
    assert (found.links, found.sure, found.sure_hits, found.possible_hits) == (a, s, a_s, a_p)
    assert found.aer == pytest.approx(1 - (a_s + a_p) / (a + s) if a + s else 0)
    precision, recall = a_p / a if a else 1, a_s / s if s else 1
    assert (found.precision, found.recall) == (precision, recall)
    if precision and recall:
        assert found.f == pytest.approx(1 / (alpha / precision + (1 - alpha) / recall))
    elif 0 < alpha < 1:
        assert found.f == 0


def test_by_hand():
    gold = [Gold({(0, 0), (1, 1)}, {(2, 1)}), Gold({(0, 0)}, ())]
    found = score(gold, [[(0, 0), (2, 1), (3, 3)], [(0, 1)]])
    assert tuple(getattr(found, name) for name in COUNTS) == (4, 3, 4, 1, 2)
    assert (found.aer, found.precision, found.recall) == (1 - 3 / 7, 2 / 4, 1 / 3)
    assert found.f == pytest.approx(0.4)


def test_nothing_linked_and_nothing_to_find():
    nothing, gold = Gold((), ()), Gold({(0, 0)}, ())
    assert [getattr(score([gold], [[]]), name) for name in METRICS] == [1, 1, 0, 0]
    assert [getattr(score([nothing], [[]]), name) for name in METRICS] == [0, 1, 1, 1]
    assert [getattr(score([nothing], [[(0, 0)]]), name) for name in METRICS] == [1, 0, 1, 0]


def test_rows_are_scored_like_single_ones():
    counts = np.random.default_rng(0).integers(0, 9, size=(4, 3, 5))
    metrics = metrics_of(counts)
    assert metrics["aer"].shape == (4, 3)
    assert math.isclose(metrics["f"][2, 1], score_of(counts[2, 1]).f)


def test_wrong_arguments():
    with pytest.raises(NormalignError, match="1 gold sentences, but 0 hypotheses"):
        score([Gold((), ())], [])
    with pytest.raises(NormalignError, match="from 0 to 1, not 2"):
        metrics_of(np.ones(5), alpha=2)


# -- intervals and tests


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
    monkeypatch.setattr(score_module, "_CELLS", 100)
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


def test_wrong_arguments_of_resampling():
    with pytest.raises(NormalignError, match="at least 1, not 0"):
        bootstrap([system(0.5)], 0, seed=1)
    with pytest.raises(NormalignError, match="no sentences"):
        bootstrap([np.zeros((0, 5))], 10, seed=1)
    with pytest.raises(NormalignError, match="aer, precision, recall, f"):
        compare_to_first([system(0.5)] * 2, samples=1, trials=1, seed=1, metric="bleu")

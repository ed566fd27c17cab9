import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.formats.blocks import Block
from fairseq_normalign.links.gold import Gold
from fairseq_normalign.links.score import (
    COUNTS,
    METRICS,
    count_blocks,
    count_links,
    count_sources,
    gold_block,
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

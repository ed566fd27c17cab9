from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_normalign.analysis.lexicon import word_shares

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
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=5), st.integers(1, 3))
def test_as_in_the_books(pairs, rounds):
    for found, expected in zip(word_shares(pairs, rounds), slow_shares(pairs, rounds), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_what_always_comes_together_belongs_together():
    pairs = [(["das", "haus"], ["the", "house"]), (["das", "buch"], ["the", "book"]), (["ein", "buch"], ["a", "book"])]
    shares = word_shares(pairs)
    assert shares[0].argmax(axis=1).tolist() == [0, 1]
    assert shares[2].argmax(axis=1).tolist() == [0, 1]


def test_no_pairs():
    assert word_shares([]) == []

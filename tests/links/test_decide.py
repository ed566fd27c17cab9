"""Decisions against the obvious loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.decide import (
    agree,
    agreement,
    best_sources,
    decide,
    max_weight_links,
    neighbour_support,
    parse_decision,
)
from fairseq_normalign.links.symmetrize import SOFT_SYMMETRIZATIONS, symmetrize

RANDOM = np.random.default_rng(5)
SOFT = arrays.arrays(
    np.float64, arrays.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6), elements=st.integers(0, 3)
)


def links(soft, decision="argmax", **options):
    return decide(np.asarray(soft, dtype=float), decision, **options)[0]


def shares(soft):
    return soft / np.where(soft.sum(axis=1, keepdims=True) > 0, soft.sum(axis=1, keepdims=True), 1)


def best_of_rows(soft):
    """The first largest value of each row that has any."""
    return {(row.tolist().index(max(row)), t) for t, row in enumerate(soft) if any(row)}


@given(SOFT, st.integers(1, 4))
def test_argmax_and_top_k(soft, k):
    assert links(soft) == links(soft, "top-k:1") == sorted(best_of_rows(soft))
    found = links(soft, f"top-k:{k}")
    for t, row in enumerate(soft):
        chosen = [row[s] for s, target in found if target == t]
        assert sorted(chosen, reverse=True) == [value for value in sorted(row, reverse=True)[:k] if value]


@given(SOFT, st.sampled_from([0.0, 0.25, 0.5]))
def test_a_threshold_is_on_the_share_of_the_target_word(soft, threshold):
    expected = [(s, t) for t, row in enumerate(shares(soft)) for s, value in enumerate(row) if value > threshold]
    assert links(soft, f"threshold:{threshold}") == sorted(expected)


def both_best(forward, backward):
    return best_of_rows(forward) & {(s, t) for t, s in best_of_rows(backward)}


def slow_itermax(forward, backward):
    """The description in the paper, pair by pair."""
    targets, sources = forward.shape
    found = both_best(forward, backward)
    if min(forward.shape) <= 2 or len({s for s, _ in found}) == sources or len({t for _, t in found}) == targets:
        return found
    one, other = forward.copy(), backward.copy()
    for t in range(targets):
        for s in range(sources):
            factor = (1, 0.9, 0)[any(s == a for a, _ in found) + any(t == b for _, b in found)]
            one[t, s] *= factor
            other[s, t] *= factor
    return found | both_best(one, other)


@pytest.mark.parametrize("seed", range(100))
def test_mutual_and_itermax(seed):
    chance = np.random.default_rng(seed)
    soft = chance.random((chance.integers(1, 9), chance.integers(1, 9)))
    sides = shares(soft), shares(shares(soft).T)
    assert links(soft, "mutual") == sorted(both_best(*sides))
    assert links(soft, "itermax") == sorted(slow_itermax(*sides))


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (1, 3), (0, 2)])
def test_max_weight_links_are_the_best_of_all_matchings(shape):
    for density in (1.0, 0.5, 0.2):
        weights = RANDOM.random(shape) * (RANDOM.random(shape) < density)
        few, many = sorted(shape)
        matchings = [
            [(t, s) if shape[0] <= shape[1] else (s, t) for t, s in zip(range(few), chosen, strict=True)]
            for chosen in itertools.permutations(range(many), few)
        ]
        linked = [[cell for cell in matching if weights[cell]] for matching in matchings]
        best = max(linked, key=lambda cells: (len(cells), sum(weights[cell] for cell in cells)))
        assert max_weight_links(weights) == sorted((s, t) for t, s in best)


def test_mwmf_gives_each_word_one_link_at_most():
    soft = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.0, 0.1, 0.9]])
    assert links(soft) == [(0, 0), (0, 1), (2, 2)]
    assert links(soft, "mwmf") == links(soft, "mwmf", backward=soft.T) == [(0, 0), (1, 1), (2, 2)]
    assert links(soft, "mwmf", backward=soft.T, floor=0.5) == [(0, 0), (2, 2)]


def test_null_policies():
    soft, null = np.array([[0.5, 0.2], [0.1, 0.2], [0.3, 0.3]]), np.array([0.3, 0.7, 0.3])
    assert links(soft, null=null) == [(0, 0), (0, 2), (1, 1)]
    for decision in ("argmax", "mutual", "itermax", "mwmf", "grow-diag", "top-k:2", "threshold:0"):
        found = links(soft, decision, null=null, policy="unaligned")
        assert found
        assert all(target != 1 for _, target in found), decision
    with pytest.raises(NormalignError, match="best, unaligned"):
        links(soft, null=null, policy="drop")
    with pytest.raises(NormalignError, match="target word 2 is NaN"):
        links(soft, null=np.array([0, np.nan, 0]), policy="unaligned")


def test_nan_is_an_error_and_no_source_means_no_links():
    with pytest.raises(NormalignError, match="target word 2, source word 1 is NaN"):
        links([[1.0, 2.0], [np.nan, 1.0]])
    for shape in ((3, 0), (0, 3)):
        for decision in ("argmax", "mutual", "itermax", "mwmf", "grow-diag", "top-k:2", "threshold:0"):
            assert links(np.zeros(shape), decision) == []
    assert best_sources(np.zeros((2, 3, 0))).tolist() == [[-1, -1, -1]] * 2


@pytest.mark.parametrize("text", ["best", "top-k", "top-k:0", "top-k:1.5", "threshold:2", "threshold:x", "mutual:2"])
def test_what_is_no_decision(text):
    with pytest.raises(NormalignError, match=text):
        parse_decision(text)


def test_how_sure_a_link_is_follows_the_decision():
    soft = RANDOM.random((3, 4))
    np.testing.assert_allclose(decide(soft, "top-k:2")[1], shares(soft))
    np.testing.assert_allclose(decide(soft, "itermax")[1], agree(soft))


@pytest.mark.parametrize("decision", ["grow-diag", "mutual", "itermax", "mwmf", "threshold:0.2", *SOFT_SYMMETRIZATIONS])
def test_exchanging_the_directions_only_turns_the_links(decision):
    for seed in range(300 if decision != "agreed-priority" else 0):
        chance = np.random.default_rng(seed)
        near = np.exp(-6 * np.abs(np.subtract.outer(*(np.linspace(0, 1, size) for size in chance.integers(1, 14, 2)))))
        forward, backward = near * chance.random(near.shape) ** 2, (near * chance.random(near.shape)).T ** 2
        links, agreed = decide(forward, decision, backward=backward, floor=0.1)
        turned, agreed_turned = decide(backward, decision, backward=forward, floor=0.1)
        assert sorted((t, s) for s, t in turned) == links
        np.testing.assert_array_equal(agreed, agreed_turned.T)


# -- what two directions agree on -------------------------------------------------------------------------------------


def slow_support(agreed):
    height, width = agreed.shape
    found = np.zeros((height, width))
    for t in range(height):
        for s in range(width):
            before = agreed[t - 1, s - 1] if t and s else float(t == s == 0)
            last = float((t, s) == (height - 1, width - 1))
            after = agreed[t + 1, s + 1] if t + 1 < height and s + 1 < width else last
            found[t, s] = (0.5 + (before + after) / 2) ** 0.5
    return found


@pytest.mark.parametrize("size", [(3, 4), (1, 1), (1, 3), (2, 2)])
def test_agree_is_the_slow_formula(size):
    forward, backward = RANDOM.random(size), RANDOM.random(size[::-1])
    agreed = RANDOM.random(size)
    np.testing.assert_allclose(neighbour_support(agreed), slow_support(agreed))
    rows, columns = shares(forward), shares(backward)
    support = slow_support(np.sqrt(rows * columns.T))
    expected = np.sqrt(shares(rows * support) * shares(columns * support.T).T)
    np.testing.assert_allclose(agree(forward, backward), expected)

    support = slow_support(np.sqrt(rows * shares(rows.T).T))
    rows = shares(rows * support)
    np.testing.assert_allclose(agree(forward), np.sqrt(rows * shares(rows.T).T))


def test_agree_of_empty_sides():
    assert agree(np.zeros((2, 0))).shape == (2, 0)
    assert agree(np.zeros((0, 2)), np.zeros((2, 0))).shape == (0, 2)


def test_a_sure_direction_outvotes_an_unsure_one():
    forward = np.array([[0.4, 0.6], [0.5, 0.5]])  # unsure of both target words
    backward = np.array([[0.9, 0.1], [0.1, 0.9]])  # sure of both source words
    assert links(forward, "agreed-intersection", backward=backward) == [(0, 0), (1, 1)]
    assert symmetrize([(1, 0), (0, 1)], [(0, 0), (1, 1)], "intersection") == []  # link by link nothing is left


@pytest.mark.parametrize("method", SOFT_SYMMETRIZATIONS)
def test_two_directions_against_a_loop_over_words(method):
    for _ in range(30):
        forward, backward = RANDOM.random((3, 4)) ** 4, RANDOM.random((4, 3)) ** 4
        agreed = agree(forward, backward)
        by_target, by_source = best_of_rows(agreed), best_of_rows(agreed.T)
        turned = [(s, t) for t, s in by_source]
        expected = symmetrize(by_target, turned, method.removeprefix("agreed-"))
        if method != "agreed-priority":  # links that depend on the order of the two directions are left out
            other_way = symmetrize(by_source, [(t, s) for s, t in by_target], method.removeprefix("agreed-"))
            expected = [(s, t) for s, t in expected if (t, s) in other_way]
        assert links(forward, method, backward=backward) == expected
        above = [(s, t) for s, t in expected if agreed[t, s] > 0.3]
        assert links(forward, method, backward=backward, floor=0.3) == above


def test_decisions_by_what_two_directions_agree_on():
    forward, backward = RANDOM.random((5, 6)), RANDOM.random((6, 5))
    found = {name: links(forward, name, backward=backward, floor=0.1) for name in ("mutual", "grow-diag")}
    assert found["mutual"] == links(forward, "agreed-intersection", backward=backward, floor=0.1)
    assert found["grow-diag"] == links(forward, "agreed-grow-diag", backward=backward, floor=0.1)
    assert len(links(forward, "threshold:0", backward=backward, floor=0.3)) == forward.size


def test_mistakes():
    with pytest.raises(ValueError, match="same sentence pair"):
        agreement(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(NormalignError, match="agreed-grow-diag"):
        links(np.ones((1, 1)), "agreed-most", backward=np.ones((1, 1)))

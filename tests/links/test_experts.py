"""Products of readings, votes and agreement, against slow formulas."""

import doctest

import numpy as np
import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links import experts
from fairseq_normalign.links.experts import (
    Expert,
    agree,
    bottom_third,
    default_expert,
    neighbour_support,
    own_agreement,
    parse_expert,
    product,
    vote,
    with_posterior,
)
from fairseq_normalign.links.readings import Reading
from fairseq_normalign.links.symmetrize import agreement, symmetrize_soft

RANDOM = np.random.default_rng(5)


def slow_product(readings, exponents, floor):
    height, width = readings[0].shape
    made = np.zeros((height, width))
    for t in range(height):
        for s in range(width):
            value = 1.0
            for reading, exponent in zip(readings, exponents, strict=True):
                value *= (reading[t, s] / reading[t].sum() + floor) ** exponent
            made[t, s] = value
        made[t] /= made[t].sum()
    return made


def test_examples_in_docstrings():
    assert doctest.testmod(experts).failed == 0


def test_product_is_the_slow_formula():
    readings = [RANDOM.random((5, 7)) ** 4 for _ in range(3)]
    fast = product(readings, [1, 0.5, 2], floor=0.02)
    np.testing.assert_allclose(fast, slow_product(readings, [1, 0.5, 2], 0.02), rtol=1e-12)


def test_product_of_a_padded_batch_is_that_of_each_pair():
    pairs = [[RANDOM.random(size) for _ in range(2)] for size in ((4, 3), (2, 5), (1, 1))]
    padded = [np.zeros((3, 4, 5)) for _ in range(2)]
    for number, pair in enumerate(pairs):
        for which, reading in enumerate(pair):
            padded[which][number, : reading.shape[0], : reading.shape[1]] = reading
    together = product(padded, [1, 0.5])
    for number, pair in enumerate(pairs):
        height, width = pair[0].shape
        np.testing.assert_allclose(together[number, :height, :width], product(pair, [1, 0.5]), rtol=1e-12)
        assert not together[number, height:].any()
        assert not together[number, :, width:].any()


def test_an_empty_row_says_nothing_and_two_empty_rows_stay_empty():
    sure, empty = np.array([[0.7, 0.3], [0.0, 0.0]]), np.zeros((2, 2))
    made = product([sure, empty])
    np.testing.assert_allclose(made[0], (sure[0] + 0.01) / 1.02)
    assert not made[1].any()


def test_product_does_not_underflow():
    sharp = np.full((1, 400), 1e-6)
    sharp[0, 3] = 1.0
    made = product([sharp] * 200)
    assert made[0].argmax() == 3
    assert made.sum() == pytest.approx(1)


def test_product_of_no_source_words():
    assert product([np.zeros((2, 0)), np.zeros((2, 0))]).shape == (2, 0)


def test_product_refuses_different_shapes():
    with pytest.raises(ValueError, match="different shapes"):
        product([np.ones((1, 2)), np.ones((2, 1))])


def test_vote_is_the_slow_formula():
    soft = RANDOM.random((4, 3))
    soft /= soft.sum(axis=1, keepdims=True)
    links = [(0, 0), (2, 1), (2, 3)]
    for t, row in enumerate(vote(soft, links, 3.0)):
        raised = np.array([soft[t, s] * (3.0 if (s, t) in links else 1.0) for s in range(3)])
        np.testing.assert_allclose(row, raised / raised.sum())


def test_vote_refuses_links_of_another_text_and_bad_factors():
    with pytest.raises(NormalignError, match="source word 3 to target word 1, but the pair has 2 and 1 words"):
        vote(np.ones((1, 2)), [(2, 0)])
    with pytest.raises(NormalignError, match="not 0"):
        vote(np.ones((1, 2)), [], 0)


def test_own_agreement_is_that_of_rows_and_columns():
    soft = RANDOM.random((3, 4))
    rows = soft / soft.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(own_agreement(soft), np.sqrt(rows * rows / rows.sum(axis=0)))


def test_own_agreement_shares_a_word_that_many_claim():
    soft = np.array([[0.9, 0.1], [0.55, 0.45]])
    assert symmetrize_soft(own_agreement(soft), "agreed-intersection") == [(0, 0), (1, 1)]


def test_links_below_the_floor_are_dropped():
    forward = np.array([[0.9, 0.1], [0.6, 0.4], [0.05, 0.95]])
    agreed = agreement(forward, np.array([[0.8, 0.15, 0.05], [0.1, 0.1, 0.8]]))
    every = symmetrize_soft(agreed, "agreed-union")
    assert every == [(0, 0), (0, 1), (1, 2)]
    assert symmetrize_soft(agreed, "agreed-union", floor=0.35) == [(0, 0), (1, 2)]
    assert symmetrize_soft(agreed, "agreed-union", floor=agreed[0, 0]) == [(1, 2)]


def test_experts_are_written_as_they_are_read():
    expert = parse_expert(" 1.2:awi, weights:3:awo^0.5")
    assert expert.readings == (Reading("norms", 0, 1, "awi"), Reading("weights", 2, None, "awo"))
    assert expert.exponents == (1.0, 0.5)
    assert parse_expert(str(expert)) == expert
    assert [place.layer for place in expert.places] == [0, 2]


@pytest.mark.parametrize(
    "text", ["", "1", "1:", "awi", "0:awi", "1.0:awi", "1:both", "1:awi^0", "1:awi^11", "1:awi^.", "1:awi,", "-1:awi"]
)
def test_malformed_experts_are_refused(text):
    with pytest.raises(NormalignError, match=r"reading|count from 1|exponent"):
        parse_expert(text)


@pytest.mark.parametrize(("layers", "low"), [(1, 0), (2, 0), (3, 0), (6, 1), (12, 3)])
def test_the_default_expert(layers, low):
    assert bottom_third(layers) == low
    expert = default_expert(layers)
    assert [(one.layer, one.head, one.step) for one in expert.readings] == [
        (low, None, "awi"),
        (layers - 1, None, "awo"),
    ]
    assert expert.exponents == (1.0, 0.5)


def test_an_expert_multiplies_what_was_read():
    expert = parse_expert("1:awi,2:awo^0.5")
    read = [(RANDOM.random((3, 3)), RANDOM.random(3)) for _ in expert.readings]
    soft, null = expert.combine(read)
    np.testing.assert_allclose(soft, product([one for one, _ in read], [1, 0.5]))
    for t in range(3):
        shares = [(one[t] / one[t].sum() + 0.01, nothing[t] / one[t].sum() + 0.01) for one, nothing in read]
        words = (shares[0][0] * shares[1][0] ** 0.5).sum()
        assert null[t] == pytest.approx(shares[0][1] * shares[1][1] ** 0.5 / words)


def test_one_reading_alone_stays_as_it_was_read():
    soft, null = RANDOM.random((2, 3)), RANDOM.random(2)
    found = parse_expert("1:awi").combine([(soft, null)])
    assert found[0] is soft
    assert found[1] is null


def test_an_expert_needs_readings():
    with pytest.raises(ValueError, match="no expert"):
        Expert((), ())


def slow_support(agreed):
    height, width = agreed.shape
    found = np.zeros((height, width))
    for t in range(height):
        for s in range(width):
            before = agreed[t - 1, s - 1] if t and s else float(t == s == 0)
            after = (
                agreed[t + 1, s + 1] if t + 1 < height and s + 1 < width else float((t, s) == (height - 1, width - 1))
            )
            found[t, s] = (0.5 + (before + after) / 2) ** 0.5
    return found


@pytest.mark.parametrize("size", [(3, 4), (1, 1), (1, 3), (2, 2)])
def test_neighbours_support_a_pair_of_words(size):
    agreed = RANDOM.random(size)
    np.testing.assert_allclose(neighbour_support(agreed), slow_support(agreed))


def test_agree_is_the_slow_formula_for_two_directions():
    forward, backward = RANDOM.random((3, 4)), RANDOM.random((4, 3))
    rows, columns = forward / forward.sum(1, keepdims=True), backward / backward.sum(1, keepdims=True)
    support = slow_support(np.sqrt(rows * columns.T))
    rows, columns = rows * support, columns * support.T
    rows, columns = rows / rows.sum(1, keepdims=True), columns / columns.sum(1, keepdims=True)
    np.testing.assert_allclose(agree(forward, backward), np.sqrt(rows * columns.T))


def test_agree_with_one_direction_is_its_own_agreement():
    soft = RANDOM.random((4, 4))
    rows = soft / soft.sum(1, keepdims=True)
    rows = rows * slow_support(own_agreement(soft))
    np.testing.assert_allclose(agree(soft), own_agreement(rows))


def test_a_neighbour_decides_between_two_equal_words():
    soft = np.array([[0.8, 0.1, 0.1], [0.1, 0.45, 0.45], [0.1, 0.45, 0.45]])
    agreed = agree(soft)
    assert agreed[1].argmax() == 1
    assert agreed[2].argmax() == 2


def test_agree_of_empty_sides():
    assert agree(np.zeros((2, 0))).shape == (2, 0)
    assert agree(np.zeros((0, 2)), np.zeros((2, 0))).shape == (0, 2)


def test_a_posterior_is_multiplied_in():
    soft, posterior = RANDOM.random((3, 4)), RANDOM.random((3, 4)) / 4
    expected = soft * (posterior + 0.03) ** 0.4
    np.testing.assert_allclose(with_posterior(soft, posterior), expected / expected.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="shape"):
        with_posterior(soft, posterior.T)

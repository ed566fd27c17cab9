"""Products of readings and votes, against slow formulas."""

import math

import numpy as np
import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.experts import Expert, bottom_third, default_expert, parse_expert, vote, with_posterior
from fairseq_normalign.links.readings import Reading

RANDOM = np.random.default_rng(5)


def product(readings, exponents=None):
    exponents = exponents or [1] * len(readings)
    expert = parse_expert(",".join(f"{n}:awi^{power}" for n, power in enumerate(exponents, start=1)))
    return expert.combine([(soft, np.zeros(soft.shape[:-1])) for soft in readings])[0]


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


def test_product_refuses_different_shapes():
    assert product([np.zeros((2, 0)), np.zeros((2, 0))]).shape == (2, 0)
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
    powers = (1, 0.5, 2)
    read = [(RANDOM.random((3, 4)) ** 4, RANDOM.random(3)) for _ in powers]
    soft, null = parse_expert("1:awi,2:awo^0.5,3:awi^2").combine(read)
    for t in range(3):
        words = math.prod((one[t] / one[t].sum() + 0.01) ** power for (one, _), power in zip(read, powers, strict=True))
        nulls = [(empty[t] / one[t].sum() + 0.01) ** power for (one, empty), power in zip(read, powers, strict=True)]
        np.testing.assert_allclose(soft[t], words / words.sum(), rtol=1e-12)
        assert null[t] == pytest.approx(math.prod(nulls) / words.sum())


def test_one_reading_alone_stays_as_it_was_read():
    soft, null = RANDOM.random((2, 3)), RANDOM.random(2)
    found = parse_expert("1:awi").combine([(soft, null)])
    assert found[0] is soft
    assert found[1] is null


def test_an_expert_needs_readings():
    with pytest.raises(ValueError, match="no expert"):
        Expert((), ())


def test_a_posterior_is_multiplied_in():
    soft, posterior = RANDOM.random((3, 4)), RANDOM.random((3, 4)) / 4
    expected = soft * (posterior + 0.03) ** 0.4
    np.testing.assert_allclose(with_posterior(soft, posterior), expected / expected.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="shape"):
        with_posterior(soft, posterior.T)

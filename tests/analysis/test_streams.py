import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.analysis.correlation import spearman
from fairseq_normalign.analysis.streams import LENGTH_SCALE, RANK_SCALE, SHARE_SCALE, Moments, RankCorrelation, Sample


@given(st.lists(st.lists(st.floats(-100, 100), min_size=1, max_size=5), min_size=1, max_size=5))
def test_moments_of_parts_are_those_of_the_whole(parts):
    moments = Moments(1)
    for part in parts:
        moments.add(np.array(part)[:, None])
    whole = np.concatenate(parts)
    assert moments.count[0] == len(whole)
    assert moments.mean[0] == pytest.approx(whole.mean(), abs=1e-9)
    assert moments.deviation[0] == pytest.approx(whole.std(), abs=1e-6)
    assert (moments.largest[0], moments.smallest[0]) == (whole.max(), whole.min())


def test_moments_keep_their_digits_far_from_zero():
    values = 1e8 + np.random.default_rng(1).random(1000)
    moments = Moments(2)
    for part in np.split(values, 10):
        moments.add_to(np.ones(len(part), dtype=int), part)
    assert moments.deviation[1] == pytest.approx(values.std(), rel=1e-6)
    assert moments.count.tolist() == [0, 1000]


@pytest.mark.parametrize("seed", range(5))
def test_rank_correlation_is_spearman_of_the_rounded_values(seed):
    chance = np.random.default_rng(seed)
    x, y = chance.random(3000) ** 4, np.exp(chance.normal(size=3000))
    y[:1500] *= 1 + 3 * x[:1500]
    streaming = RankCorrelation(SHARE_SCALE, LENGTH_SCALE)
    for part in range(0, 3000, 700):
        streaming.add(x[part : part + 700], y[part : part + 700])
    rounded = spearman(SHARE_SCALE.steps(x).astype(float), LENGTH_SCALE.steps(y).astype(float))
    assert streaming.spearman() == pytest.approx(rounded, abs=1e-12)
    assert streaming.spearman() == pytest.approx(spearman(x, y), abs=0.005)
    assert streaming.count == 3000


def test_rank_correlation_of_ends_and_of_what_never_varies():
    table = RankCorrelation(SHARE_SCALE, LENGTH_SCALE)
    assert np.isnan(table.spearman())
    table.add(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 1e30]))
    assert table.spearman() == pytest.approx(1)
    flat = RankCorrelation(RANK_SCALE, SHARE_SCALE)
    flat.add(np.arange(1, 50), np.full(49, 0.2))
    assert np.isnan(flat.spearman())


def test_small_ranks_are_told_apart():
    steps = RANK_SCALE.steps(np.arange(1, 33))
    assert len(set(steps.tolist())) == 32


def test_sample_is_uniform_and_bounded():
    hits = np.zeros(100)
    for seed in range(400):
        sample = Sample(20, 1, seed)
        for part in np.split(np.arange(100.0), 10):
            sample.add(part[:, None])
        assert len(sample.rows) == 20
        hits[sample.rows[:, 0].astype(int)] += 1
    assert hits.mean() == 80
    assert hits[:50].mean() == pytest.approx(80, abs=4)
    assert hits.min() > 40

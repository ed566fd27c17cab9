import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.merge import REDUCTIONS, merge


def obvious(soft, target_spans, source_spans, source, target):
    ways = {"sum": np.sum, "mean": np.mean, "max": np.max}
    rows = [[ways[source](row[start:stop]) for start, stop in source_spans] for row in soft]
    return [
        [ways[target]([row[column] for row in rows[a:b]]) for column in range(len(source_spans))]
        for a, b in target_spans
    ]


@st.composite
def spans_over(draw, length):
    cuts = sorted(draw(st.sets(st.integers(0, length))))
    spans = list(itertools.pairwise(cuts))
    return [span for span in spans if draw(st.booleans())]


@given(data=st.data(), source=st.sampled_from(REDUCTIONS), target=st.sampled_from(REDUCTIONS))
def test_against_the_obvious_loop(data, source, target):
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    soft = np.random.default_rng(data.draw(st.integers(0, 999))).normal(size=shape)
    target_spans, source_spans = data.draw(spans_over(shape[0])), data.draw(spans_over(shape[1]))
    merged = merge(soft, target_spans, source_spans, source=source, target=target)
    assert merged.shape == (len(target_spans), len(source_spans))
    expected = np.asarray(obvious(soft, target_spans, source_spans, source, target)).reshape(merged.shape)
    np.testing.assert_allclose(merged, expected, rtol=1e-12, atol=1e-12)


def test_leading_axes_are_kept():
    soft = np.random.default_rng(0).random((2, 3, 4, 5))
    merged = merge(soft, [(0, 2), (2, 4)], [(0, 1), (2, 5)])
    assert merged.shape == (2, 3, 2, 2)
    np.testing.assert_allclose(merged[1, 2], merge(soft[1, 2], [(0, 2), (2, 4)], [(0, 1), (2, 5)]))


def test_half_precision_is_widened():
    soft = np.full((1, 2000), 60, dtype=np.float16)
    merged = merge(soft, [(0, 1)], [(0, 2000)])
    assert merged.dtype == np.float32
    assert merged[0, 0] == 120000


def test_wrong_arguments():
    with pytest.raises(NormalignError, match="sum, mean, max"):
        merge(np.ones((1, 1)), [(0, 1)], [(0, 1)], source="median")
    with pytest.raises(ValueError, match="source spans"):
        merge(np.ones((1, 1)), [(0, 1)], [(0, 2)])
    with pytest.raises(ValueError, match="target spans"):
        merge(np.ones((3, 1)), [(1, 2), (0, 1)], [(0, 1)])

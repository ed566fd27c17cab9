import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.decide import (
    argmax_links,
    link_final_punctuation,
    mutual_argmax_links,
    threshold_links,
    top_k_links,
)

SOFT = arrays.arrays(
    np.float64, arrays.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6), elements=st.integers(0, 3)
)


@given(SOFT)
def test_argmax_is_the_first_largest_of_each_row_that_has_any(soft):
    expected = [(row.tolist().index(max(row)), t) for t, row in enumerate(soft) if any(row)]
    assert argmax_links(soft) == sorted(expected)


@given(SOFT)
def test_top_one_is_argmax_and_top_all_is_every_weight(soft):
    assert top_k_links(soft, 1) == argmax_links(soft)
    assert top_k_links(soft, soft.size) == [(s, t) for s, t in sorted(np.argwhere(soft.T).tolist())] or not soft.any()


@given(SOFT, st.integers(1, 4))
def test_top_k_has_k_links_or_all_there_are(soft, k):
    for t, row in enumerate(soft):
        chosen = [row[s] for s, target in top_k_links(soft, k) if target == t]
        assert sorted(chosen, reverse=True) == [value for value in sorted(row, reverse=True)[:k] if value]


@given(SOFT, st.integers(0, 3))
def test_threshold_is_strict(soft, threshold):
    expected = [(s, t) for t, row in enumerate(soft) for s, value in enumerate(row) if value > threshold]
    assert threshold_links(soft, threshold) == sorted(expected)


@given(SOFT, st.integers(0, 99))
def test_mutual_argmax_is_what_both_directions_say(forward, seed):
    backward = np.random.default_rng(seed).random(forward.shape[::-1])
    turned = {(s, t) for t, s in argmax_links(backward)}
    assert mutual_argmax_links(forward, backward) == sorted(set(argmax_links(forward)) & turned)


def test_null_policies():
    soft, null = np.array([[0.5, 0.2], [0.1, 0.2], [0.3, 0.3]]), np.array([0.3, 0.7, 0.3])
    assert argmax_links(soft, null=null) == [(0, 0), (0, 2), (1, 1)]
    assert argmax_links(soft, null=null, policy="unaligned") == [(0, 0), (0, 2)]
    assert top_k_links(soft, 2, null=null, policy="unaligned") == [(0, 0), (0, 2), (1, 0), (1, 2)]
    with pytest.raises(NormalignError, match="best, unaligned"):
        argmax_links(soft, null=null, policy="drop")
    with pytest.raises(NormalignError, match="target word 2 is NaN"):
        argmax_links(soft, null=np.array([0, np.nan, 0]), policy="unaligned")


def test_nan_is_an_error_and_no_source_means_no_links():
    with pytest.raises(NormalignError, match="target word 2, source word 1 is NaN"):
        argmax_links(np.array([[1.0, 2.0], [np.nan, 1.0]]))
    assert argmax_links(np.zeros((3, 0))) == []
    assert argmax_links(np.zeros((0, 3))) == []


def test_final_punctuation_rule():
    links = [(0, 0), (1, 1), (2, 0), (1, 2)]
    assert link_final_punctuation(links, ["a", "b", "."], ["c", "d", "!"]) == [(0, 0), (1, 1), (2, 2)]
    assert link_final_punctuation(links, ["a", "b", "c"], ["c", "d", "."]) == sorted(links)
    assert link_final_punctuation([], [], ["."]) == []

"""Decoder steps and pieces to words: one pair against the obvious loop, many pairs against one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.decide import decide, normalized
from fairseq_normalign.links.pieces import Segmentation
from fairseq_normalign.links.words import rows_of, to_words, to_words_of_batch


def segmentation(lengths: list[int], front: int, behind: int) -> Segmentation:
    borders = front + np.concatenate([[0], np.cumsum(lengths)]).astype(int)
    last = int(borders[-1])
    spans = tuple((int(a), int(b)) for a, b in itertools.pairwise(borders))
    specials = (*range(front), *range(last, last + behind))
    return Segmentation(tuple(f"w{n}" for n in range(len(lengths))), spans, specials)


def positions(side: Segmentation) -> int:
    return len(side.specials) + sum(stop - start for start, stop in side.spans)


def slow(rows, target: Segmentation, source: Segmentation):
    """Sum over source pieces, mean over target pieces, loop by loop; and the same of the largest special."""
    words = [[sum(row[a:b]) for a, b in source.spans] for row in rows]
    special = [max((row[s] for s in source.specials), default=0.0) for row in rows]
    means = [np.mean(words[a:b], axis=0) for a, b in target.spans]
    return np.reshape(means, (len(target.spans), len(source.spans))), [np.mean(special[a:b]) for a, b in target.spans]


words = st.lists(st.integers(1, 4), max_size=5)
pairs = st.lists(st.tuples(words, words, st.integers(0, 2), st.integers(0, 1)), max_size=5)


@settings(max_examples=60, deadline=None)
@given(pairs, st.integers(0, 2**32 - 1), st.sampled_from(["awo", "awi"]), st.sampled_from(["best", "unaligned"]))
def test_one_pair_is_the_slow_formula_and_a_batch_is_its_pairs(shapes, seed, step, policy):
    chance = np.random.default_rng(seed)
    targets = [segmentation(target, 0, 0) for target, _, _, _ in shapes]
    sources = [segmentation(source, front, behind) for _, source, front, behind in shapes]
    steps = [
        chance.random((positions(target) + 1, positions(source))).astype(np.float32)
        for target, source in zip(targets, sources, strict=True)
    ]
    for one in steps[::2]:
        one[chance.random(len(one)) < 0.3] = 0
    batch = to_words_of_batch(steps, targets, sources, step)
    best = batch.best(policy)
    share = batch.confidence(best)
    for number, (one, target, source) in enumerate(zip(steps, targets, sources, strict=True)):
        soft, null = to_words(one, target, source, step)
        expected = slow(rows_of(one, step), target, source)
        np.testing.assert_allclose(soft, expected[0], rtol=1e-5)
        np.testing.assert_allclose(null, expected[1], rtol=1e-5)
        np.testing.assert_allclose(batch.of(number), soft, rtol=1e-5, atol=1e-7)
        links, _ = decide(soft, null=null, policy=policy)
        row = best[number, : len(target.spans)]
        assert sorted((int(s), t) for t, s in enumerate(row) if s >= 0) == links
        assert (best[number, len(target.spans) :] == -1).all()
        for s, t in links:
            assert share[number, t] == pytest.approx(normalized(soft)[t, s], rel=1e-4)


def test_leading_axes_are_kept():
    target, source = segmentation([2, 1], 0, 0), segmentation([1, 2], 0, 1)
    steps = np.random.default_rng(1).random((2, 3, 4, 4))
    soft, null = to_words(steps, target, source, "awi")
    assert soft.shape == (2, 3, 2, 2)
    np.testing.assert_allclose(soft[1, 2], to_words(steps[1, 2], target, source, "awi")[0])
    np.testing.assert_allclose(null[1, 2], to_words(steps[1, 2], target, source, "awi")[1])


def test_awo_reads_the_step_that_outputs_and_awi_the_step_after():
    steps = np.arange(4)[:, None] * np.ones((4, 4))
    assert rows_of(steps, "awo")[:, 0].tolist() == [0, 1, 2]
    assert rows_of(steps, "awi")[:, 0].tolist() == [1, 2, 3]
    with pytest.raises(NormalignError, match="unknown step 'awx'; choose one of awo, awi"):
        rows_of(steps, "awx")


def test_values_below_zero_never_lose_to_padding():
    one, two = segmentation([1], 0, 0), segmentation([1, 1], 0, 0)
    steps = [np.array([[0], [-2.0]], dtype=np.float32), np.array([[0, 0], [1.0, 2.0]], dtype=np.float32)]
    best = to_words_of_batch(steps, [one, one], [one, two], "awi").best()
    assert best.tolist() == [[0], [1]]


def test_a_piece_that_words_share_counts_in_equal_parts():
    steps = np.random.default_rng(3).random((3, 4))
    source = Segmentation(("a", "b", "c"), ((0, 2), (1, 3), (2, 3)), (3,))
    target = Segmentation(("x", "y"), ((0, 1), (0, 2)), ())
    a, b, c = steps[1, 0] + steps[1, 1] / 2, steps[1, 1] / 2 + steps[1, 2] / 2, steps[1, 2] / 2
    soft, null = to_words(steps, target, source, "awi")
    np.testing.assert_allclose(soft[0], [a, b, c])
    np.testing.assert_allclose(null, [steps[1, 3], (steps[1, 3] / 2 + steps[2, 3]) / 1.5])
    batch = to_words_of_batch([steps], [target], [source], "awi")
    np.testing.assert_allclose(batch.of(0), soft, rtol=1e-5)
    np.testing.assert_allclose(batch.null[0], null, rtol=1e-5)


def test_half_precision_is_widened():
    source, target = segmentation([2000], 0, 0), segmentation([1], 0, 0)
    soft, _ = to_words(np.full((2, 2000), 60, dtype=np.float16), target, source, "awi")
    assert soft.dtype == np.float32
    assert soft[0, 0] == 120000

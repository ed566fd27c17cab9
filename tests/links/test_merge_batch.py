"""Many pairs at once decide as one pair at a time does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_normalign.links.decide import argmax_links
from fairseq_normalign.links.merge_batch import to_words_of_batch
from fairseq_normalign.links.pieces import Segmentation
from fairseq_normalign.links.steps_to_words import normalized, to_words


def segmentation(lengths: list[int], front: int, behind: int) -> Segmentation:
    borders = front + np.concatenate([[0], np.cumsum(lengths)]).astype(int)
    last = int(borders[-1])
    spans = tuple((int(a), int(b)) for a, b in itertools.pairwise(borders))
    specials = (*range(front), *range(last, last + behind))
    return Segmentation(tuple(f"w{n}" for n in range(len(lengths))), spans, specials)


def positions(side: Segmentation) -> int:
    return len(side.specials) + sum(stop - start for start, stop in side.spans)


words = st.lists(st.integers(1, 4), max_size=5)
pairs = st.lists(st.tuples(words, words, st.integers(0, 2), st.integers(0, 1)), max_size=5)


@settings(max_examples=60, deadline=None)
@given(pairs, st.integers(0, 2**32 - 1), st.sampled_from(["awo", "awi"]), st.sampled_from(["best", "unaligned"]))
def test_a_batch_is_its_pairs(shapes, seed, step, policy):
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
        np.testing.assert_allclose(batch.of(number), soft, rtol=1e-5, atol=1e-7)
        links = argmax_links(soft, null=null, policy=policy)
        row = best[number, : len(target.spans)]
        assert sorted((int(s), t) for t, s in enumerate(row) if s >= 0) == links
        assert (best[number, len(target.spans) :] == -1).all()
        for s, t in links:
            assert share[number, t] == pytest.approx(normalized(soft)[t, s], rel=1e-4)


def test_values_below_zero_never_lose_to_padding():
    one, two = segmentation([1], 0, 0), segmentation([1, 1], 0, 0)
    steps = [np.array([[0], [-2.0]], dtype=np.float32), np.array([[0, 0], [1.0, 2.0]], dtype=np.float32)]
    best = to_words_of_batch(steps, [one, one], [one, two], "awi").best()
    assert best.tolist() == [[0], [1]]


def test_a_piece_that_words_share_counts_in_equal_parts():
    from fairseq_normalign.links.shares import merge_shared, shares_of

    chance = np.random.default_rng(3)
    source = Segmentation(("a", "b", "c"), ((0, 2), (1, 3), (2, 3)), (3,))
    target = Segmentation(("x", "y"), ((0, 1), (0, 2)), ())
    steps = chance.random((3, 4))
    found = to_words_of_batch([steps], [target], [source], "awi")
    slow = merge_shared(steps[1:], shares_of(target, 2), shares_of(source, 4))
    np.testing.assert_allclose(found.of(0), slow, rtol=1e-5)
    alone, null = to_words(steps, target, source, "awi")
    np.testing.assert_allclose(alone, slow, rtol=1e-6)
    np.testing.assert_allclose(null, found.null[0], rtol=1e-5)
    np.testing.assert_allclose(slow[0], [steps[1, 0] + steps[1, 1] / 2, steps[1, 1] / 2 + steps[1, 2] / 2,
                                         steps[1, 2] / 2], rtol=1e-6)  # fmt: skip

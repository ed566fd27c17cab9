"""Decoder steps to words: which row speaks of which word."""

from __future__ import annotations

import numpy as np
import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.pieces import segment
from fairseq_normalign.links.steps_to_words import normalized, rows_of, to_words

SOURCE = segment(["ein@@", "s", "zwei", "</s>"], specials={"</s>"})
TARGET = segment(["o@@", "ne", "two"])


def test_awo_reads_the_step_that_outputs_and_awi_the_step_after():
    steps = np.arange(4)[:, None] * np.ones((4, 4))
    assert rows_of(steps, "awo")[:, 0].tolist() == [0, 1, 2]
    assert rows_of(steps, "awi")[:, 0].tolist() == [1, 2, 3]
    with pytest.raises(NormalignError, match="unknown step 'awx'; choose one of awo, awi"):
        rows_of(steps, "awx")


@pytest.mark.parametrize(("step", "first"), [("awo", 0), ("awi", 1)])
def test_words_are_sums_over_source_and_means_over_target(step, first):
    steps = np.random.default_rng(1).random((2, 4, 4))
    words, null = to_words(steps, TARGET, SOURCE, step)
    assert words.shape == (2, 2, 2)
    rows = steps[:, first : first + 3]
    expected = (rows[:, 0, 0] + rows[:, 0, 1] + rows[:, 1, 0] + rows[:, 1, 1]) / 2
    np.testing.assert_allclose(words[:, 0, 0], expected)
    np.testing.assert_allclose(words[:, 1, 1], rows[:, 2, 2])
    np.testing.assert_allclose(null, np.stack([rows[:, :2, 3].mean(1), rows[:, 2, 3]], axis=1))


def test_without_specials_nothing_is_null():
    source = segment(["a", "b"])
    assert to_words(np.ones((4, 2)), TARGET, source, "awi")[1].tolist() == [0, 0]


def test_normalized_rows_add_up_to_one_and_zeros_stay():
    found = normalized(np.array([[1.0, 3.0], [0.0, 0.0]]))
    assert found.tolist() == [[0.25, 0.75], [0.0, 0.0]]

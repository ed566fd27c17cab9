"""What is drawn, its counts and its packing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_normalign.analysis.pair_counts import pair_counts
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.read_pair import links_of, soft_of
from fairseq_normalign.links.readings import Reading, every_reading
from fairseq_normalign.links.score import metrics_of, score
from fairseq_normalign.links.words import STEPS, rows_of
from fairseq_normalign.show.quantize import (
    QUANTIZATION_STEPS,
    SIGNED_STEPS,
    keep_argmax,
    merge,
    pack,
    quantize,
    unpack,
)


def every_choice(pair):
    return [choice for name, reading in pair.readings.items() for choice in every_reading(name, reading.shape)]


def test_soft_of_a_word_is_summed_over_source_and_averaged_over_target_pieces(pair):
    steps = pair.readings["norms"].steps[1]
    for step, shift in (("awo", 0), ("awi", 1)):
        soft = soft_of(pair, Reading("norms", 1, None, step))
        for t, (first, last) in enumerate(pair.target.by_word.spans):
            for s, (start, stop) in enumerate(pair.source.by_word.spans):
                cells = [steps[row + shift, start:stop].sum() for row in range(first, last)]
                assert soft[t, s] == pytest.approx(np.mean(cells))


def test_links_by_threshold_are_the_shares_above_it(pair):
    choice = Reading("weights", 2, None, "awo")
    soft = soft_of(pair, choice)
    expected = {(s, t) for t, row in enumerate(soft) for s, value in enumerate(row) if value / row.sum() > 0.3}
    assert set(links_of(pair, choice, threshold=0.3)) == expected
    assert expected


def test_counts_are_those_of_the_scorer(pair):
    counts = pair_counts(pair)
    choices = every_choice(pair)
    assert len(choices) == len(counts) == 2 * 3 * 3 * 2 + 1
    for choice, row in zip(choices, counts, strict=True):
        links, gold = set(links_of(pair, choice)), pair.gold
        sizes = [len(links), len(gold.sure), len(gold.possible), len(links & gold.sure), len(links & gold.possible)]
        assert row.tolist() == sizes
        assert metrics_of(row)["aer"] == pytest.approx(score([gold], [links]).aer)


def test_aer_of_nothing_is_zero():
    assert metrics_of(np.zeros(5, dtype=int))["aer"] == 0


def test_labels_count_from_one():
    assert Reading("norms", 1, 0, "awi").label() == "norms, layer 2, head 1, AWI"


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Reading("nothing"), "no method 'nothing' here; there are weights, norms, other"),
        (Reading("norms", 3), "there is no layer 4; it has 3"),
        (Reading("norms", 0, 2), "there is no head 3; it has 2"),
    ],
)
def test_a_choice_that_is_not_there_is_named(pair, choice, message):
    with pytest.raises(NormalignError, match=message):
        soft_of(pair, choice)


def spans_of(draw, length):
    cuts = sorted(draw(st.sets(st.integers(1, length - 1), max_size=length - 1))) if length > 1 else []
    edges = [0, *cuts, length]
    return list(itertools.pairwise(edges))


@st.composite
def packed_cases(draw):
    targets, sources = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    # few distinct values: near ties and ties are the hard cases
    below = draw(st.sampled_from([0.0, -1.0]))
    near = [0.1, 0.1 + 1e-7, 0.1 - 1e-6, 0.5, 0.50001, 1.0, 1.0 - 1e-9]
    value = st.sampled_from([0.0, 0.2 * below, 0.2000001 * below, 1e-9, *near])
    cells = draw(st.lists(value, min_size=(targets + 1) * sources, max_size=(targets + 1) * sources))
    return np.array(cells).reshape(1, targets + 1, sources), spans_of(draw, targets), spans_of(draw, sources)


@given(packed_cases(), st.sampled_from(STEPS))
@settings(max_examples=300, deadline=None)
def test_packing_keeps_every_argmax(case, step):
    soft, target, source = case
    levels, scale = quantize(soft)
    keep_argmax(levels, soft, target, source, step)
    exact, rounded = (merge(rows_of(array, step), target, source) for array in (soft, levels))
    linked = exact.any(axis=-1)
    assert (exact.argmax(-1) == rounded.argmax(-1))[linked].all()
    assert rounded.any(-1)[linked].all()
    most = SIGNED_STEPS if soft.min() < 0 else QUANTIZATION_STEPS
    assert levels.min() >= (-most if soft.min() < 0 else 0)
    assert levels.max() <= most
    assert np.abs(levels * scale[:, None, None] - soft).max() <= 40 * np.abs(soft).max() / most


def test_values_are_kept_to_half_a_level_where_nothing_is_mended():
    soft = np.random.default_rng(0).random((3, 9, 8))
    levels, scale = quantize(soft)
    assert np.abs(levels * scale[:, None, None] - soft).max() <= 0.5001 * soft.max() / QUANTIZATION_STEPS


@given(st.lists(st.integers(0, 65535), max_size=50))
def test_pack_and_unpack(values):
    assert unpack(pack([np.array(values, dtype=np.int64)])).tolist() == values

"""What single heads are worth, against the obvious way to find it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_normalign import load
from fairseq_normalign.align.observing import error_of_heads, relevance_of_heads
from fairseq_normalign.links.gold import Gold
from fairseq_normalign.links.score import score
from fairseq_normalign.methods.relevance import AlphaBeta, propagate
from tests.methods.tiny_models import soft_alignments


@pytest.fixture(scope="module")
def direction(plain_checkpoint, binarized):
    return load(plain_checkpoint, data=binarized, max_tokens=60).aligner.forward


@pytest.fixture(scope="module")
def pairs(bitext):
    sides = [Path(bitext / f"test.{language}").read_text().splitlines() for language in ("de", "en")]
    return list(zip(*sides, strict=True))


def one_by_one(direction, pairs):
    """Each pair as a batch of its own: the batch, and the source and target with their words."""
    for pair in pairs:
        ((_, batch),) = direction.batches(direction.encode([pair]), lambda batch: batch)
        ((source, target),) = batch.sentences
        yield batch, source.at("word"), target.at("word")


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_relevance_is_the_mean_over_words_of_shares_in_a_layer(kind, direction, pairs):
    shares = []
    for batch, _, _ in one_by_one(direction, pairs):
        with direction.models[0].view(batch) as view:
            heads = propagate(view, AlphaBeta(0.5)).heads[kind]  # [layers, 1, T + 1, H]
        for step in range(heads.size(2)):
            shares.append(heads[:, 0, step] / heads[:, 0, step].sum(-1, keepdim=True))
    found = relevance_of_heads(direction, pairs, kind)
    np.testing.assert_allclose(found, torch.stack(shares).mean(0).numpy(), atol=1e-5)


def test_error_of_a_head_is_that_of_its_largest_norms(direction, pairs):
    chance = np.random.default_rng(1)
    golds, links = [], {(layer, head): [] for layer in range(3) for head in range(2)}
    for batch, source, target in one_by_one(direction, pairs):
        sizes = len(source.spans), len(target.spans)
        sure = frozenset(tuple(map(int, chance.integers(0, sizes))) for _ in range(4))
        golds.append(Gold(sure, sure))
        (soft,) = soft_alignments(direction.models, batch, "norms", by_head=True)
        for (layer, head), found in links.items():
            rows = soft[layer, head, 1:]
            by_word = [
                [rows[first:last, start:end].sum(1).mean() for start, end in source.spans]
                for first, last in target.spans
            ]
            found.append([(int(np.argmax(row)), number) for number, row in enumerate(by_word)])
    errors = error_of_heads(direction, pairs, golds)["norms", "awi"]
    for (layer, head), found in links.items():
        assert errors[layer][head] == pytest.approx(score(golds, found).aer)

"""A fairseq model and its twin in transformers give the same, for every layer, head and method of the registry."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from fairseq_normalign.align.reader import Reader
from fairseq_normalign.hosts.fairseq.host import FairseqModel
from fairseq_normalign.hosts.protocol import Batch
from fairseq_normalign.hosts.transformers.model import TransformersModel
from fairseq_normalign.methods import METHODS
from tests.hosts.transformers.from_fairseq import converted
from tests.methods.tiny_models import tiny_batch, tiny_transformer

EXTRA = ["block:variant=attn", "rollout:measure=norm", "relevance:rule=alpha-beta", "erasure:how=remove"]
ALL_METHODS = [*sorted(METHODS), *EXTRA]


@pytest.fixture(autouse=True)
def _exact_softmax(monkeypatch):
    """fairseq rounds attention weights to float32 whatever the model runs in."""
    monkeypatch.setattr("fairseq.utils.softmax", lambda x, dim, onnx_trace=False: torch.softmax(x, dim))


@pytest.fixture(scope="module", params=[False, True], ids=["post-norm FSMT", "pre-norm M2M100"])
def twins(request):
    model = tiny_transformer(pre_norm=request.param, layers=3)
    if not request.param:  # FSMT cannot run in float64
        model = model.float()
    return model, converted(model, request.param)


def for_twin(batch: Batch) -> Batch:
    """The same batch as the other host takes it."""
    inputs = {"input_ids": batch.source_tokens, "attention_mask": (~batch.source_padding).long()}
    return dataclasses.replace(batch, encoder_input=inputs)


@pytest.mark.parametrize("name", ALL_METHODS)
def test_every_method_agrees_in_every_layer_and_head(twins, name):
    model, twin = twins
    batch = tiny_batch()
    readers = Reader([FairseqModel(model)], check=True), Reader([TransformersModel(twin)], check=True)
    places = readers[0].places(name, heads=True)
    assert places == readers[1].places(name, heads=True)
    theirs = readers[0].read(batch, places)
    ours = readers[1].read(for_twin(batch), places)
    for one, other in zip(ours, theirs, strict=True):
        for place in places:
            scale = max(1.0, float(np.abs(other[place]).max()))
            assert np.abs(one[place] - other[place]).max() / scale < 1e-5, place


def test_observers_see_the_same_parameters(twins):
    model, twin = twins
    for kind in ("encoder", "decoder", "cross"):
        theirs, ours = FairseqModel(model).projections(kind), TransformersModel(twin).projections(kind)
        for one, other in zip(ours, theirs, strict=True):
            assert one.heads == other.heads
            assert np.array_equal(one.value_weight, other.value_weight)
            assert np.array_equal(one.out_weight, other.out_weight)

"""Methods for whole models on every family: against the host's own numbers, and against slow ways."""

from __future__ import annotations

import pytest
import torch

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.transformers.model import TransformersModel
from fairseq_normalign.methods import get_method
from fairseq_normalign.methods.relevance import Epsilon, conservation_error, propagate
from tests.hosts.transformers.tiny_families import (
    END,
    FAMILIES,
    SOURCES,
    T5_KIN,
    TARGETS,
    tiny_batch,
    tiny_model,
    tolerance,
)

LAYERNORM_KIN = sorted(set(FAMILIES) - set(T5_KIN))


def view_of(model, **options):
    return TransformersModel(model).view(tiny_batch(model, **options))


def host_log_probs(model, source, target):
    """What the host itself says of the pieces of one target."""
    steps = torch.tensor([[model.config.decoder_start_token_id, *target]])
    out = model(**_source(source), decoder_input_ids=steps, use_cache=False).logits[0].log_softmax(-1)
    return torch.stack([out[step, piece] for step, piece in enumerate([*target, END])])


def _source(ids):
    return {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_log_probabilities_are_those_of_the_host(family):
    model = tiny_model(family)
    with view_of(model) as view:
        found = view.log_probs(view.features(view.source_embeddings))
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        expected = host_log_probs(model, source, target)
        assert torch.allclose(found[row, : len(target) + 1], expected.to(found), atol=tolerance(family))


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_gradients_equal_finite_differences(family):
    if family == "fsmt":
        pytest.skip("FSMT cannot run in float64; the twins are compared instead")
    model = tiny_model(family)
    with view_of(model) as view:
        points = view.source_embeddings
        found = get_method("input-x-gradient").run(view, [0])[0]
        step, near = (1e-3, 1e-3) if family in T5_KIN else (1e-6, 1e-6)  # T5's norms compute in float32
        for row, position in ((0, 0), (1, 1), (0, 4)):
            moved = points.clone()
            moved[row, position] *= 1 + step
            back = points.clone()
            back[row, position] *= 1 - step
            slope = (view.log_probs(view.features(moved)) - view.log_probs(view.features(back)))[row] / (2 * step)
            assert torch.allclose(found[row, :, position], slope, atol=near)


@pytest.mark.parametrize("how", ["zero", "remove"])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_erasure_equals_one_run_for_each_piece(family, how):
    model = tiny_model(family)
    source, target = SOURCES[0], TARGETS[0]
    with view_of(model) as view:
        found = get_method(f"erasure:how={how}").run(view, [0])[0][0, : len(target) + 1]
        if how == "zero":
            points = view.source_embeddings.clone()
            points[0, 1] = 0
            without = view.log_probs(view.features(points))[0]
            whole = view.log_probs(view.features(view.source_embeddings))[0]
            assert torch.allclose(found[:, 1], (whole - without)[: len(target) + 1], atol=tolerance(family))
            return
    whole = host_log_probs(model, source, target)
    for position in range(len(source)):
        without = host_log_probs(model, source[:position] + source[position + 1 :], target)
        assert torch.allclose(found[:, position], (whole - without).to(found), atol=5 * tolerance(family))


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("name", ["rollout", "attention-rollout"])
def test_rollout_shares_add_up_to_one(family, name):
    method = get_method(name)
    with view_of(tiny_model(family)) as view:
        record = view.record()
    assert (len(record.encoder), len(record.decoder)) == (2, 3)
    reach = method.reach(record)
    total = reach.source.sum(-1) + reach.prefix.sum(-1)
    assert torch.allclose(total, torch.ones_like(total), atol=1e-5)


@pytest.mark.parametrize("family", LAYERNORM_KIN)
def test_relevance_is_conserved(family):
    with view_of(tiny_model(family)) as view:
        found = propagate(view, Epsilon(1e-9))
        assert conservation_error(found, view.steps) < (1e-2 if family == "fsmt" else 1e-4)


@pytest.mark.parametrize("family", T5_KIN)
def test_relevance_on_t5_says_what_is_in_its_way(family):
    with view_of(tiny_model(family)) as view, pytest.raises(NormalignError, match="no LayerNorm"):
        get_method("relevance").run(view, [0])


@pytest.mark.parametrize("family", ["marian", "m2m100", "t5"])
@pytest.mark.parametrize("name", ["saliency", "smoothgrad:n=2", "integrated-gradients:n=3", "erasure"])
def test_padding_changes_nothing(family, name):
    """A sentence alone gives what it gives in a batch."""
    model = tiny_model(family)
    method = get_method(name)
    with view_of(model) as view:
        together = method.run(view, [0])[0]
    with view_of(model, numbers=[1]) as view:
        alone = method.run(view, [0])[0, 0]
    assert torch.allclose(together[1, : len(TARGETS[1]) + 1, : len(SOURCES[1])], alone, atol=1e-9)

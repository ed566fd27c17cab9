"""Every kind of Transformer of every host is read exactly, and left as it was: norms, embeddings, heads, layers."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
import torch

from fairseq_normalign.align.reader import Reader
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.fairseq.host import FairseqModel
from fairseq_normalign.hosts.fairseq.patches import register
from fairseq_normalign.methods import get_method
from fairseq_normalign.methods.block import decomposition_error as block_error
from fairseq_normalign.methods.norms import decomposition_error
from fairseq_normalign.methods.records import KINDS
from tests.methods.tiny_models import dictionary, make_batch, tiny_batch, tiny_transformer

pytest.importorskip("transformers")
from fairseq_normalign.hosts.transformers.model import TransformersModel
from tests.hosts.transformers import tiny_families

register()
OF_FAIRSEQ = {
    "post-norm": {},
    "pre-norm": {"pre_norm": True},
    "shared embeddings": {"share_all_embeddings": True},
    "layerdrop": {"encoder_layerdrop": 0.3, "decoder_layerdrop": 0.3},
    "learned positions": {"decoder_learned_pos": True},
    "quantization noise": {"quant_noise_pq": 0.1, "quant_noise_pq_block_size": 2},
    "guided": {"arch": "transformer_align"},
    "guided by all words": {"arch": "transformer_align", "full_context_alignment": True},
    "ours": {"arch": "transformer_normalign"},
    "aligner": {"arch": "normalign_aligner"},
}
EVERY = [*OF_FAIRSEQ, *sorted(tiny_families.FAMILIES)]
SOME = pytest.mark.parametrize("name", ["post-norm", "pre-norm", "marian", "m2m100", "t5"])


def made(name: str):
    """A model of three decoder layers with a batch of three targets."""
    if name in OF_FAIRSEQ:
        return FairseqModel(tiny_transformer(layers=3, **OF_FAIRSEQ[name])), tiny_batch()
    model = tiny_families.tiny_model(name, attn_implementation="eager" if name == "fsmt" else "sdpa")
    return TransformersModel(model), tiny_families.tiny_batch(model)


def tolerance(name: str) -> float:
    """fairseq computes weights in float32 whatever the model runs in."""
    return 1e-5 if name in OF_FAIRSEQ else tiny_families.tolerance(name)


def read(model, batch, layers, **options):
    found = {}
    model.read_layers(batch, layers, found.__setitem__, **options)
    return found


@pytest.mark.parametrize("name", EVERY)
def test_parts_add_up_to_what_the_layers_returned(name):
    model, batch = made(name)
    records = read(model, batch, range(3), outputs=True)
    assert sorted(records) == [0, 1, 2]
    assert max(decomposition_error(record) for record in records.values()) < tolerance(name)
    for kind in KINDS:
        blocks = read(model, batch, range(model.count(kind)), kind=kind, blocks=True)
        assert len(blocks) == model.count(kind)
        assert {block.kind for block in blocks.values()} == {kind}
        assert max(block_error(block) for block in blocks.values()) < 10 * tolerance(name)


@pytest.mark.parametrize("name", EVERY)
def test_a_layer_alone_equals_that_layer_of_all(name):
    model, batch = made(name)
    together = read(model, batch, range(3))
    for layer in range(3):
        alone = read(model, batch, [layer])[layer]
        # attention that nobody reads may be computed by another product: the last digits differ
        torch.testing.assert_close(alone.weights, together[layer].weights, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(alone.values, together[layer].values, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", EVERY)
def test_a_pair_alone_is_read_as_in_a_batch(name):
    model, batch = made(name)
    if name in OF_FAIRSEQ:
        alone = make_batch(batch.source_tokens[1:, 2:], batch.targets[1:2], [0], dictionary())
    else:
        alone = tiny_families.tiny_batch(model.module, numbers=[1])
    reader = Reader([model])
    places = reader.places("norms", heads=True)
    together, (found,) = reader.read(batch, places)[1], reader.read(alone, places)
    for place in places:
        np.testing.assert_allclose(found[place], together[place], atol=1e-5)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("name", EVERY)
def test_the_model_stops_after_the_highest_layer_and_is_left_as_it_was(name, blocks):
    model, batch = made(name)
    model.module.train()
    modules = list(model.module.modules())
    configs = [module.config for module in modules if hasattr(module, "config")]

    def state():
        hooks = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in modules]
        flags = [(module.training, getattr(module, "skip_embed_dim_check", None)) for module in modules]
        return hooks, flags, [config._attn_implementation for config in configs]

    ran = []
    for number, layer in enumerate(model.layers_of("decoder")):
        layer.register_forward_pre_hook(lambda module, args, number=number: ran.append(number))
    before = state()
    first = read(model, batch, [0, 1], blocks=blocks)
    assert ran == [0, 1]
    assert state() == before
    again = read(model, batch, [0, 1], blocks=blocks)
    for layer in (0, 1):
        one, other = (found[layer].attention if blocks else found[layer] for found in (first, again))
        assert torch.equal(one.weights, other.weights)

    def fail(layer, record):
        raise NormalignError("enough of this")

    with pytest.raises(NormalignError, match="enough of this"):
        model.read_layers(batch, [0], fail)
    assert state() == before


@SOME
@pytest.mark.parametrize("precision", [torch.float16, torch.float32])
def test_half_precision_is_read_in_float32(name, precision):
    model, batch = made(name)
    norms = get_method("norms")
    exact = norms.layer(read(model, batch, [0])[0])
    found = read(type(model)(copy.deepcopy(model.module).to(precision)), batch, [0])[0]
    assert found.weights.dtype == found.values.dtype == found.out_weight.dtype == torch.float32
    assert torch.allclose(norms.layer(found).double(), exact, atol=0.1 if precision is torch.float16 else 1e-4)


@SOME
def test_two_targets_of_one_source(name):
    model, batch = made(name)
    twice = dataclasses.replace(batch, targets=batch.targets[:2], rows=[1, 1])
    found = read(model, twice, [0])[0]
    assert torch.equal(found.values[0], found.values[1])
    assert not torch.equal(found.values[0], read(model, batch, [0])[0].values[0])

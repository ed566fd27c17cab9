"""Every family is read exactly, and left as it was."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.transformers.model import TransformersModel
from fairseq_normalign.methods import get_method
from fairseq_normalign.methods.block import decomposition_error as block_error
from fairseq_normalign.methods.norms import decomposition_error
from tests.hosts.transformers.tiny_families import FAMILIES, SIZES, tiny_batch, tiny_model, tolerance, transformers


def read(model, layers, *, left=False, **options):
    found = {}
    TransformersModel(model).read_layers(tiny_batch(model, left=left), layers, found.__setitem__, **options)
    return found


def asked_for(model, left=False):
    """What the host itself returns for every layer: [B, H, T, S] each."""
    batch = tiny_batch(model, left=left)
    options = {"decoder_input_ids": batch.decoder_input(), "output_attentions": True, "use_cache": False}
    return model(**batch.encoder_input, **options).cross_attentions


def slow_norms(structure, layer, weights, states):
    """The obvious formula, over [B, H, T, S, C]."""
    part = structure.attention("cross")[layer]
    batch, length, _ = states.shape
    values = part.value(states).view(batch, length, part.heads, -1)
    project = part.out.weight.view(part.out.weight.size(0), part.heads, -1)
    vectors = torch.einsum("bhts,bshd,chd->bhtsc", weights, values, project)
    return vectors.sum(1).norm(dim=-1), vectors.norm(dim=-1)


@pytest.mark.parametrize("left", [False, True], ids=["right-padded", "left-padded"])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_norms_and_weights_equal_the_slow_formula(family, left):
    model = tiny_model(family, attn_implementation="eager")
    structure, batch = TransformersModel(model), tiny_batch(model, left=left)
    states = structure.encoder(**batch.encoder_input).last_hidden_state
    found = read(model, [0, 1, 2], left=left)
    for layer, weights in enumerate(asked_for(model, left)):
        together, by_head = slow_norms(structure, layer, weights, states)
        norms, of_heads = get_method("norms").both(found[layer])
        assert torch.allclose(norms, together, atol=tolerance(family))
        assert torch.allclose(of_heads, by_head, atol=tolerance(family))
        assert torch.allclose(found[layer].weights, weights, atol=tolerance(family))
        assert found[layer].weights.masked_select(batch.source_padding[:, None, None]).abs().max() < 1e-12


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_parts_add_up_to_what_the_layer_returned(family):
    model = tiny_model(family)
    outputs = read(model, [0, 2], outputs=True)
    assert max(decomposition_error(record) for record in outputs.values()) < tolerance(family)
    blocks = read(model, [0, 1, 2], blocks=True)
    assert sorted(blocks) == [0, 1, 2]
    assert max(block_error(block) for block in blocks.values()) < 10 * tolerance(family)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("family", ["marian", "m2m100", "fsmt", "t5"])
def test_the_decoder_stops_after_the_highest_layer(family, blocks):
    model = tiny_model(family)
    ran = []
    for number, layer in enumerate(TransformersModel(model).layers_of("decoder")):
        layer.register_forward_hook(lambda module, args, output, number=number: ran.append(number))
    TransformersModel(model).output_layer.register_forward_hook(lambda *args: ran.append("words"))
    read(model, [0, 1], blocks=blocks)
    assert ran == [0]


@pytest.mark.parametrize("family", ["marian", "t5", "fsmt"])
def test_the_model_is_left_as_it_was(family):
    model = tiny_model(family, attn_implementation="eager" if family == "fsmt" else "sdpa").train()
    configs = [module.config for module in model.modules() if hasattr(module, "config")]
    before = [config._attn_implementation for config in configs]

    def hooks():
        return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())

    attached = hooks()
    read(model, [1], blocks=True)
    assert model.training
    assert all(module.training for module in model.modules())
    assert [config._attn_implementation for config in configs] == before
    assert hooks() == attached


def test_a_failure_while_reading_leaves_no_hooks():
    model = tiny_model("marian", attn_implementation="sdpa")

    def fail(layer, record):
        raise NormalignError("enough of this")

    with pytest.raises(NormalignError, match="enough of this"):
        TransformersModel(model).read_layers(tiny_batch(model), [0], fail)
    assert model.config._attn_implementation == "sdpa"
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("family", ["marian", "m2m100", "t5"])
@pytest.mark.parametrize("precision", [torch.float16, torch.float32])
def test_half_precision_is_read_in_float32(family, precision):
    model = tiny_model(family)
    norms = get_method("norms")
    exact = norms.layer(read(model, [0])[0])
    found = read(model.to(precision), [0])[0]
    assert found.weights.dtype == found.values.dtype == found.out_weight.dtype == torch.float32
    assert torch.allclose(norms.layer(found).double(), exact, atol=0.1 if precision is torch.float16 else 1e-4)


@pytest.mark.parametrize("tied", [False, True])
def test_tied_and_untied_embeddings(tied):
    model = tiny_model("m2m100", tie_word_embeddings=tied)
    assert sorted(read(model, [0, 1])) == [0, 1]


def test_a_mixture_of_experts_is_read_at_its_attention():
    config = transformers.NllbMoeConfig(
        **SIZES, num_experts=2, expert_capacity=8, encoder_sparse_step=2, decoder_sparse_step=2
    )
    model = transformers.NllbMoeForConditionalGeneration(config).double().eval()
    blocks = read(model, [0, 1, 2], blocks=True)
    assert max(block_error(block) for block in blocks.values()) < 1e-9


def test_what_cannot_be_read_says_so():
    decoder_only = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=9))
    with pytest.raises(NormalignError, match="GPT2LMHeadModel cannot be read"):
        TransformersModel(decoder_only)
    names = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
    sizes = {name: size for name, size in SIZES.items() if "layers" in name or "heads" in name or name == "d_model"}
    speech = transformers.WhisperConfig(**sizes, vocab_size=20, **dict.fromkeys(names, 0))
    with pytest.raises(NormalignError, match="takes no embedded pieces"):
        TransformersModel(transformers.WhisperForConditionalGeneration(speech))


@pytest.mark.parametrize("family", ["m2m100", "t5"])
def test_a_target_may_start_with_a_language(family):
    """Two pieces before the first word: the records have a step for each, and the rest is as the host has it."""
    model = tiny_model(family, attn_implementation="eager")
    batch = tiny_batch(model, start=(2, 12))
    found = {}
    TransformersModel(model).read_layers(batch, [1], found.__setitem__)
    steps = batch.decoder_input()
    assert steps[0, :3].tolist() == [2, 12, 4]
    asked = model(**batch.encoder_input, decoder_input_ids=steps, output_attentions=True, use_cache=False)
    assert torch.allclose(found[1].weights, asked.cross_attentions[1], atol=1e-12)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("family", ["marian", "fsmt", "mbart", "t5"])
def test_self_attention_is_read_too(family, kind):
    model = TransformersModel(tiny_model(family))
    assert model.count(kind) == (2 if kind == "encoder" else 3)
    found = {}
    model.read_layers(tiny_batch(model.module), [0, 1], found.__setitem__, kind=kind, blocks=True)
    assert max(block_error(block) for block in found.values()) < 10 * tolerance(family)
    assert {block.kind for block in found.values()} == {kind}
    assert [len(part.value_weight) for part in model.projections(kind)] == [
        model.attention("cross")[0].value.out_features
    ] * (model.count(kind))


def test_two_targets_of_one_source():
    model = tiny_model("marian")
    batch = tiny_batch(model)
    twice = dataclasses.replace(batch, targets=[batch.targets[0], batch.targets[1]], rows=[1, 1])
    found, alone = {}, {}
    TransformersModel(model).read_layers(twice, [0], found.__setitem__)
    TransformersModel(model).read_layers(batch, [0], alone.__setitem__)
    assert torch.allclose(found[0].weights[1], alone[0].weights[1], atol=1e-12)
    assert torch.allclose(found[0].values[0], alone[0].values[1], atol=1e-12)

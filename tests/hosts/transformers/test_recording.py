"""Every family is read exactly, and left as it was."""

from __future__ import annotations

import pytest
import torch

from fairseq_normalign.attribution import get_method
from fairseq_normalign.attribution.block import decomposition_error as block_error
from fairseq_normalign.attribution.norms import decomposition_error
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.transformers.recording import read_cross_attention
from fairseq_normalign.hosts.transformers.structure import Structure
from tests.hosts.transformers.tiny_families import (
    FAMILIES,
    tiny_input,
    tiny_model,
    tiny_tokens,
    tolerance,
    transformers,
)


def read(model, layers, *, left=False, **options):
    found = {}
    tokens, _ = tiny_tokens(model)
    read_cross_attention(Structure(model), tiny_input(left), tokens, layers, found.__setitem__, **options)
    return found


def asked_for(model, left=False):
    """What the host itself returns for every layer: [B, H, T, S] each."""
    tokens, _ = tiny_tokens(model)
    return model(**tiny_input(left), decoder_input_ids=tokens, output_attentions=True, use_cache=False).cross_attentions


def slow_norms(structure, layer, weights, states):
    """The obvious formula, over [B, H, T, S, C]."""
    part = structure.cross[layer]
    batch, length, _ = states.shape
    values = part.value(states).view(batch, length, part.heads, -1)
    project = part.out.weight.view(part.out.weight.size(0), part.heads, -1)
    vectors = torch.einsum("bhts,bshd,chd->bhtsc", weights, values, project)
    return vectors.sum(1).norm(dim=-1), vectors.norm(dim=-1)


@pytest.mark.parametrize("left", [False, True], ids=["right-padded", "left-padded"])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_norms_and_weights_equal_the_slow_formula(family, left):
    model = tiny_model(family, attn_implementation="eager")
    structure, inputs = Structure(model), tiny_input(left)
    states = structure.encoder(**inputs).last_hidden_state
    found = read(model, [0, 1, 2], left=left)
    for layer, weights in enumerate(asked_for(model, left)):
        together, by_head = slow_norms(structure, layer, weights, states)
        norms, of_heads = get_method("norms").both(found[layer])
        assert torch.allclose(norms, together, atol=tolerance(family))
        assert torch.allclose(of_heads, by_head, atol=tolerance(family))
        assert torch.allclose(found[layer].weights, weights, atol=tolerance(family))
        padding = inputs["attention_mask"].eq(0)
        assert found[layer].weights.masked_select(padding[:, None, None]).abs().max() < 1e-12


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
    for number, layer in enumerate(Structure(model).layers("decoder")):
        layer.register_forward_hook(lambda module, args, output, number=number: ran.append(number))
    Structure(model).output_layer.register_forward_hook(lambda *args: ran.append("words"))
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

    tokens, _ = tiny_tokens(model)
    with pytest.raises(NormalignError, match="enough of this"):
        read_cross_attention(Structure(model), tiny_input(), tokens, [0], fail)
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
    from tests.hosts.transformers.tiny_families import SIZES

    config = transformers.NllbMoeConfig(
        **SIZES, num_experts=2, expert_capacity=8, encoder_sparse_step=2, decoder_sparse_step=2
    )
    model = transformers.NllbMoeForConditionalGeneration(config).double().eval()
    blocks = read(model, [0, 1, 2], blocks=True)
    assert max(block_error(block) for block in blocks.values()) < 1e-9


def test_what_cannot_be_read_says_so():
    decoder_only = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=9))
    with pytest.raises(NormalignError, match="GPT2LMHeadModel cannot be read"):
        Structure(decoder_only)
    speech = transformers.WhisperConfig(
        d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, vocab_size=20,
        pad_token_id=0, bos_token_id=0, eos_token_id=0, decoder_start_token_id=0,
    )  # fmt: skip
    with pytest.raises(NormalignError, match="takes no embedded pieces"):
        Structure(transformers.WhisperForConditionalGeneration(speech))

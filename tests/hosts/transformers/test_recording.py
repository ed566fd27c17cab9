"""Every family is read as the library itself computes it; `test_reading.py` has what holds for every host."""

from __future__ import annotations

import pytest
import torch

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.transformers.model import TransformersModel
from fairseq_normalign.methods import get_method
from fairseq_normalign.methods.block import decomposition_error as block_error
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

import dataclasses

import pytest
import torch

from fairseq_normalign.hosts.fairseq.host import FairseqModel
from fairseq_normalign.methods.block import (
    VARIANTS,
    BlockNorms,
    BlockView,
    block_norms,
    decomposition_error,
    mixing_ratio,
)
from fairseq_normalign.methods.norms import VectorNorms
from fairseq_normalign.methods.records import KINDS


@pytest.fixture
def blocks(model, batch):
    two = dataclasses.replace(batch, targets=batch.targets[:2], rows=range(2))
    host, found = FairseqModel(model), {kind: {} for kind in KINDS}
    for kind in KINDS:
        host.read_layers(two, range(host.count(kind)), found[kind].__setitem__, kind=kind, blocks=True, outputs=True)
    return {kind: list(blocks.values()) for kind, blocks in found.items()}


def parts_by_hand(block, variant):
    """Every vector, head by head: those of positions [B, T, S, C], residual [B, T, C], bias [B, T, C]."""
    attention = block.attention
    batch, heads, steps, length = attention.weights.shape
    width = attention.values.size(-1) // heads
    channels = block.residual.size(-1)
    positions = torch.zeros(batch, steps, length, channels, dtype=torch.float64)
    residual = torch.zeros(batch, steps, channels, dtype=torch.float64)
    bias = attention.out_bias.expand(batch, steps, channels).clone()
    for b in range(batch):
        for t in range(steps):
            for s in range(length):
                for h in range(heads):
                    value = attention.values[b, s, h * width : (h + 1) * width]
                    out = attention.out_weight[:, h * width : (h + 1) * width]
                    positions[b, t, s] += attention.weights[b, h, t, s] * (out @ value)
            if variant != "attn":
                residual[b, t] = block.residual[b, t]
    if variant == "attn+res+ln" and block.norm_after is not None:
        norm = block.norm_after
        scale = (norm.inputs.var(-1, unbiased=False) + norm.eps).sqrt()[..., None]

        def through(vector, scale):
            return norm.weight * (vector - vector.mean(-1, keepdim=True)) / scale

        positions = through(positions, scale[..., None])
        residual, bias = through(residual, scale), through(bias, scale) + norm.bias
    if block.kind != "cross":
        for t in range(steps):
            positions[:, t, t] += residual[:, t]
        residual = torch.zeros_like(residual)
    return positions, residual, bias


@pytest.mark.parametrize("kind", KINDS)
def test_parts_sum_to_the_output_of_the_block(blocks, kind):
    for block in blocks[kind]:
        positions, residual, bias = parts_by_hand(block, "attn+res+ln")
        assert (positions.sum(2) + residual + bias - block.output).abs().max() < 1e-5
        assert decomposition_error(block) < 1e-5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_norms_equal_the_lengths_of_the_explicit_parts(blocks, kind, variant):
    for block in blocks[kind]:
        positions, residual, _ = parts_by_hand(block, variant)
        lengths, kept = block_norms(block, variant)
        torch.testing.assert_close(lengths, positions.norm(dim=-1), atol=1e-7, rtol=1e-7)
        torch.testing.assert_close(kept, residual.norm(dim=-1))
        steps = slice(1, 3)
        torch.testing.assert_close(BlockView(block, variant).vectors(steps), positions[:, steps])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_mixing_ratio_compares_context_with_what_is_kept(blocks, kind, variant):
    for block in blocks[kind]:
        positions, residual, _ = parts_by_hand(block, variant)
        steps = positions.size(1)
        if kind == "cross":
            context, kept = positions.sum(2).norm(dim=-1), residual.norm(dim=-1)
        else:
            own = torch.stack([positions[:, t, t] for t in range(steps)], dim=1)
            context, kept = (positions.sum(2) - own).norm(dim=-1), own.norm(dim=-1)
        found = mixing_ratio(block, variant)
        torch.testing.assert_close(found, context / (context + kept), atol=1e-7, rtol=1e-7)
        assert bool(((found >= 0) & (found <= 1)).all())


def test_records_are_what_the_model_computes(model, batch, blocks):
    """The attention is forced into its step-by-step form to be read: the output must be that of the form it runs in."""
    with torch.no_grad():
        states = model.encoder(**batch.encoder_input, return_all_hiddens=True)["encoder_states"]
    real = ~batch.encoder_input["src_tokens"].eq(model.encoder.padding_idx)
    for layer, block in enumerate(blocks["encoder"]):
        torch.testing.assert_close(block.residual[real], states[layer].transpose(0, 1)[real])
        module = model.encoder.layers[layer].self_attn
        assert not module.skip_embed_dim_check
        with torch.no_grad():
            inputs = block.inputs.transpose(0, 1)
            output, mean = module(inputs, inputs, inputs, key_padding_mask=~real)
        torch.testing.assert_close(block.attention.output[real], output.transpose(0, 1)[real])
        torch.testing.assert_close(block.attention.weights.mean(1)[real], mean[real])


def test_decoder_self_attention_looks_back_only(blocks):
    for block in blocks["decoder"]:
        future = torch.ones_like(block.attention.weights[0, 0]).triu(1).bool()
        assert bool((block.attention.weights[..., future] == 0).all())


def test_without_layer_norm_the_block_gives_what_norms_give(blocks):
    for block in blocks["cross"]:
        alone = VectorNorms().layer(block.attention)
        torch.testing.assert_close(BlockNorms("attn").layer(block), alone)
        torch.testing.assert_close(BlockNorms("attn+res").layer(block), alone)
        torch.testing.assert_close(BlockNorms("attn").by_head(block), VectorNorms().by_head(block.attention))
        if block.norm_after is not None:
            assert (BlockNorms().layer(block) - alone).abs().max() > 1e-3


def test_no_hook_stays_behind(model, blocks):
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())

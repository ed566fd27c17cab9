"""Tiny random Transformers, and batches for them. Every parameter is random, biases and LayerNorms too: nothing that a
method might forget is zero or one."""

from __future__ import annotations

from argparse import Namespace
from types import SimpleNamespace

import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel
from fairseq.models.transformer.transformer_legacy import base_architecture

from fairseq_normalign.aligning.reader import Batch, decoder_input
from fairseq_normalign.hosts.fairseq.whole_model import forced_view

WORDS = 9


def dictionary() -> Dictionary:
    words = Dictionary()
    for number in range(WORDS):
        words.add_symbol(f"w{number}")
    return words


def tiny_transformer(*, pre_norm: bool = False, layers: int = 2, seed: int = 1, **options) -> TransformerModel:
    """8 channels (12 in the encoder's feed-forward), 2 heads, float64, evaluation mode."""
    args = Namespace(
        encoder_embed_dim=8,
        encoder_ffn_embed_dim=12,
        encoder_attention_heads=2,
        encoder_layers=layers,
        decoder_ffn_embed_dim=10,
        decoder_attention_heads=2,
        decoder_layers=layers,
        encoder_normalize_before=pre_norm,
        decoder_normalize_before=pre_norm,
        dropout=0.3,
        **options,
    )
    base_architecture(args)
    words = dictionary()
    model = TransformerModel.build_model(args, SimpleNamespace(source_dictionary=words, target_dictionary=words))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)
    return model.double().eval().requires_grad_(False)


def tiny_batch(words: Dictionary | None = None) -> Batch:
    """Two sources of different length (left-padded) and three targets of different length, one a second translation."""
    words = words or dictionary()
    first = words.nspecial
    pad, eos = words.pad(), words.eos()
    sources = torch.tensor([[first, first + 1, first + 2, first + 3, eos], [pad, pad, first + 4, first + 5, eos]])
    targets = [torch.tensor(t) + first for t in ([5, 6, 7], [8, 1], [2, 3, 4, 0])]
    return Batch({"src_tokens": sources, "src_lengths": torch.tensor([5, 3])}, targets, [0, 1, 1])


def tiny_view(model: TransformerModel, batch: Batch | None = None):
    batch = batch or tiny_batch()
    words = model.decoder.dictionary
    tokens = decoder_input(batch.targets, words.eos(), words.pad())
    return forced_view(model, batch.encoder_input, batch.targets, tokens, batch.rows)

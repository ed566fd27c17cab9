"""Tiny random Transformers, and batches for them. Every parameter is random, biases and LayerNorms too: nothing that a
method might forget is zero or one."""

from __future__ import annotations

from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.models.transformer import TransformerModel

from fairseq_normalign.align.reader import Reader
from fairseq_normalign.hosts.fairseq.host import FairseqModel
from fairseq_normalign.hosts.protocol import Batch
from fairseq_normalign.links.readings import EACH, Place

WORDS = 9


def dictionary() -> Dictionary:
    words = Dictionary()
    for number in range(WORDS):
        words.add_symbol(f"w{number}")
    return words


def tiny_transformer(
    *, arch: str = "transformer", pre_norm: bool = False, layers: int = 2, seed: int = 1, **options
) -> TransformerModel:
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
    ARCH_CONFIG_REGISTRY[arch](args)
    words = dictionary()
    model = ARCH_MODEL_REGISTRY[arch].build_model(
        args, SimpleNamespace(source_dictionary=words, target_dictionary=words)
    )
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
    return make_batch(sources, targets, [0, 1, 1], words)


def make_batch(sources, targets, rows, words: Dictionary) -> Batch:
    """A batch of token tensors; ``words`` is the dictionary of both sides."""
    padding = sources.eq(words.pad())
    inputs = {"src_tokens": sources, "src_lengths": (~padding).sum(1)}
    return Batch(inputs, sources, padding, targets, rows, (words.eos(),), words.eos(), words.pad())


def tiny_view(model: TransformerModel, batch: Batch | None = None):
    batch = batch or tiny_batch()
    return FairseqModel(model).view(batch)


def soft_alignments(models, batch: Batch, method: str, layers=None, *, head=None, by_head: bool = False):
    """What the reader reads of every target: [layers, T + 1, S], or [layers, H, T + 1, S] by head."""
    reader = Reader([model if isinstance(model, FairseqModel) else FairseqModel(model) for model in models])
    chosen = range(reader.layers if reader.method(method).layerwise else 1) if layers is None else layers
    places = [Place(method, layer, EACH if by_head else head) for layer in chosen]
    return [np.stack([found[place] for place in places]) for found in reader.read(batch, places)]

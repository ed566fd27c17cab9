"""What a method reads, as it ran, and what it may ask of a model.

The tensors of an attention layer, of the block around it, or of a whole Transformer.

Shapes: B batch, H heads, T decoder steps or target positions, S source positions, D head dimension, C channels, F inner
channels of the feed-forward. In self-attention T and S are the same positions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch
from torch import Tensor

KINDS = ("encoder", "decoder", "cross")
"""The attention of a Transformer: the encoder's and the decoder's own, and that of the decoder over the encoder."""


@dataclass(frozen=True)
class Attention:
    """One attention layer."""

    weights: Tensor
    """[B, H, T, S]: alpha, after the softmax."""
    values: Tensor
    """[B, S, H * D]: the value projection of the source, its bias included."""
    out_weight: Tensor
    """[C, H * D]: the output projection, as ``torch.nn.Linear`` keeps it."""
    out_bias: Tensor | None = None
    """[C]: the output bias; part of the layer's output, of no source position."""
    output: Tensor | None = None
    """[B, T, C]: what the layer returned; only for the self-check."""

    @property
    def heads(self) -> int:
        """How many heads the layer has (after pruning, if any)."""
        return self.weights.size(1)

    def float(self) -> Attention:
        """Return the record in float32 at least: lengths of half-precision vectors overflow and lose digits."""
        return widened(self)


@dataclass(frozen=True)
class Norm:
    """A LayerNorm: ``weight * (inputs - mean) / std + bias``, mean and std over the channels of each position."""

    inputs: Tensor
    """[B, T, C]."""
    weight: Tensor | None
    """[C]."""
    bias: Tensor | None
    """[C]."""
    eps: float

    @property
    def std(self) -> Tensor:
        """[B, T, 1]: the scale each position was divided by."""
        return (self.inputs.var(-1, unbiased=False, keepdim=True) + self.eps).sqrt()

    @property
    def matrix(self) -> Tensor:
        """[C, C]: what a LayerNorm is to its input beside ``1 / std`` and the bias: centring, then the weight."""
        channels = self.inputs.size(-1)
        centring = torch.eye(channels, dtype=self.inputs.dtype, device=self.inputs.device) - 1 / channels
        return centring if self.weight is None else self.weight.unsqueeze(1) * centring


@dataclass(frozen=True)
class AttentionBlock:
    """Attention, the residual connection around it and its LayerNorm, before (pre-norm) or after both (post-norm).

    post-norm: ``output = norm_after(residual + attention(inputs))``, where a residual of self-attention is the inputs;
    pre-norm: ``output = residual + attention(inputs)``, where inputs of self-attention are ``norm_before(residual)``.
    """

    kind: str
    """One of :data:`KINDS`."""
    attention: Attention
    inputs: Tensor
    """[B, S, C]: what the value projection took."""
    value_weight: Tensor
    """[H * D, C]."""
    residual: Tensor
    """[B, T, C]: what the residual connection carried past the attention."""
    output: Tensor
    """[B, T, C]: what the block returned."""
    value_bias: Tensor | None = None
    """[H * D]."""
    norm_before: Norm | None = None
    norm_after: Norm | None = None


@dataclass(frozen=True)
class FeedForward:
    """The position-wise feed-forward, its residual connection and LayerNorm, before or after as in the attention."""

    inputs: Tensor
    """[B, T, C]: what the first projection took."""
    in_weight: Tensor
    """[F, C]."""
    inner: Tensor
    """[B, T, F]: what the second projection took."""
    out_weight: Tensor
    """[C, F]."""
    residual: Tensor
    """[B, T, C]."""
    in_bias: Tensor | None = None
    """[F]."""
    out_bias: Tensor | None = None
    """[C]."""
    norm_before: Norm | None = None
    norm_after: Norm | None = None


@dataclass(frozen=True)
class EncoderLayer:
    """One layer of the encoder."""

    attention: AttentionBlock
    feed_forward: FeedForward | None
    """The feed-forward; None where it cannot be followed, as it is gated or a mixture of experts."""


@dataclass(frozen=True)
class DecoderLayer:
    """One layer of the decoder."""

    attention: AttentionBlock
    cross: AttentionBlock
    feed_forward: FeedForward | None


@dataclass(frozen=True)
class Transformer:
    """One forced pass through an encoder-decoder Transformer, from the input of its first layers to its features."""

    encoder: Sequence[EncoderLayer]
    decoder: Sequence[DecoderLayer]
    encoder_norm: Norm | None = None
    """The LayerNorm on top of a pre-norm encoder."""
    decoder_norm: Norm | None = None
    projection: tuple[Tensor, Tensor] | None = None
    """Inputs [B, T, C] and weight [E, C] of a projection between the decoder and its output layer."""


Record = TypeVar("Record")


def widened(record: Record) -> Record:
    """The tensor, or the record with every tensor, in float32 at least."""
    if isinstance(record, Tensor):
        narrow = record.is_floating_point() and record.dtype not in (torch.float32, torch.float64)
        return record.float() if narrow else record  # type: ignore[return-value]
    if not dataclasses.is_dataclass(record) or isinstance(record, type):
        return record
    fields = {field.name: widened(getattr(record, field.name)) for field in dataclasses.fields(record)}
    return type(record)(**fields)


class ModelView(Protocol):
    """One model run on N forced sentence pairs: N targets of at most T pieces, S source positions.

    Step t of the T + 1 decoder steps has to output piece t, the last one the end of sentence. Everything about a target
    beyond its end is meaningless and harmless.
    """

    steps: Tensor
    """[N]: how many decoder steps each target has, its end of sentence included."""

    @property
    def source_embeddings(self) -> Tensor:
        """[N, S, E]: the embeddings of the source pieces as the encoder looks them up, without gradients."""
        ...

    @property
    def source_padding(self) -> Tensor:
        """[N, S]: true where there is no source piece."""
        ...

    def features(self, embeddings: Tensor, rows: Tensor | None = None, hidden: Tensor | None = None) -> Tensor:
        """Return what the decoder gives to its output layer when the source has these embeddings; differentiable.

        embeddings [M, S, E]; rows [M]: which of the N pairs each belongs to (None: all, in order); hidden [M, S]: true
        for source pieces that are to be left out -> [M, T + 1, C].
        """
        ...

    def log_probs(self, features: Tensor, rows: Tensor | None = None) -> Tensor:
        """The log-probability of what each step has to output: [M, T + 1, C] -> [M, T + 1]; differentiable."""
        ...

    def scores(self, features: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return the logit of what each step has to output (the log-probability with an adaptive softmax)."""
        ...

    def record(self) -> Transformer:
        """The tensors of every layer."""
        ...

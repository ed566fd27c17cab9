"""Rollout: how far every input reaches through all layers, contributions multiplied layer by layer.

``rollout`` is the method of ALTI+ (Ferrando et al. 2022): what each position gives to the output of an attention block,
residual connection and LayerNorm included, as shares that add up to one; the feed-forward mixes no positions and is
left out. Encoder layers multiply into one matrix. In a decoder layer the attention over the encoder shares out between
source positions, which go on down through the encoder's matrix, and the residual, which goes on through the decoder's
self-attention to the layer below. So the source and the target prefix have separate parts, which together make up one.

``attention-rollout`` (Abnar and Zuidema 2020) is the baseline: the same product with attention weights, mean of the
heads, as shares, and one half for each residual connection.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from .block import BlockView
from .records import AttentionBlock, ModelView, Transformer
from .registry import ModelMethod, register_method

VALUES_AT_ONCE = 2**23
"""Numbers in the vectors [B, t, S, C] of some steps that exist at the same time."""

Shares = tuple[Tensor, Tensor]
"""Shares of the positions [B, T, S] and of the residual [B, T] (zero in self-attention); they add up to one."""


@dataclass(frozen=True)
class Reach:
    """How much of each step, after each decoder layer, comes from where: rows of both together add up to one."""

    source: Tensor
    """[layers, B, T, S]."""
    prefix: Tensor
    """[layers, B, T, T]."""


def distance_shares(block: AttentionBlock) -> Shares:
    """ALTI's measure: how much closer a position's vector v brings us to the output y, ``max(0, |y| - |y - v|)`` in L1.

    A vector that points elsewhere, however long, gives nothing. Where all do, and the output is made of biases, lengths
    decide.
    """
    view = BlockView(block)
    output = view.mixed() + view.residual() + view.bias()
    size = output.abs().sum(-1, keepdim=True)  # [B, T, 1]
    batch, steps, channels = output.shape
    at_once = max(1, VALUES_AT_ONCE // (batch * block.attention.weights.size(-1) * channels))
    closer = []
    for first in range(0, steps, at_once):
        some = slice(first, min(first + at_once, steps))
        left = output[:, some].unsqueeze(2) - view.vectors(some)
        closer.append(size[:, some] - left.abs().sum(-1))
    positions = torch.cat(closer, dim=1).clamp_min(0)
    residual = torch.zeros_like(positions[..., 0])
    if not view.is_self:
        residual = (size[..., 0] - (output - view.residual()).abs().sum(-1)).clamp_min(0)
    lengths, length = view.norms()
    none = positions.sum(-1) + residual == 0
    return _shares(torch.where(none.unsqueeze(-1), lengths, positions), torch.where(none, length, residual))


def norm_shares(block: AttentionBlock) -> Shares:
    """The lengths of the vectors (Kobayashi et al. 2021), wherever they point."""
    return _shares(*BlockView(block).norms())


def weight_shares(block: AttentionBlock) -> Shares:
    """Attention weights, mean of the heads, and one half for the residual connection."""
    half = block.attention.weights.mean(1) / 2
    residual = half.new_full(half.shape[:2], 0.5)
    if block.kind == "cross":
        return half, residual
    return half + torch.eye(half.size(-1)).to(half) / 2, torch.zeros_like(residual)


def _shares(positions: Tensor, residual: Tensor) -> Shares:
    total = (positions.sum(-1) + residual).clamp_min(torch.finfo(positions.dtype).tiny)
    return positions / total.unsqueeze(-1), residual / total


def roll_out(encoder: Sequence[Tensor], decoder: Sequence[tuple[Tensor, Shares]]) -> Reach:
    """Multiply the shares of all layers.

    encoder: [B, S, S] for each layer; decoder: for each layer those of its self-attention [B, T, T] and those of its
    attention over the encoder. All from the bottom up.
    """
    through = torch.eye(encoder[0].size(-1)).to(encoder[0]).expand_as(encoder[0])
    for shares in encoder:
        through = shares @ through
    source = torch.zeros(())
    prefix = torch.eye(decoder[0][0].size(-1)).to(decoder[0][0]).expand_as(decoder[0][0])
    sources, prefixes = [], []
    for own, (of_source, of_residual) in decoder:
        kept = of_residual.unsqueeze(-1) * own
        prefix = kept @ prefix
        from_below = kept @ source if source.dim() else source
        source = of_source @ through + from_below
        sources.append(source)
        prefixes.append(prefix)
    return Reach(torch.stack(sources), torch.stack(prefixes))


class _Rollout(ModelMethod):
    layerwise = True
    steps = ("awo", "awi")

    @abstractmethod
    def shares(self, block: AttentionBlock) -> Shares:
        """Return the shares of one block."""

    def reach(self, record: Transformer) -> Reach:
        """Return the shares of source and target prefix, after each decoder layer."""
        return roll_out(
            [self.shares(layer.attention)[0] for layer in record.encoder],
            [(self.shares(layer.attention)[0], self.shares(layer.cross)) for layer in record.decoder],
        )

    def run(self, view: ModelView, layers: Sequence[int]) -> Tensor:
        """-> [len(layers), N, T + 1, S]."""
        return self.reach(view.record()).source[list(layers)]


@register_method("rollout")
class Rollout(_Rollout):
    """What each source position gives to a step through all layers up to the one read (ALTI+, Ferrando et al. 2022).

    ``measure``: of a block's contributions, ``distance`` as in ALTI+, or the ``norm`` of vectors.
    """

    def __init__(self, measure: Literal["distance", "norm"] = "distance") -> None:
        self.measure = measure

    def shares(self, block: AttentionBlock) -> Shares:
        """Return the shares of one block."""
        return distance_shares(block) if self.measure == "distance" else norm_shares(block)


@register_method("attention-rollout")
class AttentionRollout(_Rollout):
    """Attention weights multiplied through all layers up to the one read, residuals as one half (the baseline)."""

    def shares(self, block: AttentionBlock) -> Shares:
        """Return the shares of one block."""
        return weight_shares(block)

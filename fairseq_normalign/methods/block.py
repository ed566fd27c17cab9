"""The whole attention block: attention, residual connection and LayerNorm (Kobayashi et al. 2021).

A block adds up one vector for each input position, the residual and a bias, and a post-norm block then sends the sum
through a LayerNorm. With the mean and the standard deviation of the real sum that LayerNorm is linear: centring, a
weight for each channel, one scale for each position. So it goes into the output projection, and the lengths come from
the same small Gram matrices as those of the attention alone. In a pre-norm block the LayerNorm works on each input
alone, before the values are made, and is in their vectors already: there ``attn+res+ln`` is ``attn+res``.

Biases belong to no position, with two exceptions that are part of the transformed vector f(x) by definition: that of
the values and, in pre-norm, that of the LayerNorm before them.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import linear

from .norms import head_norms, transformed_gram, vector_norms
from .records import AttentionBlock
from .registry import BlockMethod, register_method

Variant = Literal["attn", "attn+res", "attn+res+ln"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
"""How much of the block counts: the attention, with its residual connection, with its LayerNorm."""


class BlockView:
    """A block under one variant: everything it adds, as linear images of its recorded tensors."""

    def __init__(self, block: AttentionBlock, variant: Variant = "attn+res+ln") -> None:
        self.block = block
        self.attention = block.attention
        self.is_self = block.kind != "cross"
        norm = block.norm_after if variant == "attn+res+ln" else None
        self._matrix = None if norm is None else norm.matrix
        self._scale = None if norm is None else 1 / norm.std  # [B, T, 1]
        self._norm_bias = None if norm is None else norm.bias
        self._with_residual = variant != "attn"
        weight = self.attention.out_weight
        self.out_weight = weight if self._matrix is None else self._matrix @ weight
        """[C, H * D]: the output projection, the LayerNorm's centring and weight included; its scale is apart."""

    def scaled(self, by_step: Tensor) -> Tensor:
        """Divide by each step's standard deviation: [B, T, ...] -> the same shape."""
        if self._scale is None:
            return by_step
        return by_step * self._scale.view(*self._scale.shape[:2], *[1] * (by_step.dim() - 2))

    def residual(self) -> Tensor:
        """[B, T, C]: the vector of the residual connection."""
        carried = self.block.residual if self._matrix is None else linear(self.block.residual, self._matrix)
        return self.scaled(carried) if self._with_residual else torch.zeros_like(carried)

    def mixed(self) -> Tensor:
        """[B, T, C]: the sum of the vectors that attention adds, biases of the output apart."""
        by_head = torch.matmul(self.attention.weights, _by_head(self.attention.values, self.attention.heads))
        return self._out(by_head.transpose(1, 2).flatten(2))

    def own(self) -> Tensor:
        """[B, T, C]: of these, the vector of each position's own input; self-attention only."""
        alpha = self.attention.weights.diagonal(dim1=2, dim2=3).transpose(1, 2).unsqueeze(-1)  # [B, T, H, 1]
        values = self.attention.values.unflatten(-1, (self.attention.heads, -1))
        return self._out((alpha * values).flatten(2))

    def _out(self, mixed: Tensor) -> Tensor:
        return self.scaled(linear(mixed, self.out_weight))

    def bias(self) -> Tensor:
        """[B, T, C] or [C]: what belongs to no position."""
        out = self.attention.out_bias
        total = torch.zeros_like(self.block.residual) if out is None else out.expand_as(self.block.residual)
        if self._matrix is not None:
            total = self.scaled(linear(total, self._matrix))
        return total if self._norm_bias is None else total + self._norm_bias

    def vectors(self, steps: slice) -> Tensor:
        """The vector of each position at some of the steps, own residual included: [B, t, S, C].

        The big tensor: ask for a few steps at a time.
        """
        heads = self.attention.heads
        values = _by_head(self.attention.values, heads)  # [B, H, S, D]
        project = self.out_weight.unflatten(-1, (heads, -1)).permute(1, 2, 0)  # [H, D, C]
        transformed = torch.matmul(values, project).transpose(1, 2)  # [B, S, H, C]
        alpha = self.attention.weights[:, :, steps].permute(0, 3, 2, 1)  # [B, S, t, H]
        vectors = torch.matmul(alpha, transformed).transpose(1, 2)  # [B, t, S, C]
        if self._scale is not None:
            vectors = vectors * self._scale[:, steps].unsqueeze(-1)
        if self.is_self:
            rows = torch.arange(vectors.size(1), device=vectors.device)
            vectors[:, rows, rows + (steps.start or 0)] += self.residual()[:, steps]
        return vectors

    def norms(self) -> tuple[Tensor, Tensor]:
        """Lengths of the positions' vectors [B, T, S] and of the residual's [B, T].

        In self-attention the residual is the position's own input: it is in its vector, and its own length is zero.
        """
        lengths = self.scaled(vector_norms(self.attention.weights, self._gram()))
        if not self.is_self:
            return lengths, self.residual().norm(dim=-1)
        lengths.diagonal(dim1=1, dim2=2).copy_((self.own() + self.residual()).norm(dim=-1))
        return lengths, lengths.new_zeros(lengths.shape[:2])

    def head_norms(self) -> Tensor:
        """Lengths of the vectors that each head adds for each position, without residual: [B, H, T, S]."""
        return self.scaled(head_norms(self.attention.weights, self._gram()).transpose(1, 2)).transpose(1, 2)

    def _gram(self) -> Tensor:
        return transformed_gram(self.attention.values, self.out_weight, self.attention.heads)


def _by_head(values: Tensor, heads: int) -> Tensor:
    """[B, S, H * D] -> [B, H, S, D]."""
    return values.unflatten(-1, (heads, -1)).transpose(1, 2)


def block_norms(block: AttentionBlock, variant: Variant = "attn+res+ln") -> tuple[Tensor, Tensor]:
    """How much each position gives to each output of the block: lengths [B, T, S], and the residual's [B, T].

    In self-attention the residual is counted to its own position, and the second is zero; in attention over the encoder
    it is the target side.
    """
    return BlockView(block, variant).norms()


def mixing_ratio(block: AttentionBlock, variant: Variant = "attn+res+ln") -> Tensor:
    """How much of each output is mixed in from elsewhere, against what is kept of its own input: [B, T] in [0, 1].

    ``||context|| / (||context|| + ||preserved||)``, vectors summed before their length is taken. In attention over the
    encoder the source is the context and the residual is what is preserved; without it everything is context.
    """
    view = BlockView(block, variant)
    mixed, preserved = view.mixed(), view.residual()
    if view.is_self:
        own = view.own()
        mixed, preserved = mixed - own, preserved + own
    context, kept = mixed.norm(dim=-1), preserved.norm(dim=-1)
    return context / (context + kept).clamp_min(torch.finfo(context.dtype).tiny)


def decomposition_error(block: AttentionBlock) -> float:
    """The self-check: the largest distance between what the block returned and the sum of its parts and biases."""
    view = BlockView(block)
    return float((view.mixed() + view.residual() + view.bias() - block.output).abs().max())


@register_method("block")
class BlockNorms(BlockMethod):
    """The length of the vector each source position adds, after the residual connection and LayerNorm."""

    def __init__(self, variant: Variant = "attn+res+ln") -> None:
        self.variant = variant

    def layer(self, record: AttentionBlock) -> Tensor:
        """-> [B, T, S]."""
        return block_norms(record, self.variant)[0]

    def by_head(self, record: AttentionBlock) -> Tensor:
        """-> [B, H, T, S]."""
        return BlockView(record, self.variant).head_norms()

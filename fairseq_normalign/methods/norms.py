"""Vector norms, the lengths of the vectors that attention adds (Kobayashi et al. 2020), and attention weights.

``y_i = sum_j sum_h alpha_hij f_h(x_j) + b``, with ``f_h`` the value projection of head h, bias included, through that
head's slice of the output projection. The obvious way to the length of ``sum_h alpha_hij f_h(x_j)`` builds a tensor
[B, H, T, S, C]. It is never needed: the squared length is ``a^T G_j a`` with ``a`` the H weights and
``G_j[h, g] = <f_h(x_j), f_g(x_j)>``, which depends on the source position alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from .records import Attention
from .registry import LayerMethod, register_method

POSITIONS_AT_ONCE = 1024
"""Source positions whose transformed vectors [positions, H, C] exist at the same time: bounds the memory."""


def transformed_gram(values: Tensor, out_weight: Tensor, heads: int) -> Tensor:
    """Inner products of the transformed vectors of one source position, for every pair of heads.

    values [B, S, H * D], out_weight [C, H * D] -> [B, S, H, H], ``G[b, s, h, g] = <f_h(x_s), f_g(x_s)>``.
    """
    grams = []
    for transformed in _transformed(values, out_weight, heads):
        by_position = transformed.transpose(0, 1)  # [N, H, C]
        grams.append(torch.bmm(by_position, by_position.transpose(1, 2)))
    return torch.cat(grams).view(*values.shape[:2], heads, heads)


def transformed_lengths(values: Tensor, out_weight: Tensor, heads: int) -> Tensor:
    """Lengths ||f_h(x)||, without the inner products of different heads: values [B, S, H * D] -> [B, H, S]."""
    lengths = torch.cat([one.norm(dim=2) for one in _transformed(values, out_weight, heads)], 1)  # [H, B * S]
    return lengths.view(heads, *values.shape[:2]).transpose(0, 1)


def _transformed(values: Tensor, out_weight: Tensor, heads: int) -> Iterator[Tensor]:
    """Transformed vectors, some positions at a time: [H, N, C]."""
    head_dim = values.size(2) // heads
    by_head = values.reshape(-1, heads, head_dim).transpose(0, 1)  # [H, B * S, D]
    project = out_weight.reshape(-1, heads, head_dim).permute(1, 2, 0)  # [H, D, C]
    for chunk in by_head.split(POSITIONS_AT_ONCE, dim=1):
        yield torch.bmm(chunk, project)


def transformed_norms(gram: Tensor) -> Tensor:
    """Lengths ||f_h(x)||: gram [B, S, H, H] -> [B, H, S]."""
    return _root(gram.diagonal(dim1=2, dim2=3)).transpose(1, 2)


def head_norms(weights: Tensor, gram: Tensor) -> Tensor:
    """Lengths ||alpha f_h(x)|| of each head: weights [B, H, T, S], gram [B, S, H, H] -> [B, H, T, S]."""
    return weights * transformed_norms(gram).unsqueeze(2)


def vector_norms(weights: Tensor, gram: Tensor) -> Tensor:
    """Lengths ||sum_h alpha_h f_h(x)||, heads summed first: weights [B, H, T, S], gram [B, S, H, H] -> [B, T, S]."""
    by_source = weights.permute(0, 3, 1, 2).contiguous()  # [B, S, H, T]: steps last, the long rows
    squared = (torch.matmul(gram, by_source) * by_source).sum(2)  # [B, S, T]
    return _root(squared).transpose(1, 2)


def _root(squared: Tensor) -> Tensor:
    """Return the root; rounding can make a squared length negative, which counts as zero."""
    return squared.clamp_min(0).sqrt()


def decomposition_error(attention: Attention) -> float:
    """Largest distance between the layer's output and the sum of its transformed vectors plus the output bias.

    The self-check: what the lengths are taken of must add up to what the layer returned.
    """
    if attention.output is None:
        raise ValueError("the layer's output was not recorded")
    record = attention.float()
    batch, heads, _, length = record.weights.shape
    by_head = record.values.view(batch, length, heads, -1).transpose(1, 2)  # [B, H, S, D]
    mixed = torch.matmul(record.weights, by_head)  # [B, H, T, D]
    total = torch.nn.functional.linear(mixed.transpose(1, 2).flatten(2), record.out_weight, record.out_bias)
    assert record.output is not None
    return float((total - record.output).abs().max())


@register_method("norms")
class VectorNorms(LayerMethod):
    """The length of the vector added for each source position, heads summed first; of one head when asked."""

    def layer(self, attention: Attention) -> Tensor:
        """-> [B, T, S]."""
        return vector_norms(attention.weights, self._gram(attention))

    def by_head(self, attention: Attention) -> Tensor:
        """-> [B, H, T, S]."""
        lengths = transformed_lengths(attention.values, attention.out_weight, attention.heads)
        return attention.weights * lengths.unsqueeze(2)

    def both(self, attention: Attention) -> tuple[Tensor, Tensor]:
        """-> [B, T, S], [B, H, T, S]."""
        gram = self._gram(attention)
        return vector_norms(attention.weights, gram), head_norms(attention.weights, gram)

    @staticmethod
    def _gram(attention: Attention) -> Tensor:
        return transformed_gram(attention.values, attention.out_weight, attention.heads)


@register_method("weights")
class AttentionWeights(LayerMethod):
    """The attention weight alpha, mean over heads; of one head when asked."""

    def layer(self, attention: Attention) -> Tensor:
        """-> [B, T, S]."""
        return attention.weights.mean(dim=1)

    def by_head(self, attention: Attention) -> Tensor:
        """-> [B, H, T, S]."""
        return attention.weights

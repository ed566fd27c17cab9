"""Attention weights: what most papers read, one of the two factors of what attention adds."""

from __future__ import annotations

from torch import Tensor

from .records import CrossAttention
from .registry import LayerMethod, register_method


@register_method("weights")
class AttentionWeights(LayerMethod):
    """The attention weight alpha, mean over heads; of one head when asked."""

    def layer(self, attention: CrossAttention) -> Tensor:
        """-> [B, T, S]."""
        return attention.weights.mean(dim=1)

    def by_head(self, attention: CrossAttention) -> Tensor:
        """-> [B, H, T, S]."""
        return attention.weights

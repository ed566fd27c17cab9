"""What a method reads: the tensors of one attention layer in one forward pass."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class CrossAttention:
    """One encoder-decoder attention layer, as it ran.

    Shapes: B batch, H heads, T decoder steps, S source positions, D head dimension, C channels.
    """

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

    def float(self) -> CrossAttention:
        """The same in float32 (wider stays wider): lengths of half-precision vectors overflow and lose digits."""
        return CrossAttention(*(None if t is None else _at_least_float32(t) for t in self._tensors()))  # type: ignore[arg-type]

    def _tensors(self) -> tuple[Tensor | None, ...]:
        return self.weights, self.values, self.out_weight, self.out_bias, self.output


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()

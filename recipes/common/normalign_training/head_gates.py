"""A gate for each head that training can close (Louizos et al. 2018, Voita et al. 2019). torch only.

A gate is Hard Concrete: a sigmoid of noise and a parameter, stretched beyond [0, 1] and cut off there, so that exactly
0 and exactly 1 are likely and the chance of not being 0 has a gradient. In training a gate is drawn for every batch. At
test time there is no chance: a gate is closed, 0, where 0 is likelier than 1, and otherwise open, 1.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

LOW, HIGH = -0.1, 1.1
"""The stretched interval."""
TEMPERATURE = 1 / 3
SMALLEST = 1e-6
"""Keeps the noise off 0 and 1."""


class HeadGates(nn.Module):
    """The gates of one attention layer."""

    def __init__(self, heads: int, start: float = 2.0, speed: float = 1.0) -> None:
        """``start``: the first log-odds of every gate; ``speed``: how much faster than others this parameter learns."""
        super().__init__()
        if speed <= 0:
            raise ValueError("speed must be positive")
        self.speed = speed
        self.location = nn.Parameter(torch.full((heads,), start / speed))
        """[H]: log-odds over ``speed``. Adam moves every parameter by the learning rate, whatever its scale."""

    def log_odds(self) -> Tensor:
        """[H], float32."""
        return self.location.float() * self.speed

    def chance_of_zero(self) -> Tensor:
        """[H]."""
        return torch.sigmoid(TEMPERATURE * math.log(-LOW / HIGH) - self.log_odds())

    def chance_of_one(self) -> Tensor:
        """[H]."""
        return torch.sigmoid(self.log_odds() - TEMPERATURE * math.log((1 - LOW) / (HIGH - 1)))

    def penalty(self) -> Tensor:
        """The expected number of gates that are not 0: the relaxed L0 norm."""
        return (1 - self.chance_of_zero()).sum()

    def is_open(self) -> Tensor:
        """[H]: at test time."""
        return self.chance_of_zero() <= self.chance_of_one()

    def sample(self) -> Tensor:
        """[H]: gates for one batch of training."""
        noise = torch.empty_like(self.log_odds()).uniform_(SMALLEST, 1 - SMALLEST)
        concrete = torch.sigmoid((noise.log() - (-noise).log1p() + self.log_odds()) / TEMPERATURE)
        return (concrete * (HIGH - LOW) + LOW).clamp(0, 1)

    def forward(self) -> Tensor:
        """[H]."""
        return self.sample() if self.training else self.is_open().float()

    def on_values(self, projection: nn.Module, args: tuple, values: Tensor) -> Tensor:
        """A forward hook for the value projection: [..., H * D], each head times its gate.

        This has the same effect as a gate on the head's output, and the values that are read are those really added.
        """
        gates = self().to(values.dtype)
        return values * gates.repeat_interleave(values.size(-1) // gates.numel())

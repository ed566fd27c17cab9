"""The rules of layer-wise relevance propagation: how the relevance of a sum is shared out among its summands.

Every rule conserves relevance: what goes into a sum comes out at its inputs and its bias, to rounding (alpha-beta) or
to the stabilizer (epsilon).

The PyPI library ``lxt`` has an epsilon rule for projections and LayerNorm, too. It puts them into the backward pass of
rewritten forward functions, those of Hugging Face's modules: fairseq's attention would have to be rewritten for it,
each target word would need a run of its own, and it has no alpha-beta rule. It is the oracle in the tests where the two
say the same.

Shapes: relevance carries an axis K in front, one entry for each start of the propagation; the tensors of the model,
which are the same for all of them, do not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear

Shared = tuple[Tensor, Tensor | None]
"""The relevance of the inputs [K, ..., I], and that which a bias keeps [K, ..., O]."""


class Rule(ABC):
    """How relevance is shared out."""

    @abstractmethod
    def add(self, relevance: Tensor, *summands: Tensor) -> list[Tensor]:
        """Through an elementwise sum: [K, ...] and summands [...] -> one [K, ...] for each summand."""

    @abstractmethod
    def linear(self, relevance: Tensor, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Shared:
        """Through ``inputs @ weight.T + bias``: [K, ..., O], [..., I], [O, I], [O] -> [K, ..., I]."""

    @abstractmethod
    def norm(self, relevance: Tensor, inputs: Tensor, scale: Tensor, bias: Tensor | None) -> Shared:
        """Through a LayerNorm, ``(inputs - mean) * scale + bias``: [K, ..., C] and [..., C] -> [K, ..., C]."""

    @abstractmethod
    def attend(self, relevance: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """Through ``weights @ values`` to the values: [K, ..., T, D], [..., T, S], [..., S, D] -> [K, ..., S, D].

        The weights count as constants: relevance goes where the vectors came from.
        """

    @abstractmethod
    def shares(self, parts: Tensor) -> Tensor:
        """A relevance of one, shared out among the parts of a sum over the last axis: [..., C] -> [..., C]."""


@dataclass(frozen=True)
class Epsilon(Rule):
    """In proportion to the summands, signs included; biases keep their share.

    ``epsilon`` keeps sums near zero from exploding; it swallows a little. Without it this is input times gradient at
    every layer, in a model whose attention weights and scales of LayerNorm are constants.
    """

    epsilon: float = 1e-6

    def _over(self, relevance: Tensor, total: Tensor) -> Tensor:
        return relevance / torch.where(total < 0, total - self.epsilon, total + self.epsilon)

    def add(self, relevance: Tensor, *summands: Tensor) -> list[Tensor]:
        """See :meth:`Rule.add`."""
        unit = self._over(relevance, torch.stack(summands).sum(0))
        return [summand * unit for summand in summands]

    def linear(self, relevance: Tensor, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Shared:
        """See :meth:`Rule.linear`."""
        unit = self._over(relevance, linear(inputs, weight, bias))
        return inputs * (unit @ weight), None if bias is None else unit * bias

    def norm(self, relevance: Tensor, inputs: Tensor, scale: Tensor, bias: Tensor | None) -> Shared:
        """See :meth:`Rule.norm`."""
        centred = (inputs - inputs.mean(-1, keepdim=True)) * scale
        unit = self._over(relevance, centred if bias is None else centred + bias)
        slope = unit * scale
        return inputs * (slope - slope.mean(-1, keepdim=True)), None if bias is None else unit * bias

    def attend(self, relevance: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """See :meth:`Rule.attend`."""
        unit = self._over(relevance, weights @ values)
        return values * (weights.transpose(-1, -2) @ unit)

    def shares(self, parts: Tensor) -> Tensor:
        """See :meth:`Rule.shares`."""
        return parts * self._over(parts.new_ones(()), parts.sum(-1, keepdim=True))


@dataclass(frozen=True)
class AlphaBeta(Rule):
    """Positive summands share a part ``alpha`` of the relevance, negative ones the rest (Bach et al. 2015).

    Where all summands have one sign, they share all of it. With ``alpha`` between 0 and 1 no relevance is negative. The
    share of a bias is spread evenly over the inputs of its layer, as in Voita et al. 2021.
    """

    alpha: float = 0.5

    def _units(self, relevance: Tensor, positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
        """Relevance for each unit of the positive and of the negative sum."""
        up, down = positive > 0, negative < 0
        for_up = torch.where(down, self.alpha, 1.0).to(positive) / torch.where(up, positive, torch.inf)
        for_down = torch.where(up, 1 - self.alpha, 1.0).to(positive) / torch.where(down, negative, torch.inf)
        return relevance * for_up, relevance * for_down

    def add(self, relevance: Tensor, *summands: Tensor) -> list[Tensor]:
        """See :meth:`Rule.add`."""
        every = torch.stack(summands)
        up, down = self._units(relevance, every.clamp_min(0).sum(0), every.clamp_max(0).sum(0))
        return [summand.clamp_min(0) * up + summand.clamp_max(0) * down for summand in summands]

    def linear(self, relevance: Tensor, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Shared:
        """See :meth:`Rule.linear`."""
        high, low = inputs.clamp_min(0), inputs.clamp_max(0)
        gain, loss = weight.clamp_min(0), weight.clamp_max(0)
        bias = weight.new_zeros(weight.size(0)) if bias is None else bias
        positive = linear(high, gain, bias.clamp_min(0)) + linear(low, loss)
        negative = linear(high, loss, bias.clamp_max(0)) + linear(low, gain)
        up, down = self._units(relevance, positive, negative)
        shared = high * (up @ gain + down @ loss) + low * (up @ loss + down @ gain)
        of_bias = up * bias.clamp_min(0) + down * bias.clamp_max(0)
        return shared + of_bias.sum(-1, keepdim=True) / inputs.size(-1), None

    def norm(self, relevance: Tensor, inputs: Tensor, scale: Tensor, bias: Tensor | None) -> Shared:
        """See :meth:`Rule.norm`. What the mean gets goes to all channels evenly, what the bias gets to its channel."""
        own = inputs * scale
        mean = -inputs.mean(-1, keepdim=True) * scale
        bias = torch.zeros_like(own) if bias is None else bias.expand_as(own)
        of_own, of_mean, of_bias = self.add(relevance, own, mean, bias)
        return of_own + of_bias + of_mean.mean(-1, keepdim=True), None

    def attend(self, relevance: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """See :meth:`Rule.attend`."""
        high, low = values.clamp_min(0), values.clamp_max(0)
        up, down = self._units(relevance, weights @ high, weights @ low)
        back = weights.transpose(-1, -2)
        return high * (back @ up) + low * (back @ down)

    def shares(self, parts: Tensor) -> Tensor:
        """See :meth:`Rule.shares`."""
        high, low = parts.clamp_min(0), parts.clamp_max(0)
        up, down = self._units(parts.new_ones(()), high.sum(-1, keepdim=True), low.sum(-1, keepdim=True))
        return high * up + low * down

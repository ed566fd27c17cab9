"""Layer-wise relevance propagation: a relevance of one, from each target word back to the source and the target prefix.

It starts at the score of the word before the softmax and goes through the output layer, the decoder, the attention over
the encoder and the encoder down to the input of the first layers, where the relevance of a position is the sum over its
channels. Sums, projections and the mixing by attention follow a :class:`Rule`. An activation function passes
relevance on as it is; the scale of a LayerNorm counts as a constant. So do attention weights: queries and keys get
none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import linear

from ..errors import NormalignError
from .records import KINDS, AttentionBlock, FeedForward, ModelView, Norm, Transformer
from .registry import ModelMethod, register_method

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


POSITIONS_AT_ONCE = 4096
"""Starting steps times positions (source and target, of all sentences) that are propagated together."""


@dataclass(frozen=True)
class Relevance:
    """The relevance of N targets at T decoder steps, by where it ended."""

    source: Tensor
    """[N, T, S]."""
    prefix: Tensor
    """[N, T, T]: that of the decoder's inputs."""
    biases: Tensor
    """[N, T]: what the biases kept, if the rule lets them."""
    heads: dict[str, Tensor]
    """For each kind of attention [layers, N, T, H]: what went through the head's output."""


class _Flow:
    """The relevance of K starting steps on its way down, and what stays on the way."""

    def __init__(self, rule: Rule, seeds: Tensor) -> None:
        self.rule = rule
        self.biases = seeds.new_zeros(seeds.shape[:2])
        """[K, N]."""
        self.heads: dict[str, list[Tensor]] = {kind: [] for kind in KINDS}
        """For each kind of attention, from the top layer down, [K, N, H]."""

    def _settled(self, shared: Shared) -> Tensor:
        of_inputs, of_bias = shared
        if of_bias is not None:
            self.biases = self.biases + of_bias.sum((-1, -2))
        return of_inputs

    def linear(self, relevance: Tensor, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """[K, N, T, O] -> [K, N, T, I]."""
        return self._settled(self.rule.linear(relevance, inputs, weight, bias))

    def norm(self, relevance: Tensor, norm: Norm | None) -> Tensor:
        """[K, N, T, C] -> the same shape."""
        if norm is None:
            return relevance
        scale = 1 / norm.std if norm.weight is None else norm.weight / norm.std
        return self._settled(self.rule.norm(relevance, norm.inputs, scale, norm.bias))

    def feed_forward(self, relevance: Tensor, block: FeedForward | None) -> Tensor:
        """[K, N, T, C] -> the same shape."""
        if block is None:
            raise NormalignError(
                "relevance cannot be propagated through this model: its layers have no LayerNorm and plain feed-forward"
            )
        relevance = self.norm(relevance, block.norm_after)
        out = linear(block.inner, block.out_weight, block.out_bias)
        inner, kept = self.rule.add(relevance, out, block.residual)
        inner = self.linear(inner, block.inner, block.out_weight, block.out_bias)
        inner = self.linear(inner, block.inputs, block.in_weight, block.in_bias)
        return kept + self.norm(inner, block.norm_before)

    def attention(self, relevance: Tensor, block: AttentionBlock) -> tuple[Tensor, Tensor]:
        """[K, N, T, C] -> that of the residual, the same shape, and that of the inputs of the values [K, N, S, C]."""
        attention = block.attention
        relevance = self.norm(relevance, block.norm_after)
        values = attention.values.unflatten(-1, (attention.heads, -1)).transpose(1, 2)  # [N, H, S, D]
        mixed = (attention.weights @ values).transpose(1, 2).flatten(2)  # [N, T, H * D]
        out = linear(mixed, attention.out_weight, attention.out_bias)
        of_out, kept = self.rule.add(relevance, out, block.residual)
        of_mixed = self.linear(of_out, mixed, attention.out_weight, attention.out_bias)
        by_head = of_mixed.unflatten(-1, (attention.heads, -1)).transpose(2, 3)  # [K, N, H, T, D]
        self.heads[block.kind].append(by_head.sum((-1, -2)))
        of_values = self.rule.attend(by_head, attention.weights, values).transpose(2, 3).flatten(3)
        of_inputs = self.linear(of_values, block.inputs, block.value_weight, block.value_bias)
        # the LayerNorm before attention over the encoder is on the side of the queries
        return kept, of_inputs if block.kind == "cross" else self.norm(of_inputs, block.norm_before)


def propagate(view: ModelView, rule: Rule) -> Relevance:
    """Propagate the relevance of every target word."""
    record = view.record()
    parts = [_down(record, seeds, rule) for seeds in _by_step(_starts(view, rule), record)]
    flows, sources, prefixes = zip(*parts, strict=True)
    heads = {kind: torch.cat([torch.stack(flow.heads[kind][::-1]) for flow in flows], dim=1) for kind in KINDS}
    return Relevance(
        source=torch.cat(sources).transpose(0, 1),
        prefix=torch.cat(prefixes).transpose(0, 1),
        biases=torch.cat([flow.biases for flow in flows]).transpose(0, 1),
        heads={kind: by_step.transpose(1, 2) for kind, by_step in heads.items()},
    )


def _starts(view: ModelView, rule: Rule) -> Tensor:
    """The relevance, one in all, of the features that each word's score is the sum of: [N, T, C]."""
    features = view.features(view.source_embeddings).detach()
    with torch.enable_grad():
        leaf = features.clone().requires_grad_()
        (slopes,) = torch.autograd.grad(view.scores(leaf).sum(), leaf)
    return rule.shares((features * slopes).to(torch.promote_types(features.dtype, torch.float32)))


def _by_step(starts: Tensor, record: Transformer) -> Iterator[Tensor]:
    """Some steps at a time, each alone in its decoder: [N, T, C] -> [K, N, T, C]."""
    sources = record.encoder[0].attention.residual.size(1)
    at_once = max(1, POSITIONS_AT_ONCE // (starts.size(0) * (starts.size(1) + sources)))
    for steps in torch.arange(starts.size(1)).split(at_once):
        seeds = starts.new_zeros(len(steps), *starts.shape)
        seeds[torch.arange(len(steps)), :, steps] = starts[:, steps].transpose(0, 1)
        yield seeds


def _down(record: Transformer, seeds: Tensor, rule: Rule) -> tuple[_Flow, Tensor, Tensor]:
    """seeds [K, N, T, C] -> the flow, the relevance of source positions [K, N, S] and of decoder inputs [K, N, T]."""
    flow = _Flow(rule, seeds)
    decoder = seeds if record.projection is None else flow.linear(seeds, *record.projection, None)
    decoder = flow.norm(decoder, record.decoder_norm)
    encoder = torch.zeros(())
    for layer in reversed(record.decoder):
        decoder = flow.feed_forward(decoder, layer.feed_forward)
        decoder, of_source = flow.attention(decoder, layer.cross)
        encoder = encoder + of_source
        decoder = sum(flow.attention(decoder, layer.attention), torch.zeros(()))
    encoder = flow.norm(encoder, record.encoder_norm)
    for below in reversed(record.encoder):
        encoder = flow.feed_forward(encoder, below.feed_forward)
        encoder = sum(flow.attention(encoder, below.attention), torch.zeros(()))
    return flow, encoder.sum(-1), decoder.sum(-1)


def head_relevance(found: Relevance, steps: Tensor) -> dict[str, Tensor]:
    """The relevance of each head, as in Voita et al. 2019: for each kind of attention [layers, H], rows add up to one.

    The relevance of a layer's heads is normalized for each word, then averaged over all words. steps [N]: how many each
    target has. Voita et al. start at the word the model likes best; here it is the word that was forced.
    """
    real = torch.arange(found.source.size(1)) < steps.unsqueeze(1)  # [N, T]
    means = {}
    for kind, heads in found.heads.items():
        of_words = heads[:, real.to(heads.device)].abs()  # [layers, words, H]
        means[kind] = (of_words / of_words.sum(-1, keepdim=True).clamp_min(1e-30)).mean(1)
    return means


def conservation_error(found: Relevance, steps: Tensor) -> float:
    """The self-check: how far the relevance of source, prefix and biases together is from one, for the worst word."""
    real = torch.arange(found.source.size(1)) < steps.unsqueeze(1)
    total = found.source.sum(-1) + found.prefix.sum(-1) + found.biases
    return float((total[real.to(total.device)] - 1).abs().max())


@register_method("relevance")
class LayerwiseRelevance(ModelMethod):
    """The relevance of each source position for a word, propagated back layer by layer (LRP).

    ``rule``: ``epsilon``, or ``alpha-beta`` with the ``alpha`` of one half that Voita et al. 2021 chose. Alpha-beta
    shares out between source and prefix, and among heads, without negative amounts, but blurs single positions.
    """

    signed = True

    def __init__(
        self, rule: Literal["epsilon", "alpha-beta"] = "epsilon", epsilon: float = 1e-6, alpha: float = 0.5
    ) -> None:
        self.rule: Rule = AlphaBeta(alpha) if rule == "alpha-beta" else Epsilon(epsilon)

    def run(self, view: ModelView, layers: Sequence[int]) -> Tensor:
        """-> [1, N, T + 1, S]."""
        return propagate(view, self.rule).source.unsqueeze(0)

"""Layer-wise relevance propagation: a relevance of one, from each target word back to the source and the target prefix.

It starts at the score of the word before the softmax and goes through the output layer, the decoder, the attention over
the encoder and the encoder down to the input of the first layers, where the relevance of a position is the sum over its
channels. Sums, projections and the mixing by attention follow a rule of :mod:`.rules`. An activation function passes
relevance on as it is; the scale of a LayerNorm counts as a constant. So do attention weights: queries and keys get
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear

from ..errors import NormalignError
from .model_protocol import ModelView
from .records import KINDS, AttentionBlock, FeedForward, Norm, Transformer
from .registry import ModelMethod, register_method
from .rules import AlphaBeta, Epsilon, Rule, Shared

POSITIONS_AT_ONCE = 4096
"""Starting steps times positions (source and target, of all sentences) that are propagated together."""

RULES = ("epsilon", "alpha-beta")


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

    def __init__(self, rule: str = "epsilon", epsilon: float = 1e-6, alpha: float = 0.5) -> None:
        if rule not in RULES:
            raise NormalignError(f"method 'relevance': no rule '{rule}'; choose one of {', '.join(RULES)}")
        self.rule: Rule = AlphaBeta(alpha) if rule == "alpha-beta" else Epsilon(epsilon)

    def run(self, view: ModelView, layers: Sequence[int]) -> Tensor:
        """-> [1, N, T + 1, S]."""
        return propagate(view, self.rule).source.unsqueeze(0)

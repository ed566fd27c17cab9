"""One kind of attention of a translation model observed on a text, by forced decoding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from ..analysis.attention_batch import PAD, Observed, ObservedLayer, Projections
from ..analysis.comparison import Sampling, Seed, compare
from ..analysis.decisions import check_gold
from ..errors import NormalignError
from ..hosts.observer import Observer, check_observed, observe
from ..hosts.protocol import NO_MEMORY, Batch
from ..jobs import TextPair
from ..links.gold import Gold
from ..methods.records import AttentionBlock
from ..methods.relevance import AlphaBeta, head_relevance, propagate
from .model import Model, numbers_from


class PairObserver(Observer):
    """One kind of attention of an encoder-decoder, by forced decoding."""

    def __init__(self, model: Model, kind: str) -> None:
        super().__init__()
        if len(model.models) > 1:
            raise NormalignError("one checkpoint can be analyzed at a time, not an ensemble")
        self.pair_model = model
        self.kind = kind
        self.model = model.models[0]
        source, target = model.host.inventories()
        self.queries = source if kind == "encoder" else target
        self.keys = target if kind == "decoder" else source

    def observed(self, lines: Sequence[TextPair], *, mixing: bool = False) -> Iterator[Observed]:
        """Return what attention did on the pairs, in batches."""
        encoded = self.pair_model.encode(lines)
        self.skipped.update(pair for pair in encoded if isinstance(pair, str))
        unread = sum(not isinstance(pair, str) for pair in encoded)
        first, self._lines_before = self._lines_before, self._lines_before + len(lines)

        def read(batch: Batch) -> tuple[Batch, list[ObservedLayer]]:
            layers: list[ObservedLayer] = []

            def take(index: int, block: AttentionBlock) -> None:
                layers.append(observe(block, mixing=mixing))

            self.model.read_layers(batch, range(self.model.count(self.kind)), take, kind=self.kind, blocks=True)
            return batch, layers

        for places, (batch, layers) in self.pair_model.batches(encoded, read, names=numbers_from(first)):
            unread -= len(places)
            check_observed(layers, [first + place for place in places])
            source = _numbered(batch.source_tokens, batch.source_padding)
            tokens = batch.decoder_input()
            lengths = batch.steps + batch.first_step  # the start of a target may be the piece for padding
            target = _numbered(tokens, torch.arange(tokens.size(1)) >= lengths.unsqueeze(1))
            queries = source if self.kind == "encoder" else target
            yield Observed(self.kind, queries, target if self.kind == "decoder" else source, layers)
        self.skipped.update({NO_MEMORY: unread} if unread else {})

    def pieces(self, lines: Sequence[TextPair]) -> tuple[np.ndarray, np.ndarray]:
        """Return the pieces of both sides, whether they can be aligned or not."""
        host = self.pair_model.host
        encoded = [(host.source(source), host.target(target)) for source, target in lines]
        sources = np.array([piece for source, _ in encoded for piece in source.indices], dtype=int)
        targets = np.array([piece for _, target in encoded for piece in target.indices], dtype=int)
        return sources if self.kind == "encoder" else targets, targets if self.kind == "decoder" else sources

    def projections(self) -> list[Projections]:
        """Return the parameters of f, one entry per layer."""
        return self.model.projections(self.kind)


def _numbered(tokens: Tensor, padding: Tensor) -> np.ndarray:
    """[B, T], with PAD for padding."""
    return tokens.masked_fill(padding, PAD).cpu().numpy()


LRP_ALPHA = 0.5
"""The alpha of the alpha-beta rule, as Voita et al. chose it."""


def relevance_of_heads(model: Model, pairs: Sequence[TextPair], kind: str) -> list[np.ndarray]:
    """The mean share of each head in the relevance of its layer, over all target words: a layer each, [H]."""

    def relevance(batch: Batch) -> tuple[np.ndarray, int]:
        with model.models[0].view(batch) as view:
            shares = head_relevance(propagate(view, AlphaBeta(LRP_ALPHA)), view.steps)[kind].cpu().numpy()
            return shares, int(view.steps.sum())

    total, words = None, 0
    for _, (shares, count) in model.batches(model.encode(pairs), relevance):
        total = shares * count if total is None else total + shares * count
        words += count
    if total is None:
        raise NormalignError("none of the pairs can be read: each is empty or longer than the model's positions")
    return list(total / words)


def error_of_heads(
    model: Model, pairs: Sequence[TextPair], golds: Sequence[Gold], *, name: str = "gold"
) -> dict[tuple[str, str], list[np.ndarray]]:
    """The AER of each head alone by method and step: a layer each, [H]. ``name``: the file of the gold."""
    decisions = model.decide_every_way(model.encode(pairs), ("weights", "norms"))
    check_gold(name, golds, decisions)
    found = compare(golds, [Seed(decisions)], sampling=Sampling(samples=2))
    return {(row.method, row.step): [np.array(layer) for layer in row.aer] for row in found.heads}

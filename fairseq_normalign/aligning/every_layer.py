"""Every layer, every head, several methods, both settings: methods that read attention share one forced pass."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from ..alignment.decide import best_sources
from ..alignment.steps_to_words import SETTINGS, normalized, to_words
from ..analysis.decisions import PairDecisions
from ..attribution import Attention, LayerMethod, get_method
from ..hosts.fairseq.recording import decoder_layers, read_cross_attention, teacher_forcing
from .directions import Encoded, EncodedAligner
from .reader import Batch, check_finite, decoder_input, soft_alignments


@dataclass
class EveryLayer:
    """Soft alignments of one pair, of one method."""

    layers: list[np.ndarray] = field(default_factory=list)
    """A layer each, the bottom first: [T + 1 decoder steps, S source positions]; one for a method of whole models."""
    heads: list[np.ndarray] = field(default_factory=list)
    """A layer each: [H, T + 1, S]; layers may differ in H. Only of methods that read attention."""


class Readers:
    """Reads batches by several methods and keeps the time each of them takes, the pass that they share included."""

    def __init__(self, direction: EncodedAligner, methods: Sequence[str], *, heads: bool = True) -> None:
        self.models = direction.aligner.models
        self.heads = heads
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.on_method: Callable[[str], object] = lambda name: None
        """Told the name of each method before it reads a batch: some take minutes."""
        self.methods = {name: get_method(name) for name in methods}
        self._attention = {name: method for name, method in self.methods.items() if isinstance(method, LayerMethod)}
        dictionary = direction.aligner.target.dictionary
        self._start, self._pad = dictionary.eos(), dictionary.pad()

    def warm_up(self, direction: EncodedAligner, encoded: Sequence[Encoded | str]) -> None:
        """Read one pair and forget the time it took: whatever comes first pays for what is made only once."""
        first = next((pair for pair in encoded if not isinstance(pair, str)), None)
        for _, batch in direction.batches([first] if first else []):
            self.read(batch)
        self.seconds.clear()

    def read(self, batch: Batch) -> list[dict[str, EveryLayer]]:
        """What each method says of every target of a batch. Rows of an ensemble are normalized, then averaged."""
        found: list[dict[str, EveryLayer]] = [{name: EveryLayer() for name in self.methods} for _ in batch.targets]
        if self._attention:
            self.on_method(" and ".join(self._attention))
            self._read_attention(batch, found)
        for name in (name for name in self.methods if name not in self._attention):
            self.on_method(name)
            before = time.perf_counter()
            soft = soft_alignments(self.models, batch, name, None, start=self._start, pad=self._pad)
            self.seconds[name] += time.perf_counter() - before
            for number, layers in enumerate(soft):
                found[number][name].layers.extend(layers)
        return found

    def _read_attention(self, batch: Batch, found: list[dict[str, EveryLayer]]) -> None:
        before, reading = time.perf_counter(), sum(self.seconds.values())
        tokens = decoder_input(batch.targets, self._start, self._pad)
        passes = [self._one_model(model, batch, tokens) for model in self.models]
        shared = time.perf_counter() - before - (sum(self.seconds.values()) - reading)
        for name in self._attention:
            self.seconds[name] += shared
        kept = (~batch.encoder_input["src_tokens"].eq(self._pad)).cpu().numpy()
        for layer in range(len(passes[0])):
            for name in self._attention:
                whole, by_head = (_averaged([one[layer][name][part] for one in passes]) for part in (0, 1))
                for number, target in enumerate(batch.targets):
                    steps, columns = len(target) + 1, kept[batch.rows[number]]
                    found[number][name].layers.append(whole[number, :steps][:, columns])
                    if self.heads:
                        found[number][name].heads.append(by_head[number, :, :steps][..., columns])

    def _one_model(self, model: nn.Module, batch: Batch, tokens: Tensor) -> list[dict[str, tuple[Tensor, Tensor]]]:
        """For each layer and method [N, T + 1, S] and [N, H, T + 1, S]; the second is empty without heads."""
        device = batch.encoder_input["src_tokens"].device
        layers = range(len(decoder_layers(model)))
        with teacher_forcing(model):
            encoder_out = model.encoder(**batch.encoder_input)  # type: ignore[operator]
            rows = torch.as_tensor(list(batch.rows), device=device)
            if not torch.equal(rows, torch.arange(batch.encoder_input["src_tokens"].size(0), device=device)):
                encoder_out = model.encoder.reorder_encoder_out(encoder_out, rows)  # type: ignore[union-attr, operator]
            found = read_cross_attention(model, encoder_out, tokens.to(device), layers, self._read_layer)
        for layer in layers:
            for whole, by_head in found[layer].values():
                for soft in (whole, by_head) if self.heads else (whole,):
                    check_finite(soft[None], batch, [f"decoder layer {layer + 1}"])
        return [found[layer] for layer in layers]

    def _read_layer(self, attention: Attention) -> dict[str, tuple[Tensor, Tensor]]:
        read = {}
        for name, method in self._attention.items():
            before = time.perf_counter()
            read[name] = method.both(attention) if self.heads else (method.layer(attention), torch.zeros(0))
            self.seconds[name] += time.perf_counter() - before
        return read


def _averaged(passes: Sequence[Tensor]) -> np.ndarray:
    if len(passes) > 1:
        passes = [one / one.sum(-1, keepdim=True).clamp_min(torch.finfo(one.dtype).tiny) for one in passes]
    return (sum(passes[1:], passes[0]) / len(passes)).cpu().numpy()


def decide_everything(
    direction: EncodedAligner,
    encoded: Sequence[Encoded | str],
    readers: Readers,
    *,
    soft: bool = False,
    done: Callable[[int], object] = lambda count: None,
) -> list[PairDecisions | None]:
    """What every layer and head decides for every pair, in their order; None for a pair that cannot be aligned.

    ``soft`` keeps the soft alignments of the layers as well.
    """
    results: list[PairDecisions | None] = [None] * len(encoded)
    for places, batch in direction.batches(encoded):
        for place, pair in zip(places, _decided(direction, batch, readers, soft), strict=True):
            results[place] = pair
        done(len(places))
    return results


def _decided(direction: EncodedAligner, batch: Batch, readers: Readers, soft: bool) -> Iterator[PairDecisions]:
    policy = direction.aligner.options.null
    for sides, found in zip(batch.sentences, readers.read(batch), strict=True):
        source, target = (side.at(direction.level) for side in sides)
        pair = PairDecisions(source.words, target.words)
        for name, every in found.items():
            pair.means[name] = [float(one.mean()) for one in every.layers]
            pair.head_means[name] = [one.mean(axis=(1, 2)).tolist() for one in every.heads]
            for setting in sorted(readers.methods[name].settings, key=SETTINGS.index):
                words = [to_words(one, target, source, setting) for one in every.layers]
                shares = [normalized(one) for one, _ in words]
                pair.peaks[name, setting] = [float(one.max(axis=1).mean()) for one in shares]
                pair.layers[name, setting] = [best_sources(*one, policy) for one in words]
                if soft:
                    pair.soft[name, setting] = shares
                pair.heads[name, setting] = [
                    best_sources(*to_words(one, target, source, setting), policy) for one in every.heads
                ]
        yield pair

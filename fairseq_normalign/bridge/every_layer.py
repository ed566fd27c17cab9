"""Every layer, every head, several methods, both settings: all from one forced pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from ..alignment.words import SETTINGS, normalized, to_words
from ..analysis.decisions import PairDecisions, best_sources
from ..attribution import CrossAttention, LayerMethod, get_method
from .corpus import Direction, Encoded
from .forced import Batch, decoder_input
from .reading import decoder_layers, read_cross_attention, teacher_forcing


@dataclass
class EveryLayer:
    """Soft alignments of one pair, of one method."""

    layers: list[np.ndarray] = field(default_factory=list)
    """A layer each, the bottom first: [T + 1 decoder steps, S source positions]."""
    heads: list[np.ndarray] = field(default_factory=list)
    """A layer each: [H, T + 1, S]; layers may differ in H."""


def read_every_layer(
    models: Sequence[nn.Module], batch: Batch, methods: Sequence[str], *, start: int, pad: int, heads: bool = True
) -> list[dict[str, EveryLayer]]:
    """What methods that read single layers say of every target of a batch, from one pass a model.

    Rows of an ensemble are normalized before they are averaged.
    """
    named = {name: _layer_method(name) for name in methods}
    tokens = decoder_input(batch.targets, start, pad)
    passes = [_one_model(model, batch, tokens, named, heads) for model in models]
    kept = (~batch.encoder_input["src_tokens"].eq(pad)).cpu().numpy()
    found: list[dict[str, EveryLayer]] = [{name: EveryLayer() for name in methods} for _ in batch.targets]
    for layer in range(len(passes[0])):
        for name in methods:
            whole, by_head = (_averaged([one[layer][name][part] for one in passes]) for part in (0, 1))
            for number, target in enumerate(batch.targets):
                steps, columns = len(target) + 1, kept[batch.rows[number]]
                found[number][name].layers.append(whole[number, :steps][:, columns])
                if heads:
                    found[number][name].heads.append(by_head[number, :, :steps][..., columns])
    return found


def _layer_method(name: str) -> LayerMethod:
    method = get_method(name)
    if not isinstance(method, LayerMethod):
        raise ValueError(f"the method '{name}' does not read single layers")
    return method


def _one_model(
    model: nn.Module, batch: Batch, tokens: Tensor, methods: dict[str, LayerMethod], heads: bool
) -> list[dict[str, tuple[Tensor, Tensor]]]:
    """For each layer and method [N, T + 1, S] and [N, H, T + 1, S]; the second is empty without ``heads``."""
    device = batch.encoder_input["src_tokens"].device

    def read(attention: CrossAttention) -> dict[str, tuple[Tensor, Tensor]]:
        nothing = torch.zeros(0)
        return {
            name: method.both(attention) if heads else (method.layer(attention), nothing)
            for name, method in methods.items()
        }

    layers = range(len(decoder_layers(model)))
    with teacher_forcing(model):
        encoder_out = model.encoder(**batch.encoder_input)  # type: ignore[operator]
        rows = torch.as_tensor(list(batch.rows), device=device)
        if not torch.equal(rows, torch.arange(batch.encoder_input["src_tokens"].size(0), device=device)):
            encoder_out = model.encoder.reorder_encoder_out(encoder_out, rows)  # type: ignore[union-attr, operator]
        found = read_cross_attention(model, encoder_out, tokens.to(device), layers, read)
    return [found[layer] for layer in layers]


def _averaged(passes: Sequence[Tensor]) -> np.ndarray:
    if len(passes) > 1:
        passes = [one / one.sum(-1, keepdim=True).clamp_min(torch.finfo(one.dtype).tiny) for one in passes]
    return (sum(passes[1:], passes[0]) / len(passes)).cpu().numpy()


def decide_everything(
    direction: Direction, encoded: Sequence[Encoded | str], methods: Sequence[str], *, heads: bool = True
) -> Iterator[tuple[int, PairDecisions]]:
    """Position and decisions of every pair that can be aligned, in the order of the batches."""
    aligner = direction.aligner
    dictionary = aligner.target.dictionary
    for places, batch in direction.batches(encoded):
        read = read_every_layer(
            aligner.models, batch, methods, start=dictionary.eos(), pad=dictionary.pad(), heads=heads
        )
        for place, sides, found in zip(places, batch.sentences, read, strict=True):
            source, target = (side.at(direction.level) for side in sides)
            pair = PairDecisions(source.words, target.words)
            for name, every in found.items():
                pair.means[name] = [float(one.mean()) for one in every.layers]
                pair.head_means[name] = [one.mean(axis=(1, 2)).tolist() for one in every.heads]
                for setting in SETTINGS:
                    words = [to_words(one, target, source, setting) for one in every.layers]
                    pair.peaks[name, setting] = [float(normalized(soft).max(axis=1).mean()) for soft, _ in words]
                    pair.layers[name, setting] = [best_sources(*one, aligner.options.null) for one in words]
                    pair.heads[name, setting] = [
                        best_sources(*to_words(one, target, source, setting), aligner.options.null)
                        for one in every.heads
                    ]
            yield place, pair

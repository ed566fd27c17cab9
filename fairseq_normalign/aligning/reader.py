"""Forced decoding: soft alignments of given targets, in one pass a batch, from one model or several."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..alignment.pieces import Sentence
from ..attribution import BlockMethod, LayerMethod, Method, ModelMethod, get_method
from ..errors import NormalignError
from ..hosts.fairseq.recording import decoder_layers, read_blocks, read_cross_attention, run_decoder, teacher_forcing
from ..hosts.fairseq.whole_model import forced_view


@dataclass(frozen=True)
class Batch:
    """Sources as the encoder takes them, and the targets to force, each with the row of its source."""

    encoder_input: Mapping[str, Any]
    """``src_tokens`` [B, S] and ``src_lengths`` [B], and whatever else the model's encoder takes."""
    targets: Sequence[Tensor]
    """N targets as piece indices, without the end of sentence."""
    rows: Sequence[int]
    """N numbers: which row of ``src_tokens`` each target translates."""
    names: Sequence[str] = ()
    """N names for messages, for example sentence ids."""
    encoded: Sequence[Any] = ()
    """What the encoder of each model made of ``encoder_input``, where that is known already; without it, it runs."""
    sentences: Sequence[tuple[Sentence, Sentence]] = ()
    """N pairs of source (its end included) and target, where they are known better than the dictionary tells."""

    def name(self, number: int) -> str:
        """How to call target ``number`` in a message."""
        return self.names[number] if number < len(self.names) else f"{number + 1} of its batch"


def decoder_input(targets: Sequence[Tensor], start: int, pad: int) -> Tensor:
    """The start symbol and then the pieces, right-padded: N targets -> [N, T + 1]."""
    longest = max((len(target) for target in targets), default=0)
    tokens = torch.full((len(targets), longest + 1), pad, dtype=torch.long)
    tokens[:, 0] = start
    for row, target in enumerate(targets):
        tokens[row, 1 : len(target) + 1] = target
    return tokens


def soft_alignments(
    models: Sequence[nn.Module],
    batch: Batch,
    method: str,
    layers: Sequence[int] | None,
    *,
    start: int,
    pad: int,
    head: int | None = None,
    by_head: bool = False,
) -> list[np.ndarray]:
    """Soft alignments of every target of the batch.

    One array a target: [layers, T + 1 decoder steps, S source positions] (``by_head``: [layers, H, T + 1, S]), source
    padding removed. ``layers`` are 0-based; None means all. A method that is not layerwise ignores them: [1, T + 1, S].
    Rows of an ensemble are normalized before they are averaged.
    """
    how = get_method(method)
    if (by_head or head is not None) and not how.has_heads:
        raise NormalignError(f"the method '{method}' has no single heads to read")
    tokens = decoder_input(batch.targets, start, pad)
    pads = batch.encoder_input["src_tokens"].eq(pad)
    total: Tensor | None = None
    for model, encoded in itertools.zip_longest(models, batch.encoded):
        wanted = list(range(len(decoder_layers(model))) if layers is None else layers)
        stacked = _one_model(model, batch, tokens, how, wanted, head, by_head, encoded)
        check_finite(stacked, batch, [f"decoder layer {layer + 1}" for layer in wanted] if how.layerwise else [method])
        if len(models) > 1:
            stacked = stacked / stacked.abs().sum(-1, keepdim=True).clamp_min(torch.finfo(stacked.dtype).tiny)
        total = stacked if total is None else total + stacked
    assert total is not None
    whole = (total / len(models)).cpu().numpy()  # [layers, N, (H,) T + 1, S]
    kept = (~pads).cpu().numpy()
    return [
        np.ascontiguousarray(whole[:, number, ..., : len(target) + 1, :][..., kept[batch.rows[number]]])
        for number, target in enumerate(batch.targets)
    ]


def _one_model(
    model: nn.Module,
    batch: Batch,
    tokens: Tensor,
    method: Method,
    layers: list[int],
    head: int | None,
    by_head: bool,
    encoded: Any = None,
) -> Tensor:
    """-> [layers, N, T + 1, S], or [layers, N, H, T + 1, S] by head."""
    if isinstance(method, ModelMethod):
        with forced_view(model, batch.encoder_input, batch.targets, tokens, batch.rows) as view:
            return method.run(view, layers)
    assert isinstance(method, LayerMethod | BlockMethod)
    device = batch.encoder_input["src_tokens"].device

    def read(record: Any) -> Tensor:
        if head is None and not by_head:
            return method.layer(record)
        heads = method.by_head(record)
        if head is not None and not 0 <= head < heads.size(1):
            raise NormalignError(f"there is no head {head + 1}; the layer has {heads.size(1)}")
        return heads if head is None else heads[:, head]

    with teacher_forcing(model):
        encoder_out = encoded if encoded is not None else model.encoder(**batch.encoder_input)  # type: ignore[operator]
        rows = torch.as_tensor(batch.rows, device=device)
        if not torch.equal(rows, torch.arange(batch.encoder_input["src_tokens"].size(0), device=device)):
            encoder_out = model.encoder.reorder_encoder_out(encoder_out, rows)  # type: ignore[union-attr, operator]
        tokens = tokens.to(device)
        if isinstance(method, LayerMethod):
            found = read_cross_attention(model, encoder_out, tokens, layers, read)
        else:
            decode = functools.partial(run_decoder, model, tokens, encoder_out)
            found = read_blocks(model, "cross", decode, layers, read)
    return torch.stack([found[layer] for layer in layers])


def check_finite(stacked: Tensor, batch: Batch, places: Sequence[str]) -> None:
    """NaN or infinity must never become an alignment: [places, N, ..., T + 1, S], each place named by ``places``."""
    if bool(torch.isfinite(stacked).all()):
        return
    for index, place in enumerate(places):
        for number, target in enumerate(batch.targets):
            if not bool(torch.isfinite(stacked[index, number, ..., : len(target) + 1, :]).all()):
                raise NormalignError(
                    f"sentence {batch.name(number)}: NaN or infinity in {place}; "
                    "is the checkpoint sound, or its precision too low?"
                )

"""The self-check that users can switch on: what the lengths are taken of adds up to what the layers return."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from ..attribution import CrossAttention
from ..attribution.norms import decomposition_error
from ..errors import NormalignError
from ..hosts.fairseq.recording import decoder_layers, read_cross_attention, teacher_forcing
from .reader import Batch, decoder_input

TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 1e-1}
"""Largest distance allowed, as a share of the largest output; single precision: 1e-4."""


def check_parts(models: Sequence[nn.Module], batch: Batch, *, start: int, pad: int) -> None:
    """Fail when in some layer the transformed vectors and the output bias are not what the layer returned."""
    tokens = decoder_input(batch.targets, start, pad)
    for model in models:
        precision = next(model.parameters()).dtype
        with teacher_forcing(model):
            encoder_out = model.encoder(**batch.encoder_input)  # type: ignore[operator]
            rows = torch.as_tensor(list(batch.rows), device=tokens.device)
            encoder_out = model.encoder.reorder_encoder_out(encoder_out, rows)  # type: ignore[union-attr, operator]
            layers = range(len(decoder_layers(model)))
            found = read_cross_attention(model, encoder_out, tokens, layers, relative_error, keep_output=True)
        for layer, error in found.items():
            if not error <= TOLERANCE.get(precision, 1e-4):
                raise NormalignError(
                    f"self-check of {type(model).__name__}: in decoder layer {layer + 1} the vectors miss what the "
                    f"layer returned by {error:.1e} of its size; its attention is not computed as it is read"
                )


def relative_error(attention: CrossAttention) -> float:
    """The distance of the sum of the parts from the output, as a share of the largest output."""
    assert attention.output is not None
    return decomposition_error(attention) / max(float(attention.output.abs().max()), 1e-12)

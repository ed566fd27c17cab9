"""Where the attention of a model of ``transformers`` is: found by the shape of its modules, not by its class.

Two shapes are known. BART and its kin (Marian, M2M100, NLLB, mBART, Pegasus, FSMT): ``decoder.layers[i].encoder_attn``
with ``q_proj``, ``v_proj`` and ``out_proj``. T5 and its kin (mT5, UMT5, MADLAD): ``EncDecAttention`` in
``decoder.block[i].layer[1]``, with ``q``, ``v`` and ``o``.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ...errors import NormalignError
from ...methods.records import KINDS

PROJECTIONS = (("q_proj", "v_proj", "out_proj"), ("q", "v", "o"))
"""The names of the query, value and output projections."""
CROSS = ("encoder_attn", "cross_attention")
"""The names of the attention over the encoder in a layer of BART's shape."""


@dataclass(frozen=True)
class Sublayer:
    """One attention with the norms before and after it."""

    attention: Any
    query: nn.Linear
    value: nn.Linear
    out: nn.Linear
    norm: nn.Module
    """The norm of this attention: before it in a pre-norm layer, after its residual connection in a post-norm one."""
    next_norm: nn.Module
    """The norm of what follows in the layer; in a pre-norm layer it takes what this sublayer returns."""
    steps_first: bool
    """Whether tensors are [T, B, C] there, as FSMT has them, and not [B, T, C]."""

    @property
    def heads(self) -> int:
        """How many heads the attention has."""
        found = getattr(self.attention, "num_heads", None) or getattr(self.attention, "n_heads", None)
        return int(found or self.attention.config.num_attention_heads)

    def batch_first(self, tensor: Tensor) -> Tensor:
        """[B, T, C], whatever order the layer keeps."""
        return tensor.transpose(0, 1) if self.steps_first else tensor


class Structure:
    """The parts of an encoder-decoder Transformer.

    >>> Structure(model).cross[0].heads  # doctest: +SKIP
    8
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        base = getattr(model, model.base_model_prefix, model)
        self.encoder: Any = getattr(base, "encoder", None)
        self.decoder: Any = getattr(base, "decoder", None)
        layers = _layers(self.decoder)
        found = [_sublayer(layer, "cross") for layer in layers]
        if self.encoder is None or not found or None in found:
            raise NormalignError(
                f"{type(model).__name__} cannot be read: alignments come from the encoder-decoder attention of "
                "Transformer decoder layers, built as in BART or T5, and this model has none"
            )
        if getattr(self.encoder, "embed_tokens", None) is None:
            raise NormalignError(f"{type(model).__name__} cannot be read: its encoder takes no embedded pieces")
        self.cross = [sublayer for sublayer in found if sublayer is not None]
        """The attention over the encoder of each decoder layer."""

    def attention(self, kind: str) -> list[Sublayer]:
        """The attention of ``kind`` (encoder, decoder, cross) of each layer."""
        if kind == "cross":
            return self.cross
        if kind not in KINDS:
            raise NormalignError(f"unknown kind of attention '{kind}'; choose one of {', '.join(KINDS)}")
        found = [_sublayer(layer, kind) for layer in self.layers(kind)]
        if not found or None in found:
            raise NormalignError(f"{type(self.model).__name__}: its {kind} has no self-attention that can be read")
        return [sublayer for sublayer in found if sublayer is not None]

    def layers(self, side: str) -> list[nn.Module]:
        """The layers of the 'encoder' or the 'decoder'."""
        return _layers(self.encoder if side == "encoder" else self.decoder)

    @property
    def output_layer(self) -> Any:
        """What makes scores of words out of the decoder's features."""
        found = getattr(self.model, "lm_head", None) or getattr(self.decoder, "output_projection", None)
        if found is None:
            raise NormalignError(f"{type(self.model).__name__} cannot be read: it has no output layer over words")
        return found


def _layers(side: nn.Module | None) -> list[nn.Module]:
    found = getattr(side, "layers", None) or getattr(side, "block", None)
    return list(found) if isinstance(found, nn.ModuleList) else []


def _sublayer(layer: nn.Module, kind: str) -> Sublayer | None:
    """The attention of ``kind`` (encoder, decoder, cross) of a layer, or None where the layer is built otherwise."""
    parts = _parts_of_t5(layer, kind) if isinstance(getattr(layer, "layer", None), nn.ModuleList) else None
    parts = parts or _parts_of_bart(layer, kind)
    if parts is None or any(part is None for part in parts):
        return None
    attention, norm, next_norm = parts
    for names in PROJECTIONS:
        query, value, out = (getattr(attention, name, None) for name in names)
        if isinstance(query, nn.Linear) and isinstance(value, nn.Linear) and isinstance(out, nn.Linear):
            if value.out_features != out.in_features:  # heads that share their values
                return None
            steps_first = "query" in inspect.signature(attention.forward).parameters
            return Sublayer(attention, query, value, out, norm, next_norm, steps_first)
    return None


Parts = tuple[Any, Any, Any]
"""The attention, its norm and the next norm."""


def _parts_of_bart(layer: nn.Module, kind: str) -> Parts | None:
    cross = next((name for name in CROSS if hasattr(layer, name)), CROSS[0])
    name = cross if kind == "cross" else "self_attn"
    last = getattr(layer, "final_layer_norm", None) or getattr(layer, "ff_layer_norm", None)
    following = getattr(layer, f"{cross}_layer_norm", None) if kind == "decoder" else last
    return getattr(layer, name, None), getattr(layer, f"{name}_layer_norm", None), following


def _parts_of_t5(layer: Any, kind: str) -> Parts | None:
    sublayers = list(layer.layer)
    place = 1 if kind == "cross" else 0
    if len(sublayers) != (2 if kind == "encoder" else 3):
        return None
    attention = getattr(sublayers[place], "EncDecAttention" if kind == "cross" else "SelfAttention", None)
    norms = [getattr(sublayer, "layer_norm", None) for sublayer in sublayers]
    return attention, norms[place], norms[place + 1]

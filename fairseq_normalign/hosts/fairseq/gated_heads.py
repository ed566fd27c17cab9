"""Gates on the heads of fairseq's attention, and attention with fewer heads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from ...errors import NormalignError
from ...methods.records import KINDS
from .head_gates import HeadGates

Heads = Mapping[str, Sequence[int]]
"""Kind of attention -> how many heads each layer has."""


def gated_kinds(text: str | None) -> list[str]:
    """'encoder,cross' -> the kinds of attention."""
    kinds = [kind for kind in (text or "").split(",") if kind]
    for kind in kinds:
        if kind not in KINDS:
            raise NormalignError(f"--normalign-gates {text}: no attention '{kind}'; choose some of {','.join(KINDS)}")
    return list(dict.fromkeys(kinds))


def attentions(model: Any, kind: str) -> list[Any]:
    """Return the attention modules of a kind, one per layer."""
    layers = model.encoder.layers if kind == "encoder" else model.decoder.layers
    # by number: iterating over LayerDrop's list leaves layers out in training mode
    found = [layers[number] for number in range(len(layers))]
    return [layer.encoder_attn if kind == "cross" else layer.self_attn for layer in found]


def attention_name(kind: str, layer: int) -> str:
    """What parameters of the attention start with in a state_dict."""
    side, name = ("encoder", "self_attn") if kind == "encoder" else ("decoder", "self_attn")
    return f"{side}.layers.{layer}.{'encoder_attn' if kind == 'cross' else name}"


def add_gates(model: Any, kinds: Sequence[str], start: float, speed: float) -> None:
    """Put a gate on every head of these kinds of attention."""
    for kind in kinds:
        for attention in attentions(model, kind):
            _compute_step_by_step(attention)
            attention.gates = HeadGates(attention.num_heads, start, speed)
            # a bound method, so that a copy of the model gets hooks of its own gates
            attention.v_proj.register_forward_hook(attention.gates.on_values)
    if "encoder" in kinds:
        _leave_fused_layer(model)


def gates_of(model: Any) -> Iterator[tuple[str, HeadGates]]:
    """Every layer's gates, with the kind of their attention."""
    for name, module in model.named_modules():
        if isinstance(module, HeadGates):
            kind = "cross" if ".encoder_attn." in name else "encoder" if ".encoder." in f".{name}" else "decoder"
            yield kind, module


def _compute_step_by_step(attention: Any) -> None:
    """torch's fused attention runs no projection module and knows of one number of heads only."""
    if not hasattr(attention, "skip_embed_dim_check"):
        raise NormalignError("head gates need an attention that can be pruned; that of this fairseq (0.12.2) cannot")
    attention.skip_embed_dim_check = True


def write_heads(heads: Heads) -> str:
    """Return the heads as a checkpoint keeps them in its arguments: 'encoder:4,2;cross:1,0'."""
    return ";".join(f"{kind}:{','.join(map(str, counts))}" for kind, counts in heads.items())


def read_heads(text: str) -> dict[str, list[int]]:
    """What :func:`write_heads` wrote."""
    try:
        parts = [part.split(":") for part in text.split(";") if part]
        heads = {kind: [int(count) for count in counts.split(",")] for kind, counts in parts}
    except ValueError:
        raise NormalignError(f"the checkpoint's numbers of heads cannot be read: '{text[:80]}'") from None
    if not heads.keys() <= set(KINDS) or any(count < 0 for counts in heads.values() for count in counts):
        raise NormalignError(f"the checkpoint's numbers of heads cannot be read: '{text[:80]}'")
    return heads


def width_of(heads: int, head_dim: int) -> int:
    """Channels of an attention with so many heads. Without any, it keeps one channel that is always zero: fairseq's
    attention cannot run on nothing, and its output bias is still added."""
    return heads * head_dim if heads else 1


def shrink(model: Any, heads: Heads) -> None:
    """Make attention layers as small as ``heads`` says; their parameters are new."""
    for kind, counts in heads.items():
        modules = attentions(model, kind)
        if len(counts) != len(modules):
            raise NormalignError(
                f"numbers of heads for {len(counts)} layers of {kind} attention, which has {len(modules)}"
            )
        for attention, count in zip(modules, counts, strict=True):
            if count > attention.num_heads:
                raise NormalignError(f"{count} heads where {kind} attention has {attention.num_heads}")
            _shrink(attention, count)
    if "encoder" in heads:
        _leave_fused_layer(model)


def _leave_fused_layer(model: Any) -> None:
    """Keep 0.12.2's encoder layers from torch's fused layer, and give the copies of parameters they hold for it the
    sizes of their attention."""
    for number in range(len(model.encoder.layers)):
        layer = model.encoder.layers[number]
        if hasattr(layer, "can_use_fastpath"):
            layer.can_use_fastpath = False
            rows = [getattr(layer.self_attn, name) for name in ("q_proj", "k_proj", "v_proj")]
            layer.in_proj_weight = nn.Parameter(torch.cat([row.weight.detach() for row in rows]))
            layer.in_proj_bias = nn.Parameter(torch.cat([row.bias.detach() for row in rows]))
            layer.out_proj_weight = nn.Parameter(layer.self_attn.out_proj.weight.detach().clone())


def _shrink(attention: Any, heads: int) -> None:
    _compute_step_by_step(attention)
    width = width_of(heads, attention.head_dim)
    for name in ("q_proj", "k_proj", "v_proj"):
        old = getattr(attention, name)
        setattr(attention, name, nn.Linear(old.in_features, width, bias=old.bias is not None))
    old = attention.out_proj
    attention.out_proj = nn.Linear(width, old.out_features, bias=old.bias is not None)
    attention.num_heads = max(heads, 1)
    attention.head_dim = width // attention.num_heads
    attention.embed_dim = width

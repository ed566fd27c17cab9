"""Closed heads taken out of a checkpoint for good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import open_binary_output
from fairseq_normalign.hosts.fairseq.checkpoints import safe_load
from fairseq_normalign.hosts.loading import silenced
from fairseq_normalign.methods.records import KINDS

from .gated_heads import gated_kinds

GATES = "gates.location"


@dataclass(frozen=True)
class Pruned:
    """How many heads and parameters there were before and after pruning."""

    before: dict[str, list[int]]
    """Kind of attention -> how many heads each layer had."""
    after: dict[str, list[int]]
    parameters: tuple[int, int]
    """Number of parameters before and after, gates not counted."""


def prune(path: str | Path, output: str | Path) -> Pruned:
    """Write the checkpoint at ``path`` without its closed heads, its gates and the state of its optimizer."""
    state = safe_load(str(path))
    arguments = _model_arguments(state, path)
    if not gated_kinds(getattr(arguments, "normalign_gates", None)):
        raise NormalignError(
            f"{path}: has no gates; train it with --arch transformer_normalign_gated --normalign-gates"
        )
    model = state["model"]
    try:
        sizes = _parameters(model)
        before, after = _prune_all(model, arguments)
    except (LookupError, AttributeError, TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        raise NormalignError(f"{path}: its parameters are not those of heads with gates ({error})") from None
    for holder in _arguments_of(state):
        holder.normalign_gates = None
        holder.normalign_heads = write_heads(after)
        for name in ("arch", "_name"):  # what is left needs this user-dir no longer
            if hasattr(holder, name):
                setattr(holder, name, "transformer_normalign")
    state["last_optimizer_state"] = None
    with silenced(), open_binary_output(output) as handle:
        torch.save(state, handle)
    return Pruned(before, after, (sizes, _parameters(model)))


def write_heads(heads: dict[str, list[int]]) -> str:
    """Return the heads as a checkpoint keeps them in its arguments: 'encoder:4,2;cross:1,0'."""
    return ";".join(f"{kind}:{','.join(map(str, counts))}" for kind, counts in heads.items())


def attention_name(kind: str, layer: int) -> str:
    """What parameters of the attention start with in a state_dict."""
    side, name = ("encoder", "self_attn") if kind == "encoder" else ("decoder", "self_attn")
    return f"{side}.layers.{layer}.{'encoder_attn' if kind == 'cross' else name}"


def _arguments_of(state: dict[str, Any]) -> Iterator[Any]:
    """Wherever a checkpoint keeps the arguments of its model."""
    if state.get("args") is not None:
        yield state["args"]
    config: Any = state.get("cfg")
    model = config.get("model") if hasattr(config, "get") else None
    if model is not None:
        yield model


def _model_arguments(state: dict[str, Any], path: str | Path) -> Any:
    found = next(_arguments_of(state), None)
    if found is None or "model" not in state:
        raise NormalignError(f"{path}: not a fairseq checkpoint (it has neither 'args' nor 'cfg')")
    return found


def _parameters(model: dict[str, Tensor]) -> int:
    """What is learned, shared embeddings once."""
    left_out = (GATES, "version", "_float_tensor")
    learned = {tensor.data_ptr(): tensor.numel() for name, tensor in model.items() if not name.endswith(left_out)}
    return sum(learned.values())


def _prune_all(model: dict[str, Tensor], arguments: Any) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    before: dict[str, list[int]] = {}
    after: dict[str, list[int]] = {}
    for kind in KINDS:
        layer = 0
        while f"{attention_name(kind, layer)}.{GATES}" in model:
            gates = model.pop(f"{attention_name(kind, layer)}.{GATES}")
            before.setdefault(kind, []).append(gates.numel())
            after.setdefault(kind, []).append(_prune(model, attention_name(kind, layer), gates.float() >= 0))
            layer += 1
    if not after:
        raise NormalignError("the checkpoint says that it has gates, but it holds none")
    return before, after


def _prune(model: dict[str, Tensor], name: str, is_open: Tensor) -> int:
    """Keep the open heads of one attention; -> how many."""
    width = model[f"{name}.out_proj.weight"].size(1)
    kept = is_open.repeat_interleave(width // is_open.numel())
    for part in ("q_proj", "k_proj", "v_proj"):
        for kind in ("weight", "bias"):
            key = f"{name}.{part}.{kind}"
            if key in model:
                model[key] = _chosen(model[key], kept, 0)
    model[f"{name}.out_proj.weight"] = _chosen(model[f"{name}.out_proj.weight"], kept, 1)
    return int(is_open.sum())


def _chosen(tensor: Tensor, kept: Tensor, dim: int) -> Tensor:
    """The channels that stay; one of zeros where none does (see ``width_of`` in models/transformer_normalign.py)."""
    if not bool(kept.any()):
        return torch.zeros_like(tensor.narrow(dim, 0, 1)).clone()
    return tensor.index_select(dim, kept.nonzero().flatten()).clone()

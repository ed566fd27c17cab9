"""The arguments in a checkpoint, judged before fairseq makes anything of them: sizes, references, code in text."""

from __future__ import annotations

import argparse
import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from ...errors import NormalignError

SHARES = frozenset(("dropout", "attention_dropout", "activation_dropout", "relu_dropout", "adaptive_softmax_dropout"))
"""Numbers that the modules of a model keep, and compare only when they run."""

EVALUATED_ARGUMENTS = (
    "adaptive_softmax_cutoff",
    "adaptive_input_cutoff",
    "adam_betas",
    "adamax_betas",
    "adafactor_eps",
    "lamb_betas",
    "character_filters",
    "convolutions",
    "encoder_convolutions",
    "decoder_convolutions",
    "encoder_attention",
    "decoder_attention",
    "encoder_layers",
    "decoder_layers",
    "encoder_kernel_size_list",
    "decoder_kernel_size_list",
    "conv_feature_layers",
    "pretrained",
    "wer_args",
    "lr",
    "update_freq",
)
"""Arguments that some part of fairseq evaluates: named, so that a refusal can say which one it was."""


# -- sizes ------------------------------------------------------------------------------------------------------------

FEWEST_LAYERS, FEWEST_POSITIONS = 100, 100_000
"""Layers and positions that any checkpoint may ask for; fairseq's own tables of positions go so far."""
LARGEST_VIEW = 1_000_000


WIDTHS = ("embed_dim", "ffn_embed_dim", "input_dim", "output_dim", "attention_heads")


def check_sizes(state: dict[str, Any], name: str) -> None:
    """Refuse a checkpoint that asks for a model larger than what it holds: a small file must not fill the memory."""
    model = state.get("model")
    tensors = {key: value for key, value in model.items() if torch.is_tensor(value)} if isinstance(model, dict) else {}
    for key, tensor in tensors.items():
        if not isinstance(key, str) or tensor.layout != torch.strided or tensor.is_meta:
            raise NormalignError(f"{name}: refused: its parameter {str(key)[:60]} is not a plain tensor with a name")
        if tensor.numel() > LARGEST_VIEW and tensor.nbytes > tensor.untyped_storage().nbytes():
            raise NormalignError(f"{name}: refused: its parameter {key} is larger than its data")
    widest = max((size for tensor in tensors.values() for size in tensor.shape), default=0)
    found = {side: _layer_count(tensors, side) for side in ("encoder", "decoder")}
    for key, value in _arguments(state.get("args"), state.get("cfg")):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        what = key.removeprefix("encoder_").removeprefix("decoder_")  # newer configurations have a group for each side
        if key in ("max_source_positions", "max_target_positions"):
            least, allowed = 1, max(FEWEST_POSITIONS, widest)
        elif what == "layers":
            least, allowed = 0, max(FEWEST_LAYERS, found.get(key.partition("_")[0], max(found.values())))
        elif what in WIDTHS:
            least, allowed = 1, widest
        else:
            continue
        if value < least:
            raise NormalignError(f"{name}: refused: it asks for {key} {value}, and {least} is the least")
        if tensors and not value <= allowed:
            raise NormalignError(f"{name}: refused: it asks for {key} {value}, its parameters have room for {allowed}")


def _layer_count(tensors: Iterable[object], side: str) -> int:
    numbers = (re.match(rf"{side}\.(?:sentence_encoder\.)?layers\.(\d{{1,6}})\.", key) for key in map(str, tensors))
    return max((int(found[1]) + 1 for found in numbers if found), default=0)


# -- arguments that fairseq evaluates ---------------------------------------------------------------------------------


def check_references(state: object, name: str) -> None:
    """Refuse arguments that omegaconf would compute, as ``${oc.env:HOME}``: they can read what is not in the file.

    A reference to another argument, as ``${optimization.lr}``, is what fairseq itself writes, and harmless.
    """
    for text in _strings(state.get("args"), state.get("cfg")) if isinstance(state, dict) else ():
        if ":" in text.partition("${")[2]:
            raise NormalignError(f"{name}: refused: its argument {_shown(text)} asks for something outside of the file")


def _strings(*values: object) -> Iterator[str]:
    """Every text in nested namespaces, mappings and lists, as it is written: no reference is followed."""
    from omegaconf import OmegaConf

    for value in values:
        if OmegaConf.is_config(value):
            value = OmegaConf.to_container(value, resolve=False)
        if isinstance(value, argparse.Namespace):
            value = vars(value)
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from _strings(*value, *value.values())
        elif isinstance(value, list | tuple):
            yield from _strings(*value)


def check_arguments(state: object, name: str) -> None:
    """Refuse a checkpoint whose arguments hold code where fairseq would evaluate it, or text where it would compute."""
    if not isinstance(state, dict):
        raise NormalignError(f"{name}: not a fairseq checkpoint (a {type(state).__name__} instead of a dictionary)")
    for key, value in _arguments(state.get("args"), state.get("cfg")):
        if key in SHARES and isinstance(value, str):
            raise NormalignError(f"{name}: its argument {key} is not a number but {_shown(value)}")
        if key in EVALUATED_ARGUMENTS and isinstance(value, str):
            try:
                literal(value)
            except NormalignError:
                raise NormalignError(
                    f"{name}: refused: its argument {key} is not a literal but {_shown(value)}"
                ) from None


def _arguments(*containers: Any) -> Iterator[tuple[str, object]]:
    """Every (name, value) in nested namespaces and mappings."""
    for container in containers:
        if isinstance(container, argparse.Namespace):
            container = vars(container)
        if hasattr(container, "items"):
            for key in container:  # omegaconf 2.0's items() cannot hold a Namespace
                value = container[key]
                yield str(key), value
                yield from _arguments(value)


def literal(text: str) -> Any:
    """What ``eval`` is used for in fairseq, without evaluating: literals, and sums and repeats of them.

    ``"(0.9, 0.98)"``, ``"[0.25] * 3"`` and ``"[(512, 3)] * 19 + [(2048, 1)]"`` are all there is.
    """
    if not isinstance(text, str):  # fairseq counts on this: its eval_bool(True) ends in a TypeError
        raise TypeError("a string is needed")
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError, OverflowError):
        raise NormalignError(
            f"{_shown(text)} is not a literal; numbers, strings, lists and tuples are allowed"
        ) from None


OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
LARGEST_REPEAT = 10_000


def _value(node: ast.expr) -> Any:
    if isinstance(node, (ast.List, ast.Tuple)):
        values = [_value(element) for element in node.elts]
        return values if isinstance(node, ast.List) else tuple(values)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = _value(node.left), _value(node.right)
        parts = next((side for side in (left, right) if isinstance(side, (list, tuple, str))), None)
        if parts is not None and isinstance(node.op, ast.Mult):
            count = next((side for side in (left, right) if isinstance(side, int)), 0)
            if count * max(1, len(parts)) > LARGEST_REPEAT:  # repeats of repeats, too
                raise ValueError("too large")
        return OPERATORS[type(node.op)](left, right)
    return ast.literal_eval(node)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")

"""Checkpoints are pickles from strangers: load them so that nothing in them can run.

Two doors are closed. Unpickling goes through torch's ``weights_only`` loader with an allow-list of exactly the harmless
types that fairseq stores. And fairseq calls ``eval`` on strings, some of which come from a checkpoint's arguments: in
every fairseq module that name is replaced by a parser of literals.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import enum
import operator
import pickle
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fairseq.dataclass import constants
from fairseq.logging import meters
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_REGISTRY
from omegaconf import OmegaConf, base, dictconfig, listconfig, nodes

from ...errors import NormalignError, reason_of
from ..loading import faults_of

# -- unpickling -------------------------------------------------------------------------------------------------------


def allow_list() -> list[Any]:
    """Return the harmless types of fairseq's checkpoints, for ``torch.serialization.safe_globals``."""

    def types_in(module: Any, kind: type = object) -> list[Any]:
        return [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, kind)]

    # a training run with --eval-bleu stores numpy scalars; numpy 1 wrote them under other module names
    made_by: list[Any] = [np.array([0]).__reduce__()[0], np.float64(0).__reduce__()[0]]
    functions = [
        (one, f"{name}.multiarray.{one.__name__}") for one in made_by for name in ("numpy.core", "numpy._core")
    ]
    numpy = [*functions, np.ndarray, np.dtype, *{type(np.dtype(code)) for code in "?bBhHiIlLqQefdgFD"}]

    # runs started by Hydra keep omegaconf containers: plain holders of values and their metadata
    holders = [getattr(base, name) for name in ("ContainerMetadata", "Metadata") if hasattr(base, name)]
    plain = [node for node in types_in(nodes) if node.__module__ == nodes.__name__]
    containers = [dictconfig.DictConfig, listconfig.ListConfig, defaultdict, Any, dict, list, int]

    # checkpoints of 2018 hold the training meters as objects
    measuring = [*types_in(meters, meters.Meter), meters.MetersDict]
    old = [(one, f"fairseq.meters.{one.__name__}") for one in measuring]
    return [
        argparse.Namespace,
        *numpy,
        *(*holders, *plain, *containers, *types_in(constants, enum.Enum)),
        *(*measuring, *old),
    ]


def safe_load(file: Any, map_location: Any = "cpu", *, mmap: bool = False, **ignored: object) -> Any:
    """``torch.load`` that runs nothing: what the allow-list does not name is refused, in one line, by name.

    ``mmap``: read the tensors of a file only when they are used.
    """
    is_path = isinstance(file, (str, Path))
    name = str(file if is_path else getattr(file, "name", "checkpoint"))
    try:
        handle = open(file, "rb") if is_path else contextlib.nullcontext(file)
    except OSError as error:
        raise NormalignError(f"{name}: {reason_of(error)}") from None
    with handle as opened, torch.serialization.safe_globals(allow_list()), faults_of(f"{name}: not a whole checkpoint"):
        mapped = mmap and zipfile.is_zipfile(name)  # checkpoints of before 2020 are none
        check_archive(opened, name)
        try:
            state = torch.load(name if mapped else opened, map_location=map_location, weights_only=True, mmap=mapped)
        except (pickle.UnpicklingError, AttributeError) as error:
            refused = REFUSED.search(str(error))
            if refused is None:  # torch goes on with advice
                raise ValueError(str(error).partition(". This file can still be loaded")[0]) from None
            what = (refused[1] or refused[2]).strip()
            raise NormalignError(
                f"{name}: refused: the checkpoint holds the object '{what}', which no fairseq checkpoint needs"
            ) from None
    if not isinstance(state, dict):
        raise NormalignError(f"{name}: not a fairseq checkpoint (a {type(state).__name__} instead of a dictionary)")
    with faults_of(f"{name}: its arguments cannot be read"):
        check_arguments(state, name)
    return without_fused_projections(state)


REFUSED = re.compile(
    r"(?:Unsupported global: GLOBAL|Unsupported class|GLOBAL) ([\w.]+)"
    r"|Trying to (?:load unsupported GLOBAL|call reduce for unrecognized function|instantiate[^<]*) ?<?([\w.' ]+)"
)
"""How torch names an object that is not allowed."""


def check_archive(handle: Any, name: str) -> None:
    """Refuse what ``torch.load`` would take: a damaged archive (it reads past wrong check sums), and a packed one.

    ``torch.save`` packs nothing, so that a checkpoint needs about as much memory as its file has bytes.
    """
    if zipfile.is_zipfile(handle):
        with zipfile.ZipFile(handle) as archive:
            for member in archive.infolist():
                if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
                    raise NormalignError(f"{name}: refused: its part {member.filename} is packed; torch packs nothing")
                if member.CRC:  # torch can be told to leave check sums out
                    with archive.open(member) as part:
                        while part.read(1 << 22):
                            pass
    handle.seek(0)


FUSED = {f"{part}_{kind}" for part in ("in_proj", "out_proj", "fc1", "fc2") for kind in ("weight", "bias")}
"""What 0.12.2's encoder layers hold a second time, for torch's fused layer."""


def without_fused_projections(state: dict[str, Any]) -> dict[str, Any]:
    """Drop the copies of an encoder layer's parameters that 0.12.2 stores (and rebuilds) and others refuse."""
    model = state.get("model")
    if isinstance(model, dict):
        for key in list(model):
            layer, _, name = key.rpartition(".")
            if name in FUSED and f"{layer}.self_attn.q_proj.weight" in model:
                del model[key]
    return state


# -- what fairseq would run or refuse ----------------------------------------------------------------------------------


def without_unknown_parts(state: Any) -> Any:
    """Return an old checkpoint without the parts that only training needs, such as a criterion, whose code is unknown.

    An unknown task or architecture is an error of one line.
    """
    args = state.get("args")
    if not isinstance(args, argparse.Namespace):
        return state
    check_names(args)
    known = {
        name: value
        for name, value in vars(args).items()
        if name not in REGISTRIES or value is None or value in REGISTRIES[name]["registry"]
    }
    return {**state, "args": argparse.Namespace(**known)}


def check_names(arguments: Any, *, is_task_given: bool = False) -> None:
    """Raise a ValueError for a task or architecture of somebody's own code that is not loaded.

    ``is_task_given``: another task has been chosen than the one that is saved.
    """
    task = getattr(arguments, "task", None)
    is_saved = isinstance(arguments, argparse.Namespace) and task is not None and not is_task_given
    if is_saved and task not in TASK_REGISTRY:
        raise ValueError(f"its task '{task}' is not known here; load the user-dir that it belongs to")
    names = [getattr(arguments, name, None) for name in ("_name", "arch")]
    found = [name for name in names if isinstance(name, str)]
    if found and not any(name in ARCH_MODEL_REGISTRY or name in MODEL_REGISTRY for name in found):
        raise ValueError(f"its architecture '{found[-1]}' is not known here; load the user-dir that it belongs to")


SHARES = frozenset(("dropout", "attention_dropout", "activation_dropout", "relu_dropout", "adaptive_softmax_dropout"))
"""Numbers that the modules of a model keep, and compare only when they run."""
EVALUATED = frozenset(
    "adaptive_softmax_cutoff adaptive_input_cutoff adam_betas adamax_betas adafactor_eps lamb_betas character_filters "
    "convolutions encoder_convolutions decoder_convolutions encoder_attention decoder_attention encoder_layers "
    "decoder_layers encoder_kernel_size_list decoder_kernel_size_list conv_feature_layers pretrained wer_args lr "
    "update_freq".split()
)
"""Arguments that some part of fairseq evaluates: named, so that a refusal can say which one it was."""
FEWEST_LAYERS, FEWEST_POSITIONS = 100, 100_000
"""Layers and positions that any checkpoint may ask for; fairseq's own tables of positions go so far."""
LARGEST_VIEW = 1_000_000
WIDTHS = ("embed_dim", "ffn_embed_dim", "input_dim", "output_dim", "attention_heads")


def check_arguments(state: dict[str, Any], name: str) -> None:
    """Refuse arguments that would look up or run something, and those that ask for more than the checkpoint holds.

    omegaconf computes ``${oc.env:HOME}``, which can read what is not in the file; a reference to another argument, as
    ``${optimization.lr}``, is what fairseq itself writes. fairseq evaluates some texts as code. And a small file must
    not fill the memory.
    """
    model = state.get("model")
    tensors = {key: value for key, value in model.items() if torch.is_tensor(value)} if isinstance(model, dict) else {}
    layers = {"encoder": 0, "decoder": 0}
    for key, tensor in tensors.items():
        if not isinstance(key, str) or tensor.layout != torch.strided or tensor.is_meta:
            raise NormalignError(f"{name}: refused: its parameter {str(key)[:60]} is not a plain tensor with a name")
        if tensor.numel() > LARGEST_VIEW and tensor.nbytes > tensor.untyped_storage().nbytes():
            raise NormalignError(f"{name}: refused: its parameter {key} is larger than its data")
        layer = re.match(r"(encoder|decoder)\.(?:sentence_encoder\.)?layers\.(\d{1,6})\.", key)
        if layer:
            layers[layer[1]] = max(layers[layer[1]], int(layer[2]) + 1)
    widest = max((size for tensor in tensors.values() for size in tensor.shape), default=0)

    saved = state.get("args"), state.get("cfg")
    for _, value in _values(*saved, resolve=False):
        if isinstance(value, str) and ":" in value.partition("${")[2]:
            raise NormalignError(
                f"{name}: refused: its argument {_shown(value)} asks for something outside of the file"
            )
    for key, value in _values(*saved, resolve=True):
        if isinstance(value, str):
            if key in SHARES:
                raise NormalignError(f"{name}: its argument {key} is not a number but {_shown(value)}")
            if key in EVALUATED:
                try:
                    literal(value)
                except NormalignError:
                    raise NormalignError(
                        f"{name}: refused: its argument {key} is not a literal but {_shown(value)}"
                    ) from None
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        what = key.removeprefix("encoder_").removeprefix("decoder_")  # newer configurations have a group for each side
        if key in ("max_source_positions", "max_target_positions"):
            least, most = 1, max(FEWEST_POSITIONS, widest)
        elif what == "layers":
            least, most = 0, max(FEWEST_LAYERS, layers.get(key.partition("_")[0], max(layers.values())))
        elif what in WIDTHS:
            least, most = 1, widest
        else:
            continue
        if value < least:
            raise NormalignError(f"{name}: refused: it asks for {key} {value}, and {least} is the least")
        if tensors and not value <= most:
            raise NormalignError(f"{name}: refused: it asks for {key} {value}, its parameters have room for {most}")


def _values(*containers: Any, resolve: bool, key: str = "") -> Iterator[tuple[str, object]]:
    """Every (name, value) in nested namespaces, mappings and lists; ``resolve``: references are followed."""
    for value in containers:
        if OmegaConf.is_config(value):
            value = OmegaConf.to_container(value, resolve=resolve)
        if isinstance(value, argparse.Namespace):
            value = vars(value)
        if isinstance(value, dict):
            for name, inner in value.items():
                yield "", name
                yield from _values(inner, resolve=resolve, key=str(name))
        elif isinstance(value, list | tuple):
            yield from _values(*value, resolve=resolve, key=key)
        else:
            yield key, value


# -- arguments that fairseq evaluates ---------------------------------------------------------------------------------


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

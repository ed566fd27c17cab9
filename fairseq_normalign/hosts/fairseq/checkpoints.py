"""Checkpoints are pickles from strangers: load them so that nothing in them can run.

Two doors are closed. Unpickling goes through torch's ``weights_only`` loader with an allow-list of exactly the harmless
types that fairseq stores. And fairseq calls ``eval`` on strings, some of which come from a checkpoint's arguments: in
every fairseq module that name is replaced by a parser of literals.
"""

from __future__ import annotations

import argparse
import ast
import binascii
import contextlib
import enum
import importlib
import io
import operator
import pickle
import re
import struct
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf.errors import OmegaConfBaseException

from ...errors import NormalignError, reason_of

# -- unpickling -------------------------------------------------------------------------------------------------------


def allow_list() -> list[Any]:
    """The harmless types of fairseq's checkpoints, for ``torch.serialization.add_safe_globals``."""
    return [argparse.Namespace, *_numpy_types(), *_config_types(), *_meter_types()]


def _numpy_types() -> list[Any]:
    """A training run with ``--eval-bleu`` stores numpy scalars; numpy 1 wrote them under other module names."""
    package = "numpy._core" if hasattr(np, "_core") else "numpy.core"
    multiarray = importlib.import_module(f"{package}.multiarray")
    functions = [multiarray._reconstruct, multiarray.scalar]
    renamed: list[Any] = [
        (function, f"{package}.multiarray.{function.__name__}")
        for function in functions
        for package in ("numpy.core", "numpy._core")
    ]
    dtypes = {type(np.dtype(code)) for code in "?bBhHiIlLqQefdgFD"}
    return [*functions, *renamed, np.ndarray, np.dtype, *dtypes]


def _config_types() -> list[Any]:
    """Runs started by Hydra keep omegaconf containers: plain holders of values and their metadata."""
    from omegaconf import base, dictconfig, listconfig, nodes

    names = ["ContainerMetadata", "Metadata"]
    holders = [getattr(base, name) for name in names if hasattr(base, name)]
    plain = [node for node in vars(nodes).values() if isinstance(node, type) and node.__module__ == nodes.__name__]
    containers = [dictconfig.DictConfig, listconfig.ListConfig, defaultdict, Any, dict, list, int]
    return [*holders, *plain, *containers, *_fairseq_enums()]


def _fairseq_enums() -> list[Any]:
    from fairseq.dataclass import constants

    named = vars(constants).values()
    return [value for value in named if isinstance(value, type) and issubclass(value, enum.Enum)]


def _meter_types() -> list[Any]:
    """Checkpoints of 2018 hold the training meters as objects."""
    from fairseq.logging import meters

    names = ["AverageMeter", "SumMeter", "TimeMeter", "StopwatchMeter", "MetersDict", "Meter"]
    classes = [getattr(meters, name) for name in names if hasattr(meters, name)]
    return [*classes, *((cls, f"fairseq.meters.{cls.__name__}") for cls in classes)]


def safe_load(file: Any, map_location: Any = "cpu", *, mmap: bool = False, **ignored: object) -> Any:
    """``torch.load`` that runs nothing: what the allow-list does not name is refused, in one line, by name.

    ``mmap``: read the tensors of a file only when they are used.
    """
    name = _name_of(file)
    with _open(file) as handle, torch.serialization.safe_globals(allow_list()):
        mapped = mmap and zipfile.is_zipfile(name)  # checkpoints of before 2020 are none
        try:
            check_archive(handle, name)
            state = torch.load(name if mapped else handle, map_location=map_location, weights_only=True, mmap=mapped)
        except (pickle.UnpicklingError, AttributeError) as error:
            raise NormalignError(f"{name}: {_refusal(error)}") from None
        except BROKEN as error:
            raise NormalignError(f"{name}: not a whole checkpoint ({_first_line(error)})") from None
    try:
        check_references(state, name)
        check_arguments(state, name)
        check_sizes(state, name)
    except (RecursionError, OmegaConfBaseException) as error:
        raise NormalignError(f"{name}: its arguments cannot be read ({_first_line(error)})") from None
    return without_fused_projections(state)


BROKEN = (
    *(EOFError, RuntimeError, OSError, ValueError, KeyError, IndexError, TypeError, AssertionError, OverflowError),
    *(MemoryError, NotImplementedError, struct.error, zlib.error, zipfile.BadZipFile, binascii.Error),
)
"""What unpickling a damaged file ends in."""


def check_archive(handle: Any, name: str) -> None:
    """Refuse what ``torch.load`` would take: a damaged archive (it reads past wrong check sums), and a packed one.

    ``torch.save`` packs nothing, so that a checkpoint needs about as much memory as its file has bytes.
    """
    if not zipfile.is_zipfile(handle):
        handle.seek(0)
        return
    with zipfile.ZipFile(handle) as archive:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
                raise NormalignError(f"{name}: refused: its part {member.filename} is packed; torch packs nothing")
            if member.CRC == 0:  # torch can be told to leave check sums out
                continue
            with archive.open(member) as part:
                while part.read(1 << 22):
                    pass
    handle.seek(0)


def _name_of(file: object) -> str:
    return str(file if isinstance(file, (str, Path)) else getattr(file, "name", "checkpoint"))


@contextlib.contextmanager
def _open(file: Any) -> Iterator[Any]:
    if not isinstance(file, (str, Path)):
        yield file
        return
    try:
        handle: io.BufferedReader = open(file, "rb")
    except OSError as error:
        raise NormalignError(f"{file}: {reason_of(error)}") from None
    with handle:
        yield handle


def _refusal(error: Exception) -> str:
    """One line out of torch's long explanation: the object that was not allowed, or that the file is broken."""
    text = str(error)
    found = re.search(r"(?:Unsupported global: GLOBAL|Unsupported class|GLOBAL) ([\w.]+)", text) or re.search(
        r"Trying to (?:load unsupported GLOBAL|call reduce for unrecognized function|instantiate[^<]*) ?<?([\w.' ]+)",
        text,
    )
    if found:
        return f"refused: the checkpoint holds the object '{found.group(1).strip()}', which no fairseq checkpoint needs"
    return f"not a whole checkpoint ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    detail = text[0].split(". This file can still be loaded")[0] if text else type(error).__name__
    return detail[:160]


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
    from fairseq.registry import REGISTRIES

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
    from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

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

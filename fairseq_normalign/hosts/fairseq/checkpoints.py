"""Checkpoints are pickles from strangers: load them so that nothing in them can run.

Two doors are closed. Unpickling goes through torch's ``weights_only`` loader with an allow-list of exactly the harmless
types that fairseq stores. And fairseq calls ``eval`` on strings, some of which come from a checkpoint's arguments: in
every fairseq module that name is replaced by a parser of literals.
"""

from __future__ import annotations

import argparse
import binascii
import contextlib
import enum
import importlib
import io
import pickle
import re
import struct
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf.errors import OmegaConfBaseException

from ...errors import NormalignError, reason_of
from .checkpoint_arguments import check_arguments, check_references, check_sizes

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

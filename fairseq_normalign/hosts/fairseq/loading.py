"""Checkpoints with their dictionaries, made into models that can be read."""

from __future__ import annotations

import contextlib
import glob
import io
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from omegaconf.errors import OmegaConfBaseException
from torch import nn

from ...analysis.attention_batch import Inventory
from ...errors import NormalignError
from ...files import read_lines
from ...text.vocabulary import TAGS
from .checkpoints import check_names
from .patches import register

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class LoadedModels:
    """One model or an ensemble, ready for forced decoding, with the task that holds its dictionaries."""

    models: list[nn.Module]
    task: Any


def load_models(
    path: str | Path,
    *,
    data: str | Path | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    options: Mapping[str, object] | None = None,
) -> LoadedModels:
    """Load the checkpoint(s) ``a.pt:b.pt`` with the dictionaries in ``data``, or else beside the first checkpoint.

    The task is the one that is saved in the first of them, with its languages and tags; a multilingual model needs
    ``source_lang`` and ``target_lang``. ``options`` replace what is saved, under fairseq's names: ``fixed_dictionary``
    and ``lang_dict`` (files), ``lang_pairs``.
    """
    register()
    from .saved_task import rebuild_task

    paths = [find_checkpoint(Path(part)) for part in str(path).split(":")]
    with silence_fairseq():
        states = [_state(part) for part in paths]
        directory = Path(data) if data is not None else paths[0].parent
        with checkpoint_errors(paths[0]):
            saved = _arguments(states[0], paths[0], "task")
            task = rebuild_task(saved, paths[0], directory, (source_lang, target_lang), options or {})
        models = [_model(state, part, task) for state, part in zip(states, paths, strict=True)]
    return LoadedModels(models, task)


def find_checkpoint(path: Path) -> Path:
    """The checkpoint at ``path``, or the one file of it that sharded training wrote (``-shard0.pt``)."""
    if path.is_file():
        return path
    parts = sorted(path.parent.glob(f"{glob.escape(path.stem)}-shard*.pt")) if path.suffix == ".pt" else []
    parts += sorted(path.parent.glob(f"{glob.escape(path.stem)}_part*.pt")) if path.suffix == ".pt" else []
    if len(parts) == 1:
        return parts[0]
    if parts:
        raise NormalignError(
            f"{path}: is in {len(parts)} parts ({parts[0].name} and so on); join them into one file first"
        )
    raise NormalignError(f"{path}: no such checkpoint")


def _state(path: Path) -> dict[str, Any]:
    from fairseq import checkpoint_utils

    with checkpoint_errors(path):
        return checkpoint_utils.load_checkpoint_to_cpu(str(path))


HOST_ERRORS = (
    *(TypeError, ValueError, LookupError, AttributeError, AssertionError, RuntimeError, ArithmeticError, OSError),
    *(NameError, ImportError, MemoryError, OmegaConfBaseException),
)
"""What fairseq ends in when the arguments or parameters of a checkpoint make no sense."""


@contextlib.contextmanager
def checkpoint_errors(path: str | Path) -> Iterator[None]:
    """While a model is made out of a checkpoint: what goes wrong is the checkpoint's fault, and said in one line."""
    try:
        yield
    except HOST_ERRORS as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise NormalignError(f"{path}: cannot be made into a model: {reason}") from None


@contextlib.contextmanager
def silence_fairseq() -> Iterator[None]:
    """Keep the host's warnings and notes from our users' screens."""
    previous = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(previous)


def _arguments(state: dict[str, Any], path: Path, group: str) -> Any:
    """The saved arguments of the group 'task' or 'model', old Namespace or new configuration."""
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    if state.get("args") is not None:
        check_names(state["args"])
        return convert_namespace_to_omegaconf(state["args"])[group]
    if state.get("cfg") is not None:
        if group == "model":
            check_names(state["cfg"][group])
        return state["cfg"][group]
    raise NormalignError(f"{path}: not a fairseq checkpoint (it has neither 'args' nor 'cfg')")


def _model(state: dict[str, Any], path: Path, task: Any) -> nn.Module:
    with checkpoint_errors(path):
        arguments = _arguments(state, path, "model")
        parameters = state["model"]
        model = task.build_model(arguments, from_checkpoint=True)
    try:
        model.load_state_dict(parameters, strict=True, model_cfg=arguments)
    except HOST_ERRORS as error:
        reason = " ".join(str(error).split())[:200]
        raise NormalignError(f"{path}: its parameters do not fit its architecture: {reason}") from None
    model.eval()
    return task.one_direction(model)


OVERWRITE = "#fairseq:overwrite"


_ENTRY = re.compile(rf"(?P<symbol>.+) (?P<count>[0-9]{{1,18}})(?P<overwrite> {OVERWRITE})?")


def load_dictionary(path: str | Path) -> Any:
    """Return the dictionary at ``path``, a file with one line ``symbol count`` per entry.

    Lines end at ``\\n`` alone; a byte-order mark and Windows line ends are no part of a symbol.
    """
    from fairseq.data import Dictionary

    dictionary = Dictionary()
    seen = set(dictionary.symbols)
    lines = []
    for number, line in enumerate(read_lines(path), start=1):
        entry = _ENTRY.fullmatch(line.rstrip(" "))
        if entry is None or "\r" in line:
            raise NormalignError.at(path, number, f"'{line[:60]}' is not a symbol and its count")
        if entry["symbol"] in seen and not entry["overwrite"]:
            raise NormalignError.at(path, number, f"the symbol '{entry['symbol'][:60]}' is there twice")
        seen.add(entry["symbol"])
        lines.append(f"{line.rstrip(' ')}\n")
    dictionary.add_from_file(io.StringIO("".join(lines), newline="\n"))
    return dictionary


def dictionary_inventory(dictionary: Any, tags: str = TAGS) -> Inventory:
    """The pieces of a fairseq dictionary; language tags and ``<mask>`` are special, unknown words are not."""
    symbols = list(dictionary.symbols)
    special = {dictionary.bos(), dictionary.eos(), dictionary.pad()}
    is_tag = re.compile(rf"{tags}|<mask>").fullmatch
    special |= {number for number, symbol in enumerate(symbols) if is_tag(symbol)}
    return Inventory(symbols, frozenset(special), np.array(dictionary.count))

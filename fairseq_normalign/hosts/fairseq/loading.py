"""Checkpoints with their dictionaries, made into models that can be read, and into the task they were trained with."""

from __future__ import annotations

import contextlib
import glob
import io
import re
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fairseq.checkpoint_utils import load_checkpoint_to_cpu
from fairseq.data import Dictionary
from fairseq.data.data_utils import infer_language_pair
from fairseq.dataclass.utils import (
    _set_legacy_defaults,
    convert_namespace_to_omegaconf,
    omegaconf_no_object_check,
)
from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY
from fairseq.tasks.translation import TranslationTask
from omegaconf import OmegaConf, open_dict
from torch import nn

from ...analysis.attention_batch import Inventory
from ...errors import NormalignError
from ...files import read_lines
from ...text.vocabulary import TAGS
from ..loading import faults_of, silenced
from .checkpoints import check_names
from .patches import register


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
    paths = [find_checkpoint(Path(part)) for part in str(path).split(":")]
    models, task = [], None
    with silenced():
        for part in paths:
            with faults_of(f"{part}: cannot be made into a model"):
                state = load_checkpoint_to_cpu(str(part))
                if task is None:
                    saved = saved_arguments(state, part, "task")
                    directory = Path(data) if data is not None else part.parent
                    task = rebuild_task(saved, part, directory, (source_lang, target_lang), options or {})
                arguments = saved_arguments(state, part, "model")
                parameters = state["model"]
                model = task.build_model(arguments, from_checkpoint=True)
            with faults_of(f"{part}: its parameters do not fit its architecture"):
                model.load_state_dict(parameters, strict=True, model_cfg=arguments)
            models.append(task.one_direction(model.eval()))
    return LoadedModels(models, task)


def find_checkpoint(path: Path) -> Path:
    """Return the checkpoint at ``path``, or the one file of it that sharded training wrote (``-shard0.pt``)."""
    if path.is_file():
        return path
    name = glob.escape(path.stem)
    parts = [file for end in ("-shard*.pt", "_part*.pt") for file in sorted(path.parent.glob(f"{name}{end}"))]
    if path.suffix != ".pt" or not parts:
        raise NormalignError(f"{path}: no such checkpoint")
    if len(parts) > 1:
        raise NormalignError(
            f"{path}: is in {len(parts)} parts ({parts[0].name} and so on); join them into one file first"
        )
    return parts[0]


def saved_arguments(state: dict[str, Any], path: str | Path, group: str) -> Any:
    """Return the saved arguments of the group 'task' or 'model', from an old Namespace or a new configuration."""
    if state.get("args") is not None:
        check_names(state["args"])
        return convert_namespace_to_omegaconf(state["args"])[group]
    if state.get("cfg") is None:
        raise NormalignError(f"{path}: not a fairseq checkpoint (it has neither 'args' nor 'cfg')")
    if group == "model":
        check_names(state["cfg"][group])
    return state["cfg"][group]


# -- the task ---------------------------------------------------------------------------------------------------------

FILES = ("fixed_dictionary", "source_dict", "target_dict", "lang_dict")
"""Options that name files of the place where the model was trained."""
LANGUAGES = ("langs", "lang_dict", "lang_pairs")
"""Options that say which languages there are; what is given by hand replaces all that is saved."""


def rebuild_task(
    saved: Any,
    path: Path,
    directory: Path,
    languages: tuple[str | None, str | None],
    options: Mapping[str, object],
) -> Any:
    """Return the task of the checkpoint at ``path``, with the dictionaries in ``directory``, for one direction.

    ``saved``: its options in the checkpoint; ``options`` replace them, as for :func:`load_models`. A task that is no
    translation task (BART's denoising, say) is read as ``translation``.
    """
    from .task import SUFFIX, host_class, host_of

    names = [name for name in (getattr(saved, one, None) for one in ("task", "_name")) if isinstance(name, str)]
    name = (names or ["translation"])[0].removesuffix(SUFFIX)
    if name not in TASK_REGISTRY:
        raise NormalignError(f"{path}: its task '{name}' is not known here; load the user-dir that it belongs to")
    stock = TASK_REGISTRY[name] if host_of(TASK_REGISTRY[name]) else TranslationTask

    settings = _with_defaults(saved, stock)
    given = {name: value for name, value in options.items() if value is not None}
    if any(name in given for name in LANGUAGES):
        given = {"langs": None, "lang_dict": None, **given}
    pairs = given.get("lang_pairs")
    if isinstance(pairs, str):
        text = Path(pairs).read_text(encoding="utf-8") if Path(pairs).is_file() else pairs
        given["lang_pairs"] = [pair for pair in text.replace("\n", ",").split(",") if pair.strip()]
    with open_dict(settings) if OmegaConf.is_config(settings) else contextlib.nullcontext():
        for name, value in {"post_process": None, "eval_bleu": False, **given, "data": str(directory)}.items():
            setattr(settings, name, value)
        for option in FILES:
            value = getattr(settings, option, None)
            if not value or Path(value).is_file():
                continue
            moved = directory / Path(value).name
            if not moved.is_file():
                raise NormalignError(
                    f"{path}: was trained with the {option.replace('_', ' ')} {moved.name}; "
                    f"there is no such file in {directory}"
                )
            setattr(settings, option, str(moved))
        settings.source_lang, settings.target_lang = _direction(host_of(stock), settings, path, directory, languages)

    for language, own in ((settings.source_lang, "source_dict"), (settings.target_lang, "target_dict")):
        file = directory / f"dict.{language}.txt"
        if getattr(settings, "fixed_dictionary", None) or getattr(settings, own, None):
            continue
        if file.name != f"dict.{language}.txt":
            raise NormalignError(f"{path}: '{language}' is no name of a language")
        if not file.is_file():
            raise NormalignError(
                f"{file}: no such dictionary; give the directory that fairseq-preprocess wrote", option="data"
            )
    return host_class(stock).setup_task(settings)  # type: ignore[attr-defined]


def _with_defaults(saved: Any, stock: type) -> Any:
    """Return the saved options of the task with today's defaults: a configuration, or a Namespace for older tasks."""
    values = saved if isinstance(saved, Mapping) else vars(saved) if isinstance(saved, Namespace) else dict(saved or {})
    configured = [config for name, config in TASK_DATACLASS_REGISTRY.items() if TASK_REGISTRY.get(name) is stock]
    if not configured:
        settings = Namespace(**values)
        _set_legacy_defaults(settings, stock)
        for name, default in (("seed", 1), ("dataset_impl", None)):
            setattr(settings, name, getattr(settings, name, default))
        return settings
    names = configured[0].__dataclass_fields__
    given = {name: values[name] for name in names if values.get(name) is not None}
    with omegaconf_no_object_check():  # omegaconf 2.0 has no other way to hold objects
        return OmegaConf.create({**vars(configured[0]()), **given})


def _direction(
    host: Any, settings: Any, path: Path, directory: Path, languages: tuple[str | None, str | None]
) -> tuple[str, str]:
    """Return the languages asked for, if the model has them; without asking, those it was trained with."""
    if not host.is_multilingual:
        source, target = languages[0] or settings.source_lang, languages[1] or settings.target_lang
        if source and target and source != target and (source, target) == (settings.target_lang, settings.source_lang):
            raise NormalignError(f"{path}: translates {target}-{source}, not {source}-{target}")
        if not source or not target:
            source, target = infer_language_pair(str(directory)) if directory.is_dir() else (None, None)
        if source and target:
            return source, target
        if not any(directory.glob("dict.*.txt")):
            raise NormalignError(
                f"{path}: there are no dictionaries (dict.LANGUAGE.txt) in {directory}; "
                "give the directory that fairseq-preprocess wrote",
                option="data",
            )
        raise NormalignError(
            f"{path}: does not say which languages it translates, nor do the files in {directory}; "
            "give the source and the target language"
        )

    def some(names: list[str], most: int = 12) -> str:
        return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")

    pairs = settings.lang_pairs.split(",") if isinstance(settings.lang_pairs, str) else list(settings.lang_pairs or [])
    source, target = languages
    if source is None or target is None:
        if len(pairs) != 1:
            raise NormalignError(f"{path}: choose source and target language; it was trained on {some(pairs)}")
        source, target = pairs[0].split("-")
    listed = getattr(settings, "langs", None) or []
    if getattr(settings, "lang_dict", None):
        lines = Path(settings.lang_dict).read_text(encoding="utf-8").split("\n")
        listed = [line.strip() for line in lines if line.strip()]
    known = listed.split(",") if isinstance(listed, str) else list(listed)
    known = known or sorted({language for pair in pairs for language in pair.split("-")})
    for language in (source, target):
        if known and language not in known:
            raise NormalignError(f"{path}: has no language '{language}'; it has {some(known)}")
    if not host.serves_every_direction and f"{source}-{target}" not in pairs:
        raise NormalignError(f"{path}: does not translate {source}-{target}; it was trained on {some(pairs)}")
    return source, target


# -- dictionaries -----------------------------------------------------------------------------------------------------

ENTRY = re.compile(r"(?P<symbol>.+) (?P<count>[0-9]{1,18})(?P<overwrite> #fairseq:overwrite)?")


def load_dictionary(path: str | Path) -> Any:
    """Return the dictionary at ``path``, a file with one line ``symbol count`` per entry.

    Lines end at ``\\n`` alone; a byte-order mark and Windows line ends are no part of a symbol.
    """
    dictionary = Dictionary()
    seen = set(dictionary.symbols)
    lines = []
    for number, line in enumerate(read_lines(path), start=1):
        entry = ENTRY.fullmatch(line.rstrip(" "))
        if entry is None or "\r" in line:
            raise NormalignError.at(path, number, f"'{line[:60]}' is not a symbol and its count")
        if entry["symbol"] in seen and not entry["overwrite"]:
            raise NormalignError.at(path, number, f"the symbol '{entry['symbol'][:60]}' is there twice")
        seen.add(entry["symbol"])
        lines.append(f"{line.rstrip(' ')}\n")
    dictionary.add_from_file(io.StringIO("".join(lines), newline="\n"))
    return dictionary


def dictionary_inventory(dictionary: Any, tags: str = TAGS) -> Inventory:
    """Return the pieces of a fairseq dictionary; language tags and ``<mask>`` are special, unknown words are not."""
    symbols = list(dictionary.symbols)
    special = {dictionary.bos(), dictionary.eos(), dictionary.pad()}
    is_tag = re.compile(rf"{tags}|<mask>").fullmatch
    special |= {number for number, symbol in enumerate(symbols) if is_tag(symbol)}
    return Inventory(symbols, frozenset(special), np.array(dictionary.count))

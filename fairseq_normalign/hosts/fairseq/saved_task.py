"""The task that a checkpoint was trained with, rebuilt from what is saved in it: languages, dictionaries, tags."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq.dataclass.utils import _set_legacy_defaults, omegaconf_no_object_check
from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY
from fairseq.tasks.translation import TranslationTask
from omegaconf import OmegaConf, open_dict

from ...errors import NormalignError
from .task import SUFFIX, HostTask, MultilingualHost, MultiSimpleEpochHost, host_class, host_of

FILES = ("fixed_dictionary", "source_dict", "target_dict", "lang_dict")
"""Options that name files of the place where the model was trained."""

LANGUAGES = ("langs", "lang_dict", "lang_pairs")
"""Options that say which languages there are; what is given by hand replaces all that is saved."""


def task_name(saved: Any) -> str:
    """The name of the task in the arguments of a checkpoint, ours by that of the task it extends."""
    named = (getattr(saved, name, None) for name in ("task", "_name"))
    return next((name for name in named if isinstance(name, str)), "translation").removesuffix(SUFFIX)


def task_class(name: str, path: Path) -> type:
    """The task by this name; one that is no translation task (BART's denoising, say) is read as ``translation``."""
    if name not in TASK_REGISTRY:
        raise NormalignError(f"{path}: its task '{name}' is not known here; load the user-dir that it belongs to")
    return TASK_REGISTRY[name] if host_of(TASK_REGISTRY[name]) else TranslationTask


def rebuild_task(
    saved: Any,
    path: Path,
    directory: Path,
    languages: tuple[str | None, str | None],
    options: Mapping[str, object],
) -> Any:
    """The task of the checkpoint at ``path``, with the dictionaries in ``directory``, for one direction.

    ``options`` replace what is saved, under fairseq's names: ``fixed_dictionary``, ``lang_dict``, ``lang_pairs``.
    """
    stock = task_class(task_name(saved), path)
    settings = _settings(saved, stock)
    with open_dict(settings) if OmegaConf.is_config(settings) else _Nothing():
        for name, value in {"post_process": None, "eval_bleu": False, **_given(options)}.items():
            setattr(settings, name, value)
        settings.data = str(directory)
        _find_files(settings, path, directory)
        source, target = _direction(host_of(stock), settings, path, directory, languages)
        settings.source_lang, settings.target_lang = source, target
    _check_dictionaries(settings, path, directory)
    return host_class(stock).setup_task(settings)  # type: ignore[attr-defined]


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


def _settings(saved: Any, stock: type) -> Any:
    """Return the saved options of the task with today's defaults: a configuration, or a Namespace for older tasks."""
    values = saved if isinstance(saved, Mapping) else vars(saved) if isinstance(saved, Namespace) else dict(saved or {})
    dataclass = next(
        (
            TASK_DATACLASS_REGISTRY[name]
            for name, cls in TASK_REGISTRY.items()
            if cls is stock and name in TASK_DATACLASS_REGISTRY
        ),
        None,
    )
    if dataclass is None:
        settings = Namespace(**values)
        _set_legacy_defaults(settings, stock)
        for name, default in (("seed", 1), ("dataset_impl", None)):
            setattr(settings, name, getattr(settings, name, default))
        return settings
    names = dataclass.__dataclass_fields__
    given = {name: values[name] for name in names if values.get(name) is not None}
    with omegaconf_no_object_check():  # omegaconf 2.0 has no other way to hold objects
        return OmegaConf.create({**vars(dataclass()), **given})


def _given(options: Mapping[str, object]) -> dict[str, object]:
    given = {name: value for name, value in options.items() if value is not None}
    if any(name in given for name in LANGUAGES):
        given = {**dict.fromkeys(LANGUAGES[:2]), **given}
    pairs = given.get("lang_pairs")
    if isinstance(pairs, str):
        text = Path(pairs).read_text(encoding="utf-8") if Path(pairs).is_file() else pairs
        given["lang_pairs"] = [pair for pair in text.replace("\n", ",").split(",") if pair.strip()]
    return given


def _find_files(settings: Any, path: Path, directory: Path) -> None:
    """Files that the options name are where they were, or else in the directory, by the same name."""
    for option in FILES:
        value = getattr(settings, option, None)
        if not value or Path(value).is_file():
            continue
        if not (directory / Path(value).name).is_file():
            raise NormalignError(
                f"{path}: was trained with the {option.replace('_', ' ')} {Path(value).name}; "
                f"there is no such file in {directory}"
            )
        setattr(settings, option, str(directory / Path(value).name))


def _direction(
    host: type[HostTask] | None,
    settings: Any,
    path: Path,
    directory: Path,
    languages: tuple[str | None, str | None],
) -> tuple[str, str]:
    if host in (MultiSimpleEpochHost, MultilingualHost):
        return _one_of_many(host, settings, path, languages)
    source, target = languages[0] or settings.source_lang, languages[1] or settings.target_lang
    if source and target and source != target and (source, target) == (settings.target_lang, settings.source_lang):
        raise NormalignError(f"{path}: translates {target}-{source}, not {source}-{target}")
    if not source or not target:
        return _language_pair(directory, path)
    return source, target


def _one_of_many(
    host: type[HostTask] | None, settings: Any, path: Path, languages: tuple[str | None, str | None]
) -> tuple[str, str]:
    """The direction asked for, if the model has it; without asking, the only one that it has."""
    pairs = settings.lang_pairs.split(",") if isinstance(settings.lang_pairs, str) else list(settings.lang_pairs or [])
    source, target = languages
    if source is None or target is None:
        if len(pairs) != 1:
            raise NormalignError(f"{path}: choose source and target language; it was trained on {_some(pairs)}")
        source, target = pairs[0].split("-")
    known = _languages_of(settings, pairs)
    for language in (source, target):
        if known and language not in known:
            raise NormalignError(f"{path}: has no language '{language}'; it has {_some(known)}")
    if host is MultilingualHost and f"{source}-{target}" not in pairs:
        raise NormalignError(f"{path}: does not translate {source}-{target}; it was trained on {_some(pairs)}")
    return source, target


def _languages_of(settings: Any, pairs: list[str]) -> list[str]:
    if getattr(settings, "lang_dict", None):
        return [
            line.strip() for line in Path(settings.lang_dict).read_text(encoding="utf-8").split("\n") if line.strip()
        ]
    listed = getattr(settings, "langs", None)
    listed = listed.split(",") if isinstance(listed, str) else list(listed or [])
    return listed or sorted({language for pair in pairs for language in pair.split("-")})


def _some(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _check_dictionaries(settings: Any, path: Path, directory: Path) -> None:
    if getattr(settings, "fixed_dictionary", None):
        return
    for language, own in ((settings.source_lang, "source_dict"), (settings.target_lang, "target_dict")):
        if getattr(settings, own, None):
            continue
        if Path(f"dict.{language}.txt").name != f"dict.{language}.txt":
            raise NormalignError(f"{path}: '{language}' is no name of a language")
        if not (directory / f"dict.{language}.txt").is_file():
            raise NormalignError(
                f"{directory / f'dict.{language}.txt'}: no such dictionary; "
                "give the directory that fairseq-preprocess wrote",
                option="data",
            )


def _language_pair(directory: Path, path: Path) -> tuple[str, str]:
    """The languages by the names of the binarized files, as fairseq infers them."""
    from fairseq.data.data_utils import infer_language_pair

    source, target = infer_language_pair(str(directory)) if directory.is_dir() else (None, None)
    if source is None or target is None:
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
    return source, target

"""Checkpoints with their dictionaries, made into models that can be read."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf.errors import OmegaConfBaseException
from torch import nn

from ...errors import NormalignError
from .register import register


@dataclass(frozen=True)
class LoadedModels:
    """One model or an ensemble, ready for forced decoding, with the task that holds its dictionaries."""

    models: list[nn.Module]
    task: Any

    @property
    def source_dictionary(self) -> Any:
        """fairseq's dictionary of the source language."""
        return self.task.source_dictionary

    @property
    def target_dictionary(self) -> Any:
        """fairseq's dictionary of the target language."""
        return self.task.target_dictionary


def load_models(
    path: str | Path,
    *,
    data: str | Path | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    options: dict[str, Any] | None = None,
) -> LoadedModels:
    """Load the checkpoint(s) ``a.pt:b.pt`` with the dictionaries in ``data``, or else beside the first checkpoint.

    ``options`` are fields of the task's configuration (``normalign_layer`` and the like).
    """
    register()
    paths = [Path(part) for part in str(path).split(":")]
    for part in paths:
        if not part.is_file():
            raise NormalignError(f"{part}: no such checkpoint")
    with quiet():
        states = [_state(part) for part in paths]
        with building(paths[0]):
            task = _task(states[0], paths[0], data, source_lang, target_lang, options or {})
        models = [_model(state, part, task) for state, part in zip(states, paths, strict=True)]
    return LoadedModels(models, task)


def _state(path: Path) -> dict[str, Any]:
    from fairseq import checkpoint_utils

    with building(path):
        return checkpoint_utils.load_checkpoint_to_cpu(str(path))


HOST_ERRORS = (
    *(TypeError, ValueError, LookupError, AttributeError, AssertionError, RuntimeError, ArithmeticError, OSError),
    *(NameError, ImportError, MemoryError, OmegaConfBaseException),
)
"""What fairseq ends in when the arguments or parameters of a checkpoint make no sense."""


@contextlib.contextmanager
def building(path: str | Path) -> Iterator[None]:
    """While a model is made out of a checkpoint: what goes wrong is the checkpoint's fault, and said in one line."""
    try:
        yield
    except HOST_ERRORS as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise NormalignError(f"{path}: cannot be made into a model: {reason}") from None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
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
        return convert_namespace_to_omegaconf(state["args"])[group]
    if state.get("cfg") is not None:
        return state["cfg"][group]
    raise NormalignError(f"{path}: not a fairseq checkpoint (it has neither 'args' nor 'cfg')")


def _task(
    state: dict[str, Any],
    path: Path,
    data: str | Path | None,
    source_lang: str | None,
    target_lang: str | None,
    options: dict[str, Any],
) -> Any:
    from fairseq.dataclass.utils import omegaconf_no_object_check
    from fairseq.tasks.translation import TranslationConfig
    from omegaconf import OmegaConf

    from ...tasks.translation_normalign import TranslationNormalignConfig, TranslationNormalignTask

    saved = _arguments(state, path, "task")
    fields = dict(vars(TranslationNormalignConfig()))
    for name in TranslationConfig.__dataclass_fields__:
        if saved is not None and saved.get(name) is not None:
            fields[name] = saved.get(name)
    fields.update({"post_process": None, "eval_bleu": False, **options})
    directory = Path(data) if data is not None else path.parent
    source, target = source_lang or fields["source_lang"], target_lang or fields["target_lang"]
    if not source or not target:
        source, target = _language_pair(directory, path)
    for language in (source, target):
        if Path(f"dict.{language}.txt").name != f"dict.{language}.txt":
            raise NormalignError(f"{path}: '{language}' is no name of a language")
        if not (directory / f"dict.{language}.txt").is_file():
            hint = "" if data is not None else "; give the directory that fairseq-preprocess wrote as --data"
            raise NormalignError(f"{directory / f'dict.{language}.txt'}: no such dictionary{hint}")
    fields.update({"source_lang": source, "target_lang": target, "data": str(directory)})
    with omegaconf_no_object_check():  # omegaconf 2.0 has no other way to hold objects
        config = OmegaConf.create(fields)
    return TranslationNormalignTask.setup_task(config)


def _language_pair(directory: Path, path: Path) -> tuple[str, str]:
    """The languages by the names of the binarized files, as fairseq infers them."""
    from fairseq.data.data_utils import infer_language_pair

    source, target = infer_language_pair(str(directory)) if directory.is_dir() else (None, None)
    if source is None or target is None:
        raise NormalignError(
            f"{path}: does not say its languages, nor do the files in {directory}; "
            "give them as --source-lang and --target-lang"
        )
    return source, target


def _model(state: dict[str, Any], path: Path, task: Any) -> nn.Module:
    with building(path):
        arguments = _arguments(state, path, "model")
        _check_sizes(state["model"], path, task)
        model = task.build_model(arguments, from_checkpoint=True)
    try:
        model.load_state_dict(state["model"], strict=True, model_cfg=arguments)
    except HOST_ERRORS as error:
        reason = " ".join(str(error).split())[:200]
        raise NormalignError(f"{path}: its parameters do not fit its architecture: {reason}") from None
    model.eval()
    return model


def without_embedding_files(arguments: Any) -> Any:
    """The arguments of a model, without the files that its embeddings were made from when it was trained."""
    names = [name for name in ("encoder_embed_path", "decoder_embed_path") if getattr(arguments, name, None)]
    if not names:
        return arguments
    arguments = copy.deepcopy(arguments)
    for name in names:
        setattr(arguments, name, None)
    return arguments


def _check_sizes(parameters: dict[str, Any], path: Path, task: Any) -> None:
    sides = {"encoder": task.source_dictionary, "decoder": task.target_dictionary}
    for side, dictionary in sides.items():
        embedding = parameters.get(f"{side}.embed_tokens.weight")
        if embedding is not None and embedding.size(0) != len(dictionary):
            raise NormalignError(
                f"{path}: its {side} has {embedding.size(0)} embeddings, the dictionary in {task.cfg.data} has "
                f"{len(dictionary)} entries; is it another model's?"
            )

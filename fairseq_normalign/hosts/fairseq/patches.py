"""Registration with fairseq, and everything that is changed in fairseq itself: what, why, and for which versions.

This happens when fairseq imports our user-dir, when one of its models is loaded, or when ``register()`` is called;
importing the package does nothing. Only fairseq is changed: the interpreter's hooks stay as they are. Each patch is
harmless when it is applied again, and a test of the same name shows that the installed fairseq still needs it. What
concerns one data set or one task only is in ``task.py``.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib
import os
import queue
import sys
import threading
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from fairseq import checkpoint_utils, utils
from fairseq.data.iterators import BackgroundConsumer
from fairseq.tasks import TASK_REGISTRY, FairseqTask

from ...errors import NormalignError, one_line, reason_of
from ..loading import faults_of
from . import silenced_import
from .checkpoints import literal, safe_load, without_unknown_parts

PACKAGE = __package__.rsplit(".", 2)[0]
HOST_PACKAGES = ("fairseq", "fairseq_cli")
OURS = ("models.transformer_normalign", "tasks.translation_normalign")


def register() -> None:
    """Make fairseq know our models and tasks, and load checkpoints safely. Harmless when called again."""
    apply_patches()
    for name in OURS:
        importlib.import_module(f"{PACKAGE}.{name}")


def import_user_dirs(folders: Sequence[str]) -> None:
    """Import user-dirs for fairseq, as ``--user-dir`` does, so that their architectures and tasks are known."""
    register()
    for folder in folders:
        if not os.path.isdir(folder):
            raise NormalignError(f"{folder}: no such user-dir")
        with faults_of(f"{folder}: cannot be imported"), silenced_import():
            utils.import_user_module(types.SimpleNamespace(user_dir=folder))


@dataclass(frozen=True)
class Patch:
    """One change to fairseq."""

    apply: Callable[[], None]
    reason: str
    versions: str


PATCHES: list[Patch] = []


def patch(reason: str, versions: str = "0.12.2 and main") -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Function decorator: the function changes fairseq for this reason."""

    def known(apply: Callable[[], None]) -> Callable[[], None]:
        PATCHES.append(Patch(apply, reason, versions))
        return apply

    return known


def apply_patches() -> None:
    """Apply every patch. Harmless when called again."""
    for one in PATCHES:
        one.apply()


def replace(owner: Any, name: str, made_of: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put what ``made_of`` makes of a function into its place, once."""
    original = getattr(owner, name, None)
    if original is not None and not hasattr(original, "__wrapped__"):
        setattr(owner, name, functools.wraps(original)(made_of(original)))


class _SafeTorch(types.ModuleType):
    """``torch`` as ``fairseq.checkpoint_utils`` sees it: everything as it is, except ``load``."""

    @staticmethod
    def load(*args: Any, **options: Any) -> Any:
        """Load safely, and without parts of a training that are not known here: fairseq would look them up."""
        replace_eval()  # in modules that were imported since, too
        return without_unknown_parts(safe_load(*args, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@patch("torch refuses fairseq's checkpoints by default since 2.6, and before that ran whatever they held")
def install_safe_loading() -> None:
    """Make fairseq load checkpoints by the weights-only loader with an allow-list."""
    if not isinstance(checkpoint_utils.torch, _SafeTorch):
        checkpoint_utils.torch = _SafeTorch("torch")


@patch("fairseq evaluates strings of a checkpoint's arguments as Python code")
def replace_eval() -> None:
    """Make ``eval`` in the imported modules of fairseq a parser of literals.

    All of fairseq's models, tasks and criteria are imported here; what is imported later is replaced when a checkpoint
    is loaded, before a model is built from it.
    """
    for name in ("models", "tasks", "criterions", "optim"):
        importlib.import_module(f"fairseq.{name}")
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in HOST_PACKAGES and isinstance(module, types.ModuleType):
            module.__dict__["eval"] = literal


@patch("fairseq takes the default value of --replace-unk for the name of a file")
def patch_replace_unk() -> None:
    """Make ``--replace-unk`` without a file copy the source word."""

    def made_of(original: Callable[..., Any]) -> Callable[..., Any]:
        def load_align_dict(replace_unk: str | None) -> dict[str, str] | None:
            try:
                return original("" if replace_unk == "@@ " else replace_unk)
            except OSError as error:
                raise NormalignError(f"{replace_unk}: {reason_of(error)}") from None
            except IndexError:
                raise NormalignError(f"{replace_unk}: a line is not a source word and its translation") from None

        return load_align_dict

    replace(utils, "load_align_dict", made_of)


@patch("a damaged checkpoint ends in a traceback that does not name it")
def patch_checkpoint_errors() -> None:
    """Report a checkpoint that is missing, or whose parameters do not fit, in one line."""

    def made_of(original: Callable[..., Any]) -> Callable[..., Any]:
        def load_model_ensemble_and_task(filenames: Sequence[str], *args: Any, **options: Any) -> Any:
            with faults_of(f"{':'.join(map(str, filenames))}: cannot be made into a model"):
                return original(filenames, *args, **options)

        return load_model_ensemble_and_task

    replace(checkpoint_utils, "load_model_ensemble_and_task", made_of)


@patch("stock alignments count pieces and tags, and nothing says so")
def say_whose_alignments() -> None:
    """Make ``--print-alignment`` with a task that is not ours say what it prints, in one line."""

    def made_of(original: Callable[..., Any]) -> Callable[..., Any]:
        def build_generator(task: Any, models: Any, args: Any, *others: Any, **options: Any) -> Any:
            if getattr(args, "print_alignment", None):
                name = next((name for name, known in TASK_REGISTRY.items() if known is type(task)), type(task).__name__)
                ours = f"{name}_normalign"
                known = ours in TASK_REGISTRY
                instead = f"use --task {ours}" if known else f"fairseq_normalign.add_alignments('{name}') makes them"
                print(
                    "fairseq_normalign: these alignments are fairseq's own (mean of the heads of the top layer, "
                    f"in pieces, tags counted); for ours {instead}",
                    file=sys.stderr,
                    flush=True,
                )
            return original(task, models, args, *others, **options)

        return build_generator

    replace(FairseqTask, "build_generator", made_of)


@patch("a user's mistake ends in a traceback in fairseq's commands")
def report_errors_in_one_line() -> None:
    """Make the command of fairseq that is running report a user's mistake in one line, with exit code 2.

    Only fairseq's own programs are changed, by wrapping their ``main``; any other program that uses fairseq keeps its
    own error handling.
    """
    program = Path(sys.argv[0] if sys.argv else "")
    if program.name.startswith("fairseq-") or program.parent.name == "fairseq_cli":
        command = program.stem.removeprefix("fairseq-").replace("-", "_")
        for module in (sys.modules.get(f"fairseq_cli.{command}"), sys.modules["__main__"]):
            replace(module, "main", _reporting)


def _reporting(main: Callable[..., Any]) -> Callable[..., Any]:
    def reporting(*args: Any, **options: Any) -> Any:
        try:
            return main(*args, **options)
        except (NormalignError, KeyboardInterrupt, OSError, UnicodeDecodeError) as error:
            code, message = outcome_of(error)
            if code is None:
                raise
            try:
                sys.stdout.flush()
            except (OSError, ValueError):  # keep the interpreter from complaining when it flushes at its end
                with contextlib.suppress(OSError, ValueError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if message:
                print(f"fairseq_normalign: {one_line(message)}", file=sys.stderr, flush=True)
            # at the end of the interpreter fairseq's loading thread would be torn out of torch, which aborts
            for thread in threading.enumerate():
                if isinstance(thread, BackgroundConsumer):
                    thread._max_len = 0
                    while thread.is_alive():
                        with contextlib.suppress(queue.Empty):
                            thread._queue.get(timeout=0.1)
            sys.last_value = error  # as for any error that ends a program: an unfinished dump is removed
            sys.exit(code)

    return reporting


def outcome_of(error: BaseException) -> tuple[int | None, str]:
    """Return exit code and message of an error that is no bug: a user's mistake, Ctrl-C, a closed pipe, a full disk."""
    if isinstance(error, NormalignError):
        return 2, f"error: {error}"
    if isinstance(error, KeyboardInterrupt):
        return 130, "interrupted"
    if isinstance(error, BrokenPipeError):
        return 141, ""
    if isinstance(error, UnicodeDecodeError):
        return 2, f"error: byte 0x{error.object[error.start]:02x} is not {error.encoding} text"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return 2, f"error: {error.filename or 'output'}: {reason_of(error)}"
    return None, ""

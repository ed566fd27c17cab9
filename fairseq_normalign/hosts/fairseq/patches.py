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
import logging
import os
import queue
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...errors import NormalignError, one_line, reason_of
from ...requirements import import_fairseq
from .checkpoints import literal, safe_load, without_unknown_parts

PACKAGE = __package__.rsplit(".", 2)[0]
HOST_PACKAGES = ("fairseq", "fairseq_cli")
OURS = ("models.transformer_normalign", "tasks.translation_normalign")


def register() -> None:
    """Make fairseq know our models and tasks, and load checkpoints safely. Harmless when called again."""
    with silenced_import(), statistics_later():
        import_fairseq()
    apply_patches()
    for name in OURS:
        importlib.import_module(f"{PACKAGE}.{name}")


def import_user_dirs(folders: Sequence[str]) -> None:
    """Import user-dirs for fairseq, as ``--user-dir`` does, so that their architectures and tasks are known."""
    register()
    from fairseq import utils

    for folder in folders:
        if not os.path.isdir(folder):
            raise NormalignError(f"{folder}: no such user-dir")
        try:
            with silenced_import():
                utils.import_user_module(types.SimpleNamespace(user_dir=folder))
        except Exception as error:  # user code may raise anything
            reason = " ".join(str(error).split())[:200]
            raise NormalignError(f"{folder}: cannot be imported: {type(error).__name__}: {reason}") from None


@contextlib.contextmanager
def silenced_import() -> Iterator[None]:
    """Import fairseq without its deprecation warnings and its notes on missing packages; logging stays as it was."""
    level, handlers = logging.root.level, logging.root.handlers[:]
    logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.root.setLevel(level)  # some modules of fairseq set it to DEBUG for the whole process
        logging.root.handlers[:] = handlers


STATISTICS = ("scipy.stats", "sklearn", "sklearn.metrics")
"""What two of fairseq's files, on tasks of classification, import for a few functions: half of its time to start."""


@contextlib.contextmanager
def statistics_later() -> Iterator[None]:
    """While fairseq is imported, it gets functions of statistics that import their package when they are called.

    Afterwards Python's table of modules is as it was. What the program has imported already stays.
    """
    given = {name: _Later(name) for name in STATISTICS if not sys.modules.keys() & {name, name.split(".")[0]}}
    sys.modules.update(given)
    try:
        yield
    finally:
        for name, module in given.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


class _Later(types.ModuleType):
    """Stands for a module that nobody may need."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        whole = f"{self.__name__}.{name}"
        if whole in STATISTICS:
            return _Later(whole)
        return lambda *args, **options: getattr(importlib.import_module(self.__name__), name)(*args, **options)


@dataclass(frozen=True)
class Patch:
    """One change to fairseq."""

    apply: Callable[[], None]
    reason: str
    versions: str = "0.12.2 and main"


def apply_patches() -> None:
    """Apply every patch. Harmless when called again."""
    for patch in PATCHES:
        patch.apply()


class _SafeTorch(types.ModuleType):
    """``torch`` as ``fairseq.checkpoint_utils`` sees it: everything as it is, except ``load``."""

    @staticmethod
    def load(*args: Any, **options: Any) -> Any:
        """Load safely, and without parts of a training that are not known here: fairseq would look them up."""
        replace_eval()  # in modules that were imported since, too
        return without_unknown_parts(safe_load(*args, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def install_safe_loading() -> None:
    """Make fairseq load checkpoints by the weights-only loader with an allow-list."""
    from fairseq import checkpoint_utils

    if not isinstance(checkpoint_utils.torch, _SafeTorch):
        checkpoint_utils.torch = _SafeTorch("torch")


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


def patch_replace_unk() -> None:
    """Make ``--replace-unk`` without a file copy the source word."""
    from fairseq import utils

    original = utils.load_align_dict
    if getattr(original, "is_patched", False):
        return

    def load_align_dict(replace_unk: str | None) -> dict[str, str] | None:
        try:
            return original("" if replace_unk == "@@ " else replace_unk)
        except OSError as error:
            raise NormalignError(f"{replace_unk}: {reason_of(error)}") from None
        except IndexError:
            raise NormalignError(f"{replace_unk}: a line is not a source word and its translation") from None

    load_align_dict.is_patched = True  # type: ignore[attr-defined]
    utils.load_align_dict = load_align_dict


def patch_checkpoint_errors() -> None:
    """Report a checkpoint that is missing, or whose parameters do not fit, in one line."""
    from fairseq import checkpoint_utils

    from .loading import checkpoint_errors

    original = checkpoint_utils.load_model_ensemble_and_task
    if getattr(original, "is_patched", False):
        return

    def load_model_ensemble_and_task(filenames: Sequence[str], *args: Any, **options: Any) -> Any:
        with checkpoint_errors(":".join(map(str, filenames))):
            return original(filenames, *args, **options)

    load_model_ensemble_and_task.is_patched = True  # type: ignore[attr-defined]
    checkpoint_utils.load_model_ensemble_and_task = load_model_ensemble_and_task


def say_whose_alignments() -> None:
    """Make ``--print-alignment`` with a task that is not ours say what it prints, in one line."""
    from fairseq.tasks import FairseqTask

    original = FairseqTask.build_generator
    if getattr(original, "says_whose", False):
        return

    @functools.wraps(original)
    def build_generator(task: Any, models: Any, args: Any, *others: Any, **options: Any) -> Any:
        if getattr(args, "print_alignment", None):
            print(f"fairseq_normalign: {_whose(task)}", file=sys.stderr, flush=True)
        return original(task, models, args, *others, **options)

    build_generator.says_whose = True  # type: ignore[attr-defined]
    FairseqTask.build_generator = build_generator


def _whose(task: Any) -> str:
    from fairseq.tasks import TASK_REGISTRY

    name = next((name for name, known in TASK_REGISTRY.items() if known is type(task)), type(task).__name__)
    ours = f"{name}_normalign"
    instead = (
        f"use --task {ours}" if ours in TASK_REGISTRY else f"fairseq_normalign.add_alignments('{name}') makes them"
    )
    return (
        f"these alignments are fairseq's own (mean of the heads of the top layer, in pieces, tags counted); "
        f"for ours {instead}"
    )


def report_errors_in_one_line() -> None:
    """Make the command of fairseq that is running report a user's mistake in one line, with exit code 2.

    Only fairseq's own programs are changed, by wrapping their ``main``; any other program that uses fairseq keeps its
    own error handling.
    """
    program = Path(sys.argv[0] if sys.argv else "")
    if not (program.name.startswith("fairseq-") or program.parent.name == "fairseq_cli"):
        return
    command = program.stem.removeprefix("fairseq-").replace("-", "_")
    for module in (sys.modules.get(f"fairseq_cli.{command}"), sys.modules["__main__"]):
        main = getattr(module, "main", None)
        if main is not None and not hasattr(main, "__wrapped__"):
            module.main = _reporting(main)  # type: ignore[union-attr]


def _reporting(main: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(main)
    def reporting(*args: Any, **options: Any) -> Any:
        try:
            return main(*args, **options)
        except (NormalignError, KeyboardInterrupt, OSError, UnicodeDecodeError) as error:
            code, message = _ending(error)
            if code is None:
                raise
            try:
                sys.stdout.flush()
            except (OSError, ValueError):  # keep the interpreter from complaining when it flushes at its end
                with contextlib.suppress(OSError, ValueError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if message:
                print(f"fairseq_normalign: {one_line(message)}", file=sys.stderr, flush=True)
            _stop_loading()
            sys.last_value = error  # as for any error that ends a program: an unfinished dump is removed
            sys.exit(code)

    return reporting


def _ending(error: BaseException) -> tuple[int | None, str]:
    """Exit code and message of errors that are no bugs: user's mistakes, Ctrl-C, a closed pipe, a full disk."""
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


def _stop_loading() -> None:
    """End fairseq's loading thread: at the end of the interpreter it would be torn out of torch, which aborts."""
    from fairseq.data.iterators import BackgroundConsumer

    for thread in threading.enumerate():
        if isinstance(thread, BackgroundConsumer):
            thread._max_len = 0
            while thread.is_alive():
                with contextlib.suppress(queue.Empty):
                    thread._queue.get(timeout=0.1)


PATCHES = (
    Patch(
        install_safe_loading,
        "torch refuses fairseq's checkpoints by default since 2.6, and before that ran whatever they held",
    ),
    Patch(replace_eval, "fairseq evaluates strings of a checkpoint's arguments as Python code"),
    Patch(patch_replace_unk, "fairseq takes the default value of --replace-unk for the name of a file"),
    Patch(patch_checkpoint_errors, "a damaged checkpoint ends in a traceback that does not name it"),
    Patch(say_whose_alignments, "stock alignments count pieces and tags, and nothing says so"),
    Patch(report_errors_in_one_line, "a user's mistake ends in a traceback in fairseq's commands"),
)

"""Registration with fairseq: once, from wherever it is asked for first."""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import importlib
import logging
import os
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any

from ...errors import NormalignError, one_line, reason_of
from ...requirements import import_fairseq

PACKAGE = __package__.rsplit(".", 2)[0]


def register() -> None:
    """Make fairseq know our models and tasks, and load checkpoints safely. Harmless when called again.

    ``--user-dir``, ``import fairseq_normalign`` after fairseq, and our own commands all end here; modules that are
    already imported are not imported again, so nothing is registered twice.
    """
    from . import checkpoints

    with quiet_host():
        import_fairseq()
    checkpoints.close_doors()
    mend_replace_unk()
    mend_ensembles()
    say_whose_alignments()
    show_errors_in_one_line()
    importlib.import_module(f"{PACKAGE}.models.transformer_normalign")
    importlib.import_module(f"{PACKAGE}.models.normalign_aligner")
    importlib.import_module(f"{PACKAGE}.models.head_gates_criterion")
    importlib.import_module(f"{PACKAGE}.models.guided_alignment_criterion")
    importlib.import_module(f"{PACKAGE}.tasks.translation_normalign")


def mend_replace_unk() -> None:
    """``--replace-unk`` without a file means: copy the source word. fairseq takes its default value for a file name."""
    from fairseq import utils

    original = utils.load_align_dict
    if getattr(original, "is_mended", False):
        return

    def load_align_dict(replace_unk: str | None) -> dict[str, str] | None:
        try:
            return original("" if replace_unk == "@@ " else replace_unk)
        except OSError as error:
            raise NormalignError(f"{replace_unk}: {reason_of(error)}") from None
        except IndexError:
            raise NormalignError(f"{replace_unk}: a line is not a source word and its translation") from None

    load_align_dict.is_mended = True  # type: ignore[attr-defined]
    utils.load_align_dict = load_align_dict


def mend_ensembles() -> None:
    """A checkpoint that is missing, or whose parameters do not fit, is one line in fairseq's commands too."""
    from fairseq import checkpoint_utils

    from .loading import building

    original = checkpoint_utils.load_model_ensemble_and_task
    if getattr(original, "is_mended", False):
        return

    def load_model_ensemble_and_task(filenames: Sequence[str], *args: Any, **options: Any) -> Any:
        with building(":".join(map(str, filenames))):
            return original(filenames, *args, **options)

    load_model_ensemble_and_task.is_mended = True  # type: ignore[attr-defined]
    checkpoint_utils.load_model_ensemble_and_task = load_model_ensemble_and_task


def say_whose_alignments() -> None:
    """Under our user-dir, ``--print-alignment`` with a task that is not ours says what it prints, in one line."""
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


def import_user_dirs(folders: Sequence[str]) -> None:
    """Import user-dirs of fairseq's, as ``--user-dir`` does, so that their architectures and tasks are known."""
    register()
    from fairseq import utils

    for folder in folders:
        if not os.path.isdir(folder):
            raise NormalignError(f"{folder}: no such user-dir")
        try:
            with quiet_host():
                utils.import_user_module(types.SimpleNamespace(user_dir=folder))
        except Exception as error:  # whatever somebody's own code may raise
            reason = " ".join(str(error).split())[:200]
            raise NormalignError(f"{folder}: cannot be imported: {type(error).__name__}: {reason}") from None


class quiet_host:
    """While fairseq is imported: its deprecation warnings and its notes on missing packages are not our user's."""

    def __enter__(self) -> None:
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore")
        self._logging = logging.root.level, logging.root.handlers[:]
        logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.ERROR)

    def __exit__(self, *error: object) -> None:
        self._warnings.__exit__(*error)  # type: ignore[arg-type]
        logging.root.setLevel(self._logging[0])  # some of fairseq's modules set it to DEBUG for all the world
        logging.root.handlers[:] = self._logging[1]


def show_errors_in_one_line() -> None:
    """In fairseq's commands too, a user's mistake ends in one line and exit code 2, not in a traceback.

    So do Ctrl-C (130), a reader that went away (141), a full disk and input that is no text.
    """
    previous = sys.excepthook
    if getattr(previous, "shows_normalign_errors", False):
        return

    def hook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
        found = ending(error)
        if found is None:
            previous(kind, error, trace)
            return
        code, message = found
        _let_go_of_stdout()
        if message:
            print(f"fairseq_normalign: {one_line(message)}", file=sys.stderr, flush=True)
        atexit._run_exitfuncs()
        os._exit(code)  # to end as usual would tear fairseq's loading thread out of torch, which aborts

    hook.shows_normalign_errors = True  # type: ignore[attr-defined]
    sys.excepthook = hook


def ending(error: BaseException) -> tuple[int, str] | None:
    """Exit code and message of errors that are no bugs; None for those that are."""
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
    return None


def _let_go_of_stdout() -> None:
    """Write what is waiting; where that is not possible any more, keep the interpreter from complaining at its end."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

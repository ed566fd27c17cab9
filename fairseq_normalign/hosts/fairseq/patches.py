"""Everything that is changed in fairseq itself, in one place: what, why, and for which versions.

``register`` applies the patches once per process; each is harmless when applied again. A test of the same name shows
for each of them that the fairseq that is installed still needs it. What concerns one data set or one task only is not
here but beside it: ``datasets.py`` (no sentence is lost), ``task.py`` (tags, start symbols).
"""

from __future__ import annotations

import functools
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...errors import NormalignError, reason_of
from .checkpoint_arguments import literal
from .checkpoints import allow_list, safe_load, without_unknown_parts
from .error_lines import show_errors_in_one_line

HOST_PACKAGES = ("fairseq", "fairseq_cli")


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
        return without_unknown_parts(safe_load(*args, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def install_safe_loading() -> None:
    """Make fairseq load checkpoints by the weights-only loader with an allow-list."""
    from fairseq import checkpoint_utils

    torch.serialization.add_safe_globals(allow_list())
    checkpoint_utils.torch = _SafeTorch("torch")


def replace_eval() -> None:
    """Make ``eval`` in every module of fairseq a parser of literals, in modules that are imported later too."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in HOST_PACKAGES and isinstance(module, types.ModuleType):
            module.__dict__["eval"] = literal
    if not any(isinstance(finder, _LiteralEval) for finder in sys.meta_path):
        sys.meta_path.insert(0, _LiteralEval())


class _LiteralEval:
    """An import hook: a module of fairseq that is imported has no ``eval`` but the parser of literals."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.split(".")[0] not in HOST_PACKAGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_without_eval(module: types.ModuleType) -> None:
            module.__dict__["eval"] = literal
            execute(module)

        spec.loader.exec_module = execute_without_eval  # type: ignore[method-assign]
        return spec


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


PATCHES = (
    Patch(
        install_safe_loading,
        "torch refuses fairseq's checkpoints by default since 2.6, and before that ran whatever they held",
    ),
    Patch(replace_eval, "fairseq evaluates strings of a checkpoint's arguments as Python code"),
    Patch(patch_replace_unk, "fairseq takes the default value of --replace-unk for the name of a file"),
    Patch(patch_checkpoint_errors, "a damaged checkpoint ends in a traceback that does not name it"),
    Patch(say_whose_alignments, "stock alignments count pieces and tags, and nothing says so"),
    Patch(show_errors_in_one_line, "a mistake of a user ends in a traceback in fairseq's commands"),
)

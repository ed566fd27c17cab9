"""Registration with fairseq: once, from wherever it is asked for first."""

from __future__ import annotations

import importlib
import logging
import os
import types
import warnings
from collections.abc import Sequence

from ...errors import NormalignError
from ...requirements import import_fairseq

PACKAGE = __package__.rsplit(".", 2)[0]


def register() -> None:
    """Make fairseq know our models and tasks, and load checkpoints safely. Harmless when called again.

    ``--user-dir``, ``import fairseq_normalign`` after fairseq, and our own commands all end here; modules that are
    already imported are not imported again, so nothing is registered twice.
    """
    with silenced_import():
        import_fairseq()
    from .patches import apply_patches

    apply_patches()
    importlib.import_module(f"{PACKAGE}.models.transformer_normalign")
    importlib.import_module(f"{PACKAGE}.models.normalign_aligner")
    importlib.import_module(f"{PACKAGE}.models.head_gates_criterion")
    importlib.import_module(f"{PACKAGE}.models.guided_alignment_criterion")
    importlib.import_module(f"{PACKAGE}.tasks.translation_normalign")


def import_user_dirs(folders: Sequence[str]) -> None:
    """Import user-dirs of fairseq's, as ``--user-dir`` does, so that their architectures and tasks are known."""
    register()
    from fairseq import utils

    for folder in folders:
        if not os.path.isdir(folder):
            raise NormalignError(f"{folder}: no such user-dir")
        try:
            with silenced_import():
                utils.import_user_module(types.SimpleNamespace(user_dir=folder))
        except Exception as error:  # whatever somebody's own code may raise
            reason = " ".join(str(error).split())[:200]
            raise NormalignError(f"{folder}: cannot be imported: {type(error).__name__}: {reason}") from None


class silenced_import:
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

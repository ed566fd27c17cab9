"""Word alignments from fairseq Transformers, by the lengths of the vectors they add.

Importing this package is cheap: neither torch nor fairseq is loaded by it. It registers itself with fairseq at once
when fairseq is already there (as under ``--user-dir``), and otherwise as soon as fairseq is imported, because fairseq
skips a user-dir whose package it finds already imported.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .version import __version__

__all__ = ["__version__", "load", "register"]

HOST = "fairseq"


def register() -> None:
    """Make fairseq know our models and tasks, and load checkpoints safely. Harmless when called again."""
    importlib.import_module(f"{__name__}.hosts.fairseq.register").register()


def load(checkpoint: str, **options: Any) -> Any:
    """Load a Transformer checkpoint for aligning and translating (:mod:`fairseq_normalign.aligning.interface`)."""
    return importlib.import_module(f"{__name__}.aligning.interface").load(checkpoint, **options)


class _RegisterAfterHost:
    """An import hook for one module: when fairseq has been imported, register."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != HOST:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_then_register(module: Any) -> None:
            execute(module)
            register()

        spec.loader.exec_module = execute_then_register  # type: ignore[method-assign]
        return spec


if HOST in sys.modules:
    register()
else:
    import importlib.util

    sys.meta_path.insert(0, _RegisterAfterHost())

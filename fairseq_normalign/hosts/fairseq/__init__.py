"""fairseq, the first host: safe loading, recording, generation. Nothing else imports fairseq before this does."""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

from ...requirements import import_fairseq


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


with silenced_import(), statistics_later():
    import_fairseq()

"""Word alignments from Transformers that translate, by the lengths of the vectors they add.

Aligning and translating::

    model = fairseq_normalign.load("de-en.pt", reverse="en-de.pt", bpe_codes="codes")
    alignment = model.align("wir haben das haus gesehen .", "we have seen the house .")
    alignment.links          # [(0, 0), (1, 1), ...]: (source, target), counted from 0
    print(alignment.draw())  # the pair as a grid
    for alignment in model.align_many(pairs): ...
    model.translate("wir haben das haus gesehen .")
    model.check("wir haben das haus gesehen .", "a blue sky .").score  # low: no translation

Alignment files, gold and scores::

    golds = fairseq_normalign.read_gold("gold.talp", base=1)
    links = fairseq_normalign.read_links("hypothesis.pharaoh")
    fairseq_normalign.score(golds, links).aer
    fairseq_normalign.symmetrize(forward, backward, "grow-diag")
    fairseq_normalign.write_links("out.pharaoh", links)

``list_methods()`` names the ways to read soft alignments, ``Dump`` reads what was dumped, and every mistake of a user
is a ``NormalignError``. What is not listed in ``__all__`` may change without notice.

Importing this package is cheap and has no side effects: neither torch nor a host is loaded by it. fairseq knows our
tasks and models once it has imported this package by ``--user-dir``, once one of its models was loaded with ``load``,
or once ``register()`` was called. Call ``register()`` in a program that imports this package and then runs fairseq's
own commands: fairseq skips a user-dir whose package is already imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from .requirements import explained_imports
from .version import __version__

if TYPE_CHECKING:
    from .alignment import Alignment, TranslationCheck
    from .errors import NormalignError
    from .interface import AlignmentModel, list_methods, load
    from .links.dump import Dump
    from .links.gold import Gold, read_gold, read_links, write_links
    from .links.score import Score, score
    from .links.symmetrize import symmetrize

__all__ = [
    "Alignment",
    "AlignmentModel",
    "Dump",
    "Gold",
    "NormalignError",
    "Score",
    "TranslationCheck",
    "__version__",
    "add_alignments",
    "list_methods",
    "load",
    "read_gold",
    "read_links",
    "register",
    "score",
    "symmetrize",
    "write_links",
]

_PLACES = {
    "Alignment": "alignment",
    "AlignmentModel": "interface",
    "Dump": "links.dump",
    "Gold": "links.gold",
    "NormalignError": "errors",
    "Score": "links.score",
    "TranslationCheck": "alignment",
    "list_methods": "interface",
    "load": "interface",
    "read_gold": "links.gold",
    "read_links": "links.gold",
    "score": "links.score",
    "symmetrize": "links.symmetrize",
    "write_links": "links.gold",
}
"""Public name -> the module that holds it; loaded when the name is first used (PEP 562)."""


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with explained_imports():
        value = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def register() -> None:
    """Make fairseq know our models and tasks, and load checkpoints safely. Harmless when called again."""
    with explained_imports():
        importlib.import_module(f"{__name__}.hosts.fairseq.patches").register()


def add_alignments(task: str) -> type:
    """Register fairseq's task ``task``, or one of your own, with alignments, as ``{task}_normalign``."""
    register()
    found: type = importlib.import_module(f"{__name__}.tasks.with_alignments").add_alignments(task)
    return found

"""The toy: two tiny German-English models that ship with the package, with a text and its gold alignment.

``normalign try`` shows what they say, and the examples of the documentation run on them. README.md beside this file
tells how they were made and what they are not good for.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypedDict

from ..errors import NormalignError

FOLDER = Path(__file__).parent
LANGUAGES = ("de", "en")
FILES = ("de-en.pt", "en-de.pt", "codes", "dict.de.txt", "dict.en.txt", "text.de", "text.en", "gold.talp", "README.md")
"""What a copy of the toy holds."""


class Loading(TypedDict):
    """How models are loaded: the options of :func:`fairseq_normalign.load` that the toy needs."""

    bpe_codes: str
    tokenizer: str
    lowercase: bool


LOADING: Loading = {"bpe_codes": str(FOLDER / "codes"), "tokenizer": "moses", "lowercase": True}
"""How its models are loaded, beside their paths."""


def paths() -> tuple[Path, Path]:
    """Return the checkpoints of both directions.

    >>> [path.name for path in paths()]
    ['de-en.pt', 'en-de.pt']
    """
    return FOLDER / "de-en.pt", FOLDER / "en-de.pt"


def unfamiliar(words: Sequence[str], language: str) -> list[str]:
    """Return the words that the toy's training text has fewer than five times, in their order, each once.

    >>> unfamiliar(["Der", "Minister", "twittert", "."], "de")
    ['twittert']
    """
    return list(dict.fromkeys(word for word in words if word.lower() not in _familiar(language)))


@cache
def _familiar(language: str) -> frozenset[str]:
    return frozenset((FOLDER / f"words.{language}").read_text(encoding="utf-8").split())


def copy_to(folder: str | Path) -> list[str]:
    """Copy models, dictionaries, codes, text and gold into a new or empty folder; return their names."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise NormalignError(f"{folder}: not empty; the toy's files go into a new folder")
    for name in FILES:
        shutil.copyfile(FOLDER / name, folder / name)
    return list(FILES)

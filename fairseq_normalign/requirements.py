"""Packages that only parts of the program need, and what to type where one is missing or broken.

The core (scoring, converting, symmetrizing, drawing links) needs none of them; a model needs a host and torch.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator

from .errors import MissingExtra, NormalignError

EXTRAS = {
    "fairseq": ("fairseq", "a fairseq checkpoint"),
    "fairseq_cli": ("fairseq", "a fairseq checkpoint"),
    "hydra": ("fairseq", "a fairseq checkpoint"),
    "matplotlib": ("plots", "a figure"),
    "omegaconf": ("fairseq", "a fairseq checkpoint"),
    "sentencepiece": ("sentencepiece", "a SentencePiece model"),
    "tokenizers": ("transformers", "a model of transformers"),
    "transformers": ("transformers", "a model of transformers"),
}
"""Package -> the extra that brings it, and what it is needed for."""
NO_HOST = (
    "a model needs the package 'torch' and a host: pip install 'fairseq-normalign[fairseq]' for fairseq "
    "checkpoints, 'fairseq-normalign[transformers]' for models of transformers"
)


@contextlib.contextmanager
def explained_imports() -> Iterator[None]:
    """Turn an import of a package that is not installed into one line that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        explained = missing_package(error.name or "")
        if explained is None:
            raise
        raise explained from None


def missing_package(name: str) -> NormalignError | None:
    """Return the error that says what to install for the module ``name``; None where no extra brings it.

    >>> print(missing_package("omegaconf.errors"))
    a fairseq checkpoint needs the package 'fairseq': pip install 'fairseq-normalign[fairseq]'
    """
    package = name.split(".")[0]
    if package == "torch":
        return NormalignError(NO_HOST)
    if package not in EXTRAS:
        return None
    extra, purpose = EXTRAS[package]
    return MissingExtra(extra if extra in EXTRAS else package, extra, purpose)


def is_installed(package: str) -> bool:
    """Return whether a package is there; it is not imported.

    >>> is_installed("numpy"), is_installed("no_such_package")
    (True, False)
    """
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def import_fairseq() -> None:
    """Import fairseq; where it is missing, or does not run under this Python, raise one line that says what to do."""
    try:
        importlib.import_module("fairseq")
    except Exception as error:  # whatever somebody's own fairseq ends in
        explained = missing_package(error.name or "") if isinstance(error, ModuleNotFoundError) else None
        raise explained or _broken_fairseq(error) from None


def _broken_fairseq(error: Exception) -> NormalignError:
    version = ".".join(map(str, sys.version_info[:2]))
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:160]
    return NormalignError(
        f"the fairseq at {_place('fairseq')} cannot be imported by Python {version} ({reason}); "
        "repair it, or remove it and pip install 'fairseq-normalign[fairseq]'"
    )


def _place(package: str) -> str:
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or []) if spec else []
    return folders[0] if folders else "an unknown place"

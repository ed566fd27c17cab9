"""The toolkits whose models are read, one folder each: the only places that import them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ..text.tags import TAGS

if TYPE_CHECKING:
    from ..text.options import TextOptions
    from .options import ModelOptions
    from .protocol import LoadedModel


def host_of(path: str) -> str:
    """Return the name of the host that a path belongs to: 'fairseq' for a checkpoint file.

    >>> host_of("checkpoint_best.pt")
    'fairseq'
    """
    return "fairseq"


def load_host(model: ModelOptions, text: TextOptions, *, tags: str = TAGS) -> LoadedModel:
    """Load the model that ``model`` names by the host it belongs to, ready to read lines as ``text`` says."""
    module = importlib.import_module(f"{__name__}.{host_of(model.path)}.host")
    loaded: LoadedModel = module.load(model, text, tags=tags)
    return loaded

"""The toolkits whose models are read, one folder each: the only places that import them."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..text.vocabulary import TAGS

if TYPE_CHECKING:
    from ..text.options import TextOptions
    from .observer import OneSided
    from .options import ModelOptions
    from .protocol import LoadedModel


def host_of(path: str) -> str:
    """Return the name of the host that a path belongs to.

    'fairseq' for a checkpoint, 'marian' for files and folders of Marian, Firefox or CTranslate2, 'transformers' for
    other folders and for what looks like the name of a model on the hub.

    >>> host_of("checkpoint_best.pt"), host_of("Helsinki-NLP/opus-mt-de-en")
    ('fairseq', 'transformers')
    """
    from .marian.files import is_published

    first = path.split(":")[0]
    if is_published(Path(first)):
        return "marian"
    if os.path.isdir(first):
        return "transformers"
    is_name = re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", first) and not first.endswith((".pt", ".pth", ".bin"))
    return "transformers" if is_name and not os.path.exists(first) else "fairseq"


def load_host(
    model: ModelOptions, text: TextOptions, *, tags: str = TAGS, forward: LoadedModel | None = None
) -> LoadedModel:
    """Load the model that ``model`` names by the host it belongs to, ready to read lines as ``text`` says.

    ``forward``: the same model, loaded for the other direction; what both directions share is not loaded again.
    """
    module = importlib.import_module(f"{__name__}.{host_of(model.path)}.host")
    loaded: LoadedModel = module.load(model, text, tags=tags, forward=forward)
    for one in loaded.models:
        one.compute_in(model.precision)
    return loaded


def load_masked(model: ModelOptions, text: TextOptions, *, max_tokens: int) -> OneSided | None:
    """Load the masked language model that ``model`` names; None: what it names is none."""
    host = host_of(model.path)
    if host == "marian":
        return None
    module = importlib.import_module(f"{__name__}.{host}.masked")
    loaded: OneSided | None = module.load(model, text, max_tokens=max_tokens)
    return loaded

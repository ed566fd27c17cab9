"""Published models behind the host protocol: what their files hold, read as the models of ``transformers`` are."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

from ...errors import MissingExtra, NormalignError
from ...options import paths
from ...text.options import TextOptions
from ...text.vocabulary import TAGS
from ..options import ModelOptions
from .files import Found, found_files
from .text import Pieces

_LOADED: weakref.WeakValueDictionary[tuple, Any] = weakref.WeakValueDictionary()
"""Models that are in use: one that serves both directions is in memory once."""


def load(model: ModelOptions, text: TextOptions, *, tags: str = TAGS) -> Any:
    """Load the file, folder or archive that ``model`` names and make it read lines as ``text`` says."""
    try:
        from ..transformers import host
        from ..transformers.text import (
            Tokenizer,
            TokenizerLines,
            front_of_source,
            languages_of,
            set_languages,
            start_of_target,
        )
        from .modules import build
    except ImportError:
        raise MissingExtra("transformers", "transformers", f"the model '{model.path}'") from None
    if text.bpe_codes:
        raise NormalignError(f"{model.path}: its pieces are those of SentencePiece; give no BPE codes")
    if ":" in model.path and not Path(model.path).exists():
        raise NormalignError(f"{model.path}: ensembles of published models are not read; give a single model")
    path = Path(model.path)
    if not path.exists():
        raise NormalignError(f"{path}: no such file or folder")
    with found_files(path, paths(text.sentencepiece_model)) as found:
        key = str(path), model.device, model.precision
        loaded = _LOADED.get(key)
        if loaded is None:
            loaded = _read(found, model, build)
            _LOADED[key] = loaded
        try:
            sides = [Pieces(side, found.settings, found.languages) for side in (found.source, found.target)]
        except NormalignError as error:
            raise NormalignError(f"{path}: {error}") from None
    module = loaded.module
    module.config.eos_token_id = module.generation_config.eos_token_id = sides[1].eos_token_id
    if not module.starts_from_zero:
        name = str(found.settings.get("decoder_start_token") or "<s>")
        first = sides[1].get_vocab().get(name)
        if first is None:
            raise NormalignError(f"{path}: its decoder starts with '{name}', which its vocabulary lacks")
        module.config.decoder_start_token_id = first
    module.generation_config.decoder_start_token_id = module.config.decoder_start_token_id
    for side, pieces, known in zip(("encoder", "decoder"), sides, module.pieces, strict=True):
        if len(pieces.get_vocab()) > known:
            raise NormalignError(f"{path}: its vocabulary has {len(pieces.get_vocab())} pieces, the {side} {known}")

    languages = languages_of(sides[0], module.config, model.source_lang, model.target_lang, str(path))
    codes, _ = (set_languages(side, *languages, str(path)) for side in sides)
    source, target = Tokenizer(sides[0]), Tokenizer(sides[1], target=True)
    front = [] if codes else front_of_source(source, module.config, *languages, str(path))
    finders = [host._finder(text, language) for language in languages]
    options: dict[str, Any] = {"lowercase": text.lowercase, "tags": tags}
    code = codes[str(languages[1])] if codes else None
    return host.TransformersModels(
        [loaded],
        TokenizerLines(
            source, words=finders[0], front=[*source.specials.front, *front], back=source.specials.back, **options
        ),
        TokenizerLines(target, words=finders[1], **options),
        languages=languages,
        start=start_of_target(module.config, module.generation_config, target, code, codes),
        words=finders[1],
    )


def _read(found: Found, model: ModelOptions, build: Any) -> Any:
    from ..transformers.model import TransformersModel
    from .formats import read_weights

    model.prepare()
    try:
        module = build(read_weights(found.weights), found.settings)
    except NormalignError as error:
        text = str(error)
        raise NormalignError(text if text.startswith(str(found.weights)) else f"{found.weights}: {text}") from None
    return TransformersModel(module.to(device=model.device, dtype=model.dtype)).checked(found.weights)

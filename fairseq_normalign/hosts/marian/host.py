"""Published models behind the host protocol: what their files hold, read as the models of ``transformers`` are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import MissingExtra, NormalignError
from ...options import paths
from ...text.options import TextOptions
from ...text.vocabulary import TAGS
from ..options import ModelOptions
from .files import found_files
from .formats import read_weights
from .text import Pieces


def load(model: ModelOptions, text: TextOptions, *, tags: str = TAGS, forward: Any = None) -> Any:
    """Load the file, folder or archive that ``model`` names and make it read lines as ``text`` says.

    ``forward``: the same model in the other direction; its weights are not loaded again.
    """
    try:
        from ..transformers.host import TransformersModels
        from ..transformers.model import TransformersModel
        from .modules import build
    except ImportError:
        raise MissingExtra("transformers", "transformers", f"the model '{model.path}'") from None
    path = Path(model.path)
    if text.bpe_codes:
        raise NormalignError(f"{path}: its pieces are those of SentencePiece; give no BPE codes")
    if ":" in model.path and not path.exists():
        raise NormalignError(f"{path}: ensembles of published models are not read; give a single model")
    if not path.exists():
        raise NormalignError(f"{path}: no such file or folder")

    with found_files(path, paths(text.sentencepiece_model)) as found:
        try:
            loaded = None if forward is None else forward.models[0]
            if loaded is None:
                model.prepare()
                module = build(read_weights(found.weights), found.settings)
                loaded = TransformersModel(module.to(device=model.device, dtype=model.dtype)).checked(found.weights)
            sides = [Pieces(side, found.settings, found.languages) for side in (found.source, found.target)]
        except NormalignError as error:
            reason = str(error).removeprefix(f"{found.weights}: ")
            raise NormalignError(f"{path if path.is_file() else found.weights}: {reason}") from None

    module = loaded.module
    first = module.config.pad_token_id
    if not module.starts_from_zero:
        name = str(found.settings.get("decoder_start_token") or "<s>")
        first = sides[1].get_vocab().get(name)
        if first is None:
            raise NormalignError(f"{path}: its decoder starts with '{name}', which its vocabulary lacks")
    for config in (module.config, module.generation_config):
        config.eos_token_id, config.decoder_start_token_id = sides[1].eos_token_id, first
    for side, pieces, known in zip(("encoder", "decoder"), sides, module.pieces, strict=True):
        if len(pieces.get_vocab()) > known:
            raise NormalignError(f"{path}: its vocabulary has {len(pieces.get_vocab())} pieces, the {side} {known}")
    return TransformersModels([loaded], sides, model, text, tags=tags)

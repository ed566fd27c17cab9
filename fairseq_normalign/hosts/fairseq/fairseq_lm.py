"""fairseq's masked language models: ``roberta``, ``masked_lm`` and what is built like them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ...aligning.build import ModelOptions, TextOptions
from ...aligning.observing import MaskedObserver
from ...errors import NormalignError
from ...half_precision import place
from ...text.encoding import LineEncoder
from ...text.subwords import MosesTokenizer
from .dictionaries import load_dictionary
from .loading import HOST_ERRORS, building, quiet
from .register import register

MODELS = ("roberta", "masked_lm", "xlm", "bert")


def masked_state(path: str | Path) -> dict[str, Any] | None:
    """The checkpoint at ``path`` if it is one of a masked language model."""
    register()
    from .checkpoints import safe_load

    if not Path(path).is_file():
        return None
    state = safe_load(str(path), mmap=True)
    return state if _architecture(state).startswith(MODELS) else None


def _architecture(state: dict[str, Any]) -> str:
    if state.get("args") is not None:
        return str(getattr(state["args"], "arch", ""))
    config: Any = state.get("cfg")
    model = config.get("model") if hasattr(config, "get") else None
    return str(getattr(model, "arch", None) or getattr(model, "_name", "") or "")


def masked_observer(
    state: dict[str, Any], model: ModelOptions, text: TextOptions, *, max_tokens: int = 4000
) -> MaskedObserver:
    """Make the model, with ``dict.txt`` of its data directory, ready to observe lines."""
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.models import build_model

    file = Path(model.data or Path(model.path).parent) / "dict.txt"
    if not file.is_file():
        raise NormalignError(f"{file}: no such dictionary; give the directory of the model's dict.txt as --data")
    dictionary = load_dictionary(file)
    dictionary.add_symbol("<mask>")
    with building(model.path):
        config = state["cfg"] if state.get("args") is None else convert_namespace_to_omegaconf(state["args"])
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary, dictionary=dictionary)
    with quiet():
        with building(model.path):
            built = build_model(config["model"], task)
        try:
            built.load_state_dict(state["model"], strict=True, model_cfg=config["model"])
        except HOST_ERRORS as error:
            reason = " ".join(str(error).split())[:200]
            raise NormalignError(f"{model.path}: its parameters do not fit {file}: {reason}") from None
    place(built, model.device, model.precision)
    built.eval()
    splitter = text.splitters([dictionary, dictionary])[0]
    tokenizer = MosesTokenizer(model.source_lang or "en") if text.tokenizer == "moses" else None
    encoder = LineEncoder(dictionary, splitter, tokenizer=tokenizer, lowercase=text.lowercase)
    return MaskedObserver(built, dictionary, encoder, max_tokens=max_tokens)

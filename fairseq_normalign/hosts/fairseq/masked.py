"""fairseq's masked language models: ``roberta``, ``masked_lm`` and what is built like them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fairseq.models import build_model
from torch import Tensor

from ...errors import NormalignError
from ...text.encoding import LineEncoder
from ...text.options import TextOptions
from ...text.subwords import MosesTokenizer
from ...text.vocabulary import scheme_of_dictionary
from ..loading import faults_of, silenced
from ..observer import OneSided
from ..options import ModelOptions
from ..reading import check_parameters
from .checkpoints import safe_load
from .loading import dictionary_inventory, load_dictionary, saved_arguments
from .model import every_layer_of, plain_attention, sublayer, teacher_forcing
from .patches import register

MODELS = ("roberta", "masked_lm", "xlm", "bert")


def load(model: ModelOptions, text: TextOptions, *, max_tokens: int = 4000) -> MaskedObserver | None:
    """Load a masked language model, with ``dict.txt`` beside it; None: the checkpoint is of no such model."""
    register()
    if not Path(model.path).is_file():
        return None
    state = safe_load(model.path, mmap=True)
    said = state.get("args")
    if said is None:
        said = state["cfg"].get("model") if hasattr(state.get("cfg"), "get") else None
    if not str(getattr(said, "arch", None) or getattr(said, "_name", "") or "").startswith(MODELS):
        return None

    file = Path(model.data or Path(model.path).parent) / "dict.txt"
    if not file.is_file():
        raise NormalignError(f"{file}: no such dictionary; give the directory of the model's dict.txt as --data")
    dictionary = load_dictionary(file)
    dictionary.add_symbol("<mask>")
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary, dictionary=dictionary)
    with silenced():
        with faults_of(f"{model.path}: cannot be made into a model"):
            arguments = saved_arguments(state, model.path, "model")
            built = build_model(arguments, task)
        with faults_of(f"{model.path}: its parameters do not fit {file}"):
            built.load_state_dict(state["model"], strict=True, model_cfg=arguments)
    check_parameters(built, model.path)
    model.place(built)
    splitter = text.splitters([scheme_of_dictionary(dictionary)] * 2)[0]
    tokenizer = MosesTokenizer(model.source_lang or "en") if text.tokenizer == "moses" else None
    encoder = LineEncoder(dictionary, splitter, tokenizer=tokenizer, lowercase=text.lowercase)
    return MaskedObserver(built.eval(), dictionary, encoder, max_tokens=max_tokens)


class MaskedObserver(OneSided):
    """A masked language model of fairseq: roberta, masked_lm and what is built like them."""

    def __init__(self, model: Any, dictionary: Any, encoder: LineEncoder, *, max_tokens: int) -> None:
        self._model = model
        self._encoder = model.encoder.sentence_encoder
        self._dictionary = dictionary
        self._lines = encoder
        mask = dictionary.index("<mask>")
        super().__init__(
            dictionary_inventory(dictionary),
            [sublayer(layer, "encoder") for layer in every_layer_of(self._encoder.layers)],
            mask=None if mask == dictionary.unk() else mask,
            max_tokens=max_tokens,
            longest=int(model.max_positions()),
        )

    def encode(self, line: str) -> list[int]:
        """``<s>``, the pieces, ``</s>``."""
        return [self._dictionary.bos(), *self._lines(line).indices, self._dictionary.eos()]

    def forward(self, tokens: Tensor, real: Tensor) -> None:
        """Send pieces through the encoder."""
        device = next(self._model.parameters()).device
        with teacher_forcing(self._model), plain_attention([part.attention for part in self._parts]):
            self._encoder(tokens.masked_fill(~real, self._dictionary.pad()).to(device))

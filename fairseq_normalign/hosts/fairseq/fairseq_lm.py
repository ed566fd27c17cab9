"""fairseq's masked language models: ``roberta``, ``masked_lm`` and what is built like them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from torch import Tensor

from ...analysis.attention_batch import Projections
from ...errors import NormalignError
from ...text.encoding import LineEncoder
from ...text.options import TextOptions
from ...text.subwords import MosesTokenizer
from ...text.vocabulary import scheme_of_dictionary
from ..observer import OneSided, Take
from ..options import ModelOptions
from ..reading import check_parameters, recorded
from .loading import HOST_ERRORS, checkpoint_errors, dictionary_inventory, load_dictionary, silence_fairseq
from .model import every_layer_of, plain_attention, sublayer, teacher_forcing
from .patches import register

MODELS = ("roberta", "masked_lm", "xlm", "bert")


def masked_observer(model: ModelOptions, text: TextOptions, *, max_tokens: int = 4000) -> MaskedObserver | None:
    """Load a masked language model, with the ``dict.txt`` of its data directory; None: it is another kind of model."""
    register()
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.models import build_model

    from .checkpoints import safe_load

    if not Path(model.path).is_file():
        return None
    state = safe_load(str(model.path), mmap=True)
    arguments, config = state.get("args"), state.get("cfg")  # old checkpoints have arguments, new ones a config
    said: Any = config.get("model") if arguments is None and hasattr(config, "get") else arguments
    if not str(getattr(said, "arch", None) or getattr(said, "_name", "") or "").startswith(MODELS):
        return None

    file = Path(model.data or Path(model.path).parent) / "dict.txt"
    if not file.is_file():
        raise NormalignError(f"{file}: no such dictionary; give the directory of the model's dict.txt as --data")
    dictionary = load_dictionary(file)
    dictionary.add_symbol("<mask>")
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary, dictionary=dictionary)
    with silence_fairseq():
        with checkpoint_errors(model.path):
            config = config if arguments is None else convert_namespace_to_omegaconf(arguments)
            built = build_model(config["model"], task)
        try:
            built.load_state_dict(state["model"], strict=True, model_cfg=config["model"])
        except HOST_ERRORS as error:
            reason = " ".join(str(error).split())[:200]
            raise NormalignError(f"{model.path}: its parameters do not fit {file}: {reason}") from None
    check_parameters(built, model.path)
    model.place(built)
    built.eval()
    splitter = text.splitters([scheme_of_dictionary(dictionary)] * 2)[0]
    tokenizer = MosesTokenizer(model.source_lang or "en") if text.tokenizer == "moses" else None
    encoder = LineEncoder(dictionary, splitter, tokenizer=tokenizer, lowercase=text.lowercase)
    return MaskedObserver(built, dictionary, encoder, max_tokens=max_tokens)


class MaskedObserver(OneSided):
    """A masked language model of fairseq: roberta, masked_lm and what is built like them."""

    def __init__(self, model: Any, dictionary: Any, encoder: LineEncoder, *, max_tokens: int) -> None:
        self._encoder = model.encoder.sentence_encoder
        self._lines = encoder
        self._dictionary = dictionary
        self._model = model
        self._parts = [sublayer(layer, "encoder") for layer in every_layer_of(self._encoder.layers)]
        mask = dictionary.index("<mask>")
        super().__init__(
            dictionary_inventory(dictionary),
            mask=None if mask == dictionary.unk() else mask,
            max_tokens=max_tokens,
            longest=int(model.max_positions()),
        )

    def encode(self, line: str) -> list[int]:
        """``<s>``, the pieces, ``</s>``."""
        return [self._dictionary.bos(), *self._lines(line).indices, self._dictionary.eos()]

    def run(self, tokens: Tensor, real: Tensor, take: Take) -> None:
        """Send pieces through the encoder."""
        device = next(self._model.parameters()).device
        tokens = tokens.masked_fill(~real, self._dictionary.pad()).to(device)
        attentions = [part.attention for part in self._parts]
        with (
            teacher_forcing(self._model),
            plain_attention(attentions),
            recorded(self._parts, "encoder", range(len(self._parts)), take, blocks=True),
        ):
            self._encoder(tokens)

    def projections(self) -> list[Projections]:
        """Return the parameters of f, one entry per layer."""
        return [part.projections() for part in self._parts]

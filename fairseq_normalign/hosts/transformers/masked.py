"""BERT and RoBERTa of the library ``transformers``, as far as the analyses need them."""

from __future__ import annotations

import json
from pathlib import Path

from torch import Tensor

from ...errors import NormalignError
from ...text.options import TextOptions
from ..observer import OneSided
from ..options import ModelOptions
from ..reading import Sublayer, check_parameters, evaluating
from .loading import OWN_FILES, find_folder, library, safe_copy
from .text import inventory_of

PARTS = {"attention.self.query", "attention.self.value", "attention.output.dense", "attention.output.LayerNorm"}
"""Modules that each layer must have."""


class BertObserver(OneSided):
    """A directory with a model of the BERT family and its tokenizer."""

    def __init__(self, path: str | Path, *, device: str = "cpu", max_tokens: int = 4000) -> None:
        with library(str(path)) as host, safe_copy(find_folder(str(path))) as copy:
            self._tokenizer = host.AutoTokenizer.from_pretrained(str(copy), **OWN_FILES)
            self._model = host.AutoModel.from_pretrained(
                str(copy), attn_implementation="eager", use_safetensors=True, **OWN_FILES
            )
        check_parameters(self._model, path)
        self._model.to(device).eval()
        layers = list(getattr(getattr(self._model, "encoder", None), "layer", []))
        if not layers or any(not dict(layer.named_modules()).keys() >= PARTS for layer in layers):
            what = type(self._model).__name__
            raise NormalignError(f"{path}: {what} cannot be read; models built like BERT and RoBERTa can")
        parts = [
            Sublayer(
                layer.attention.self,
                layer.attention.self.query,
                layer.attention.self.value,
                layer.attention.output.dense,
                layer.attention.self.num_attention_heads,
                layer.attention.output.LayerNorm,
                layer.output.LayerNorm,
            )
            for layer in layers
        ]
        config = self._model.config
        # positions of RoBERTa start after that of padding
        offset = config.pad_token_id + 1 if config.model_type not in ("bert", "electra") and config.pad_token_id else 0
        super().__init__(
            inventory_of(self._tokenizer.get_vocab(), self._tokenizer),
            parts,
            mask=self._tokenizer.mask_token_id,
            max_tokens=max_tokens,
            longest=config.max_position_embeddings - offset,
        )

    def encode(self, line: str) -> list[int]:
        """The pieces with those that start and end a sentence."""
        return self._tokenizer(line, truncation=False, verbose=False)["input_ids"]

    def forward(self, tokens: Tensor, real: Tensor) -> None:
        """Send pieces through the model."""
        device, padding = self._model.device, self._tokenizer.pad_token_id or 0
        with evaluating(self._model):
            self._model(input_ids=tokens.masked_fill(~real, padding).to(device), attention_mask=real.long().to(device))


def load(model: ModelOptions, text: TextOptions, *, max_tokens: int = 4000) -> BertObserver | None:
    """Load a folder with a model of BERT's kind; None: it says that it has an encoder and a decoder, or is a name."""
    if not Path(model.path).is_dir():
        return None
    try:
        said = json.loads((Path(model.path) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        said = None  # loading it says what is wrong
    if isinstance(said, dict) and said.get("is_encoder_decoder"):
        return None
    return BertObserver(model.path, device=model.device, max_tokens=max_tokens)

"""BERT and RoBERTa of the library ``transformers``, as far as the analyses need them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from ...analysis.attention_batch import Inventory, Projections
from ...errors import NormalignError
from ..observer import OneSided, Take
from ..reading import Sublayer, check_parameters, evaluating, recorded
from .loading import find_folder, library, safe_copy

PARTS = {"attention.self.query", "attention.self.value", "attention.output.dense", "attention.output.LayerNorm"}
"""Modules that each layer must have."""


class BertObserver(OneSided):
    """A directory with a model of the BERT family and its tokenizer."""

    def __init__(self, path: str | Path, *, device: str = "cpu", max_tokens: int = 4000) -> None:
        with library(str(path)) as host, safe_copy(find_folder(str(path))) as copy:
            given: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
            self._tokenizer = host.AutoTokenizer.from_pretrained(str(copy), **given)
            self._model = host.AutoModel.from_pretrained(
                str(copy), attn_implementation="eager", use_safetensors=True, **given
            )
        check_parameters(self._model, path)
        self._model.to(device).eval()
        self._device = device
        layers = list(getattr(getattr(self._model, "encoder", None), "layer", []))
        if not layers or any(not dict(layer.named_modules()).keys() >= PARTS for layer in layers):
            what = type(self._model).__name__
            raise NormalignError(f"{path}: {what} cannot be read; models built like BERT and RoBERTa can")
        self._parts = [
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
        vocabulary = self._tokenizer.get_vocab()
        symbols = [""] * (max(vocabulary.values()) + 1)
        for symbol, number in vocabulary.items():
            symbols[number] = symbol
        special = frozenset(self._tokenizer.all_special_ids) - {self._tokenizer.unk_token_id}
        config = self._model.config
        # positions of RoBERTa start after that of padding
        offset = config.pad_token_id + 1 if config.model_type not in ("bert", "electra") and config.pad_token_id else 0
        super().__init__(
            Inventory(symbols, special),
            mask=self._tokenizer.mask_token_id,
            max_tokens=max_tokens,
            longest=config.max_position_embeddings - offset,
        )

    def encode(self, line: str) -> list[int]:
        """The pieces with those that start and end a sentence."""
        return self._tokenizer(line, truncation=False, verbose=False)["input_ids"]

    def run(self, tokens: Tensor, real: Tensor, take: Take) -> None:
        """Send pieces through the model."""
        padding = self._tokenizer.pad_token_id or 0
        with evaluating(self._model), recorded(self._parts, "encoder", range(len(self._parts)), take, blocks=True):
            self._model(
                input_ids=tokens.masked_fill(~real, padding).to(self._device),
                attention_mask=real.long().to(self._device),
            )

    def projections(self) -> list[Projections]:
        """Return the parameters of f, one entry per layer."""
        return [part.projections() for part in self._parts]


def is_bert(path: str | Path) -> bool:
    """Whether a folder may be a model of BERT's kind: it does not say that it has an encoder and a decoder."""
    if not Path(path).is_dir():
        return False
    try:
        said = json.loads((Path(path) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return True  # loading it says what is wrong
    return not (isinstance(said, dict) and said.get("is_encoder_decoder"))

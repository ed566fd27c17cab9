"""Pieces and languages of a published model, in the form of a tokenizer of ``transformers``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import NormalignError
from .files import Side

CODE = re.compile(r"__([a-z]{2,3})__|([a-z]{2,3}_[A-Z][A-Za-z]{1,3})")
"""Languages of M2M-100, and of NLLB and mBART."""
SEVERAL = 5
"""From so many language codes on, a model is one for many languages."""
BYTE = re.compile("<0x([0-9A-F]{2})>")


class Pieces:
    """What the transformers host asks of a tokenizer, over a SentencePiece model and a vocabulary."""

    is_fast = False
    prefix_tokens: Sequence[int] = ()

    def __init__(self, side: Side, settings: Mapping[str, Any], languages: tuple[str | None, str | None]) -> None:
        """``settings``: CTranslate2's config.json says what stands around a source."""
        self._splitter, self._pieces = side.splitter, side.pieces
        self._indices: dict[str, int] = {}
        for index, piece in enumerate(side.pieces):
            self._indices.setdefault(piece, index)
        named = {name: str(settings.get(f"{name}_token") or default) for name, default in SPECIAL.items()}
        for name in ("unk", "eos"):
            if named[name] not in self._indices:
                raise NormalignError(f"its vocabulary has no '{named[name]}'")
        self.unk_token = named["unk"]
        self.unk_token_id = self._indices[self.unk_token]
        self.eos_token_id = self._indices[named["eos"]]
        self._front = [self._indices[named["bos"]]] if settings.get("add_source_bos") else []
        self._back = [self.eos_token_id] if settings.get("add_source_eos", True) else []
        codes = {
            found[1] or found[2]: index for piece, index in self._indices.items() if (found := CODE.fullmatch(piece))
        }
        self.lang_code_to_id = codes if len(codes) >= SEVERAL else {}
        self.src_lang: str | None = None
        self.tgt_lang: str | None = None
        self.source_lang, self.target_lang = languages
        known = [piece for piece in (*named.values(), "<pad>") if piece in self._indices]
        self.all_special_tokens = [*known, *(self._pieces[index] for index in self.lang_code_to_id.values())]
        self.all_special_ids = [self._indices[piece] for piece in self.all_special_tokens]

    def __call__(
        self, text: str | None = None, text_target: str | None = None, add_special_tokens: bool = True
    ) -> dict[str, list[int]]:
        """Return the indices of a text, with what stands around it."""
        indices = self.convert_tokens_to_ids(self.tokenize(text or text_target or ""))
        if not add_special_tokens:
            return {"input_ids": indices}
        if text is None:
            return {"input_ids": [*indices, self.eos_token_id]}
        language = [self.lang_code_to_id[str(self.src_lang)]] if self.lang_code_to_id else []
        return {"input_ids": [*self._front, *language, *indices, *self._back]}

    def tokenize(self, text: str, **_: Any) -> list[str]:
        """Return the pieces of a text."""
        return list(self._splitter.encode(text, out_type=str))

    def get_vocab(self) -> dict[str, int]:
        """Return the index of each piece."""
        return self._indices

    def convert_tokens_to_ids(self, pieces: Any) -> Any:
        """Return the index of a piece, or those of several."""
        if isinstance(pieces, str):
            return self._indices.get(pieces, self.unk_token_id)
        return [self._indices.get(piece, self.unk_token_id) for piece in pieces]

    def convert_ids_to_tokens(self, indices: Sequence[int]) -> list[str]:
        """Return how pieces are written."""
        return [self._pieces[index] if index < len(self._pieces) else self.unk_token for index in indices]

    def decode(self, indices: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of pieces."""
        special = set(self.all_special_tokens) - {self.unk_token}
        made = b""
        for piece in self.convert_ids_to_tokens(indices):
            byte = BYTE.fullmatch(piece)
            if not (skip_special_tokens and piece in special):
                made += bytes([int(byte[1], 16)]) if byte else piece.replace("▁", " ").encode()
        return made.decode("utf-8", "replace").strip()


SPECIAL = {"unk": "<unk>", "eos": "</s>", "bos": "<s>"}

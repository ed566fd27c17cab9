"""Sizes in a stranger's configuration, checked before a model is built: a small file must not fill the memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ...errors import NormalignError

MOST_LAYERS, MOST_POSITIONS = 1000, 1 << 17
SIZE = re.compile(
    r"(layers|heads|d_model|d_ff|d_kv|hidden_size|ffn_dim|vocab_size|max_position_embeddings|embed_dim)$|^num_"
)
"""Names of sizes."""
AT_LEAST_ONE = re.compile(r"^((en|de)coder_(layers|attention_heads|ffn_dim)|num_heads|num_layers|d_model|d_ff|d_kv)$")


def check_sizes(config: Mapping[str, object], folder: Path, weights: str) -> None:
    """Refuse sizes that no model has, or that the files of the weights (their pattern) have no room for."""
    room = sum(file.stat().st_size for file in folder.glob(weights))
    for key, value in config.items():
        if "drop" in key and isinstance(value, int | float) and not 0 <= value <= 1:
            raise NormalignError(f"{folder}: refused: its configuration asks for {key} {value}; it is from 0 to 1")
        if not SIZE.search(key) or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        least = 1 if AT_LEAST_ONE.match(key) else 0
        if not value >= least:
            raise NormalignError(f"{folder}: refused: its configuration asks for {key} {value}; {least} is the least")
        most = MOST_LAYERS if "layers" in key else MOST_POSITIONS if "position" in key else None
        if most is not None and value > most:
            raise NormalignError(f"{folder}: refused: its configuration asks for {key} {value}; {most} is the most")
        if value > room:
            raise NormalignError(f"{folder}: its configuration asks for {key} {value}, its weights have {room} bytes")

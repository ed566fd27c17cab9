"""The options that make fairseq-train build the Transformer of a checkpoint again. Called by 1_finetune.sh."""

from __future__ import annotations

import sys
from typing import Any

from fairseq_normalign.bridge.checkpoints import safe_load

SIZES = ("layers", "embed_dim", "ffn_embed_dim", "attention_heads")
CHOICES = ("learned_pos", "normalize_before")
SHARED = ("share_all_embeddings", "share_decoder_input_output_embed", "no_scale_embedding", "layernorm_embedding")


def options(model: Any) -> list[str]:
    found = []
    for side in ("encoder", "decoder"):
        found += [f"--{_dashed(f'{side}_{name}')}={getattr(model, f'{side}_{name}')}" for name in SIZES]
    choices = [f"{side}_{name}" for side in ("encoder", "decoder") for name in CHOICES]
    return found + [f"--{_dashed(name)}" for name in (*SHARED, *choices) if getattr(model, name, False)]


def _dashed(name: str) -> str:
    return name.replace("_", "-")


if __name__ == "__main__":
    state = safe_load(sys.argv[1])
    print(*options(state["args"] if state.get("args") is not None else state["cfg"]["model"]))

"""The fairseq-train arguments that build a model like the one of a checkpoint, so that training can go on from it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairseq_normalign.errors import NormalignError

SIZES = ("layers", "embed_dim", "ffn_embed_dim", "attention_heads")
SWITCHES = ("normalize_before", "learned_pos")
SHARED = ("share_all_embeddings", "share_decoder_input_output_embed", "no_scale_embedding", "layernorm_embedding")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--arch", default="transformer_normalign", help="the architecture to train")
    parser.add_argument("--aligner", type=int, metavar="N", help="of an aligner with so many of its decoder layers")


def run(args: argparse.Namespace) -> None:
    from fairseq_normalign.hosts.fairseq.checkpoints import safe_load
    from fairseq_normalign.hosts.fairseq.patches import register

    if not args.checkpoint.is_file():
        raise NormalignError(f"{args.checkpoint}: no such checkpoint")
    register()
    state = safe_load(str(args.checkpoint))
    saved = state["args"] if state.get("args") is not None else state["cfg"]["model"]
    if args.aligner:
        print("--arch normalign_aligner", *options_of(saved), "--decoder-layers", args.aligner)
    else:
        print("--arch", args.arch, *options_of(saved))


def options_of(saved: Any) -> Iterator[str]:
    """One string an option, from the arguments saved with a model."""
    for side in ("encoder", "decoder"):
        for name in (f"{side}_{size}" for size in SIZES):
            yield f"{option(name)} {getattr(saved, name)}"
        for name in (f"{side}_{switch}" for switch in SWITCHES):
            if getattr(saved, name, False):
                yield option(name)
    for name in SHARED:
        if getattr(saved, name, False):
            yield option(name)
    yield f"--activation-fn {getattr(saved, 'activation_fn', 'relu')}"


def option(name: str) -> str:
    return "--" + name.replace("_", "-")

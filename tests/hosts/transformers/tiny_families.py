"""Tiny random models of every family, and a batch for them. Every parameter is random, biases and norms too: nothing
that a method might forget is zero or one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from fairseq_normalign.hosts.protocol import Batch
from fairseq_normalign.hosts.transformers.loading import hide_broken_audio

hide_broken_audio()
import transformers  # noqa: E402

PAD, END, WORDS = 1, 2, 16
SIZES = {
    "d_model": 8,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 12,
    "decoder_ffn_dim": 10,
    "vocab_size": WORDS,
    "max_position_embeddings": 40,
    "pad_token_id": PAD,
    "bos_token_id": 0,
    "eos_token_id": END,
    "decoder_start_token_id": END,
    "forced_eos_token_id": None,
}
T5_SIZES = {
    "d_model": 8,
    "d_kv": 3,  # times heads it is not the width of the model
    "d_ff": 12,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 2,
    "vocab_size": WORDS,
    "pad_token_id": PAD,
    "eos_token_id": END,
    "decoder_start_token_id": PAD,
}
FAMILIES = {
    "marian": ("Marian", "MarianMTModel", {**SIZES, "decoder_start_token_id": PAD, "scale_embedding": True}),
    "m2m100": ("M2M100", "M2M100ForConditionalGeneration", {**SIZES, "scale_embedding": True}),
    "mbart": ("MBart", "MBartForConditionalGeneration", {**SIZES, "scale_embedding": True}),
    "bart": ("Bart", "BartForConditionalGeneration", SIZES),
    "pegasus": ("Pegasus", "PegasusForConditionalGeneration", SIZES),
    "plbart": ("PLBart", "PLBartForConditionalGeneration", SIZES),
    "fsmt": (
        "FSMT",
        "FSMTForConditionalGeneration",
        {**SIZES, "src_vocab_size": WORDS, "tgt_vocab_size": WORDS, "langs": ["de", "en"]},
    ),
    "t5": ("T5", "T5ForConditionalGeneration", T5_SIZES),
    "t5 gated": ("T5", "T5ForConditionalGeneration", {**T5_SIZES, "feed_forward_proj": "gated-gelu"}),
    "mt5": ("MT5", "MT5ForConditionalGeneration", {**T5_SIZES, "tie_word_embeddings": False}),
    "umt5": ("UMT5", "UMT5ForConditionalGeneration", T5_SIZES),
}
T5_KIN = ("t5", "t5 gated", "mt5", "umt5")


def tiny_model(family: str, *, seed: int = 1, **options: Any) -> Any:
    """2 encoder and 3 decoder layers, 8 channels, 2 heads; float64 (FSMT cannot: float32), evaluation mode."""
    config_name, model_name, sizes = FAMILIES[family]
    config = getattr(transformers, f"{config_name}Config")(**{**sizes, **options})
    model = getattr(transformers, model_name)(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:  # sinusoidal positions stay as they are
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=generator))
    return (model if family == "fsmt" else model.double()).eval().requires_grad_(False)


def tolerance(family: str) -> float:
    return 2e-5 if family == "fsmt" else 1e-10


SOURCES = [[4, 5, 6, 7, END], [8, 9, END], [5, END]]
TARGETS = [[4, 5, 6], [7, 8, 9, 10], [11]]


def tiny_batch(model: Any, *, left: bool = False, numbers: Sequence[int] = (0, 1, 2), start: tuple = ()) -> Batch:
    """Some of three pairs of different length; the sources are padded on the right or on the left."""
    rows = [SOURCES[number] for number in numbers]
    longest = max(map(len, rows))
    padded = [[PAD] * (longest - len(row)) + row if left else row + [PAD] * (longest - len(row)) for row in rows]
    ids = torch.tensor(padded)
    return Batch(
        encoder_input={"input_ids": ids, "attention_mask": ids.ne(PAD).long()},
        source_tokens=ids,
        source_padding=ids.eq(PAD),
        targets=[torch.tensor(TARGETS[number]) for number in numbers],
        rows=range(len(rows)),
        start=start or (model.config.decoder_start_token_id,),
        end=END,
        pad=PAD,
    )

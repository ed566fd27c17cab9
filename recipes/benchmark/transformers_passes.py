"""What reading a model of Hugging Face transformers costs, against the library's own ways. Marian of OPUS-MT's size."""

from __future__ import annotations

import torch
from measuring import in_turns

from fairseq_normalign.align.options import AlignmentOptions
from fairseq_normalign.align.reader import Reader
from fairseq_normalign.hosts.protocol import Batch
from fairseq_normalign.hosts.transformers.model import TransformersModel

WORDS = 32_768
PAD, END = WORDS - 1, 0


class LibraryPasses:
    """The ways to run one batch through one random model: 6 + 6 layers, 512 channels, 8 heads."""

    def __init__(self, pairs: int, length: int) -> None:
        from transformers import MarianConfig, MarianMTModel

        torch.set_num_threads(1)
        torch.manual_seed(1)
        sides = {f"{side}_{what}": size for side in ("encoder", "decoder") for what, size in SIZES.items()}
        special = {"pad_token_id": PAD, "eos_token_id": END, "decoder_start_token_id": PAD}
        config = MarianConfig(vocab_size=WORDS, d_model=512, **sides, **special)
        self.module = MarianMTModel(config).eval()
        sources = torch.randint(1, PAD, (pairs, length))
        self.inputs = {"input_ids": sources, "attention_mask": torch.ones_like(sources)}
        targets = list(torch.randint(1, PAD, (pairs, length - 1)))
        padding = torch.zeros_like(sources, dtype=torch.bool)
        self.batch = Batch(self.inputs, sources, padding, targets, range(pairs), (PAD,), END, PAD)
        self.tokens = self.batch.decoder_input()
        self.reader = Reader([TransformersModel(self.module)])

    def plain(self) -> None:
        """The library's forward pass with the attention it chooses by itself, and the softmax."""
        self._run().logits.log_softmax(-1)

    def asked(self) -> None:
        """The library's own way to all attention weights."""
        self.module.set_attn_implementation("eager")
        try:
            self._run(output_attentions=True)
        finally:
            self.module.set_attn_implementation("sdpa")

    def low(self) -> None:
        """Norms at the bottom third of the decoder."""
        self.reader.read(self.batch, [AlignmentOptions(method="norms", layer=2).reading(self.reader.layers).place])

    def every(self) -> None:
        """Norms and weights of every layer and head, in one pass."""
        self.reader.read(
            self.batch, [place for name in ("norms", "weights") for place in self.reader.places(name, heads=True)]
        )

    def _run(self, **options: bool):
        with torch.no_grad():
            return self.module(**self.inputs, decoder_input_ids=self.tokens, use_cache=False, **options)


SIZES = {"layers": 6, "attention_heads": 8, "ffn_dim": 2048}


def seconds(pairs: int, length: int, repetitions: int) -> dict[str, float]:
    """CPU seconds of each way to run a batch."""
    passes = LibraryPasses(pairs, length)
    return in_turns({way: getattr(passes, way) for way in ("plain", "asked", "low", "every")}, repetitions)

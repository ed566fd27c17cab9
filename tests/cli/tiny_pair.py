"""Two tiny Transformers with random weights, one for each direction, their dictionaries and a text: all made here."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

WORDS = 40
LONGEST = 24
"""Positions of the models: longer lines cannot be aligned."""


@dataclass(frozen=True)
class TinyPair:
    """de-en and en-de in one folder, with a text of ``lines`` pairs in pieces."""

    folder: Path
    lines: int

    def path(self, direction: str = "de-en") -> Path:
        return self.folder / f"{direction}.pt"

    def arguments(self, source: Path | None = None, target: Path | None = None) -> list[str]:
        """What every verb needs."""
        texts = source or self.folder / "text.de", target or self.folder / "text.en"
        found = ["--path", self.path(), "--data", self.folder, "--source", texts[0], "--target", texts[1], "--cpu"]
        return list(map(str, found))

    def turned(self) -> list[str]:
        """The same of the other direction."""
        found = self.arguments(self.folder / "text.en", self.folder / "text.de")
        return [str(self.path("en-de")) if word == str(self.path()) else word for word in found]

    def reverse(self) -> list[str]:
        return list(map(str, ["--reverse-path", self.path("en-de"), "--reverse-data", self.folder]))


def make_tiny_pair(folder: Path, lines: int = 30) -> TinyPair:
    from fairseq.data import Dictionary

    words = Dictionary()
    for number in range(WORDS):
        words.add_symbol(f"w{number}@@" if number % 5 == 0 else f"w{number}")
    for language in ("de", "en"):
        words.save(str(folder / f"dict.{language}.txt"))
    for seed, (source, target) in enumerate((("de", "en"), ("en", "de"))):
        _save(folder / f"{source}-{target}.pt", words, source, target, seed)
    write_text(folder, lines)
    return TinyPair(folder, lines)


def write_text(folder: Path, lines: int, name: str = "text") -> None:
    """Random pieces; a word ends in one without the mark."""
    chance = np.random.default_rng(lines)
    for language in ("de", "en"):
        with open(folder / f"{name}.{language}", "w", encoding="utf-8") as handle:
            for _ in range(lines):
                pieces = [
                    f"w{n}@@" if n % 5 == 0 else f"w{n}" for n in chance.integers(0, WORDS, chance.integers(1, 12))
                ]
                print(*pieces, "w1", file=handle)


def _save(path: Path, words, source: str, target: str, seed: int) -> None:
    from fairseq import checkpoint_utils
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.models.transformer import TransformerModel
    from fairseq.models.transformer.transformer_legacy import base_architecture
    from fairseq.tasks.translation import TranslationTask

    args = Namespace(
        arch="transformer", task="translation", data=str(path.parent), source_lang=source, target_lang=target
    )
    args.encoder_layers, args.decoder_layers = 1, 3
    args.max_source_positions = args.max_target_positions = LONGEST
    for side in ("encoder", "decoder"):
        setattr(args, f"{side}_embed_dim", 8)
        setattr(args, f"{side}_ffn_embed_dim", 8)
        setattr(args, f"{side}_attention_heads", 2)
    base_architecture(args)
    config = convert_namespace_to_omegaconf(args)
    model = TransformerModel.build_model(args, TranslationTask(config.task, words, words))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)
    history = {"criterion_name": "", "optimizer_name": "", "lr_scheduler_state": {}, "num_updates": 0}
    state = {
        "cfg": config,
        "args": None,
        "model": model.state_dict(),
        "optimizer_history": [history],
        "extra_state": {},
    }
    checkpoint_utils.torch_persistent_save(state, str(path))

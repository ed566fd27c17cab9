"""Models with random weights and texts of random words: what things cost does not depend on what they mean."""

from __future__ import annotations

import warnings
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairseq_normalign.hosts.fairseq.patches import register
from fairseq_normalign.hosts.loading import silenced

warnings.filterwarnings("ignore", category=UserWarning, module="torch")

HISTORY = {"criterion_name": "", "optimizer_name": "", "lr_scheduler_state": {}, "num_updates": 0}
LANGUAGES = ("aa", "bb")


@dataclass(frozen=True)
class Size:
    """wmt_en_de unless said otherwise."""

    channels: int = 512
    inner: int = 2048
    heads: int = 8
    layers: int = 6
    words: int = 32768


TINY = Size(channels=32, inner=64, heads=2, layers=2, words=512)


def make_checkpoint(folder: Path, size: Size, *, turned: bool = False) -> Path:
    """A checkpoint of this size with its dictionaries beside it; ``turned``: of the other direction."""
    source, target = LANGUAGES[::-1] if turned else LANGUAGES
    register()
    from fairseq import checkpoint_utils
    from fairseq.data import Dictionary
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.models.transformer import TransformerModel
    from fairseq.models.transformer.transformer_legacy import base_architecture
    from fairseq.tasks.translation import TranslationTask

    folder.mkdir(parents=True, exist_ok=True)
    words = Dictionary()
    for number in range(size.words - len(words)):
        words.add_symbol(f"w{number}")
    for language in LANGUAGES:
        words.save(str(folder / f"dict.{language}.txt"))
    args = Namespace(
        arch="transformer",
        task="translation",
        data=str(folder),
        source_lang=source,
        target_lang=target,
        left_pad_source=True,
        left_pad_target=False,
        share_all_embeddings=True,
        encoder_layers=size.layers,
        decoder_layers=size.layers,
    )
    for side in ("encoder", "decoder"):
        setattr(args, f"{side}_embed_dim", size.channels)
        setattr(args, f"{side}_ffn_embed_dim", size.inner)
        setattr(args, f"{side}_attention_heads", size.heads)
    base_architecture(args)
    with silenced():
        torch.manual_seed(1)
        config = convert_namespace_to_omegaconf(args)
        model = TransformerModel.build_model(args, TranslationTask(config.task, words, words))
        path = folder / "checkpoint.pt"
        state = {
            "cfg": config,
            "args": None,
            "model": model.state_dict(),
            "optimizer_history": [HISTORY],
            "extra_state": {},
        }
        checkpoint_utils.torch_persistent_save(state, str(path))
    return path


def load(path: Path) -> Any:
    """The model and its task, as our commands load them."""
    from fairseq_normalign.hosts.fairseq.loading import load_models

    return load_models(path)


def batch_of(pairs: int, length: int, words: int = 512, seed: int = 1) -> dict[str, torch.Tensor]:
    """Random sentences without padding, ``length`` positions on both sides: src_tokens, src_lengths, targets."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, words, (2, pairs, length), generator=generator)
    tokens[0, :, -1] = 2
    return {
        "src_tokens": tokens[0],
        "src_lengths": torch.full((pairs,), length),
        "targets": tokens[1][:, : length - 1],
    }


def write_text(folder: Path, name: str, pairs: int, shortest: int, longest: int, words: int) -> tuple[Path, Path]:
    """Two files of random words."""
    generator = np.random.default_rng(1)
    paths = folder / f"{name}.{LANGUAGES[0]}", folder / f"{name}.{LANGUAGES[1]}"
    for path in paths:
        with open(path, "w", encoding="utf-8") as handle:
            for length in generator.integers(shortest, longest + 1, size=pairs):
                handle.write(" ".join(f"w{number}" for number in generator.integers(0, words - 4, size=length)) + "\n")
    return paths

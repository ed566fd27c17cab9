"""The toy: two tiny German-English models that ship with the package, with a text and its gold alignment.

``normalign try`` shows what they say, and the examples of the documentation run on them. README.md beside this file
tells how they were made and what they are not good for.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypedDict

from ..errors import NormalignError
from ..requirements import is_installed

FOLDER = Path(__file__).parent
LANGUAGES = ("de", "en")
FILES = ("de-en.pt", "en-de.pt", "codes", "dict.de.txt", "dict.en.txt", "text.de", "text.en", "gold.talp", "README.md")
"""What a copy of the toy holds."""


class Loading(TypedDict):
    """How models are loaded: the options of :func:`fairseq_normalign.load` that the toy needs."""

    bpe_codes: str
    tokenizer: str
    lowercase: bool


LOADING: Loading = {"bpe_codes": str(FOLDER / "codes"), "tokenizer": "moses", "lowercase": True}
"""How its checkpoints are loaded, beside their paths."""


def paths() -> tuple[Path, Path]:
    """Return the checkpoints of both directions.

    >>> [path.name for path in paths()]
    ['de-en.pt', 'en-de.pt']
    """
    return FOLDER / "de-en.pt", FOLDER / "en-de.pt"


def unfamiliar(words: Sequence[str], language: str) -> list[str]:
    """Return the words that the toy's training text has fewer than five times, in their order, each once.

    >>> unfamiliar(["Der", "Minister", "twittert", "."], "de")
    ['twittert']
    """
    return list(dict.fromkeys(word for word in words if word.lower() not in _familiar(language)))


@cache
def _familiar(language: str) -> frozenset[str]:
    return frozenset((FOLDER / f"words.{language}").read_text(encoding="utf-8").split())


def needs_transformers() -> bool:
    """Whether only transformers can read the toy: it is installed, with torch, and fairseq is not."""
    return not is_installed("fairseq") and is_installed("transformers") and is_installed("torch")


def write_folders(folder: str | Path) -> tuple[Path, Path]:
    """Write both models as folders of transformers (FSMT, fairseq's Transformer there) into ``folder``; return them.

    They have their own tokenizer: :data:`LOADING` without the codes.
    """
    import argparse

    import torch
    from safetensors.torch import save_file

    folders = Path(folder) / "de-en", Path(folder) / "en-de"
    for checkpoint, made, languages in zip(paths(), folders, (LANGUAGES, LANGUAGES[::-1]), strict=True):
        made.mkdir(parents=True)
        with torch.serialization.safe_globals([argparse.Namespace]):
            state = torch.load(checkpoint, weights_only=True)
        arguments, tensors = state["args"], state["model"]
        tensors = {f"model.{name}": one.float() for name, one in tensors.items() if not name.endswith(".version")}

        pieces, size = tensors["model.encoder.embed_tokens.weight"].shape
        rows = tensors["model.decoder.embed_positions.weight"].shape[0]  # learned; the encoder's are sines and cosines
        rates = torch.exp(torch.arange(size // 2) * -(math.log(10000) / (size // 2 - 1)))
        angles = torch.arange(rows)[:, None] * rates
        positions = torch.cat([angles.sin(), angles.cos()], dim=1)
        positions[1] = 0  # padding
        tensors["model.encoder.embed_positions.weight"] = positions
        save_file({name: one.clone() for name, one in tensors.items()}, made / "model.safetensors", {"format": "pt"})

        config: dict[str, object] = {
            "model_type": "fsmt",
            "architectures": ["FSMTForConditionalGeneration"],
            "langs": list(languages),
        }
        config |= {"src_vocab_size": pieces, "tgt_vocab_size": pieces, "d_model": size, "activation_function": "relu"}
        config |= {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
        config |= {"max_position_embeddings": rows - 2, "scale_embedding": True, "tie_word_embeddings": False}
        config |= {"num_beams": 5, "max_length": 200, "early_stopping": False, "forced_eos_token_id": 2}
        for side in ("encoder", "decoder"):
            config[f"{side}_layers"] = getattr(arguments, f"{side}_layers")
            config[f"{side}_attention_heads"] = getattr(arguments, f"{side}_attention_heads")
            config[f"{side}_ffn_dim"] = getattr(arguments, f"{side}_ffn_embed_dim")
        tokenizer = {"langs": list(languages), "do_lower_case": True, "tokenizer_class": "FSMTTokenizer"}
        for name, content in (("config.json", config), ("tokenizer_config.json", tokenizer)):
            (made / name).write_text(json.dumps(content, indent=1), encoding="utf-8")
        for name, language in zip(("vocab-src.json", "vocab-tgt.json"), languages, strict=True):
            known = (FOLDER / f"dict.{language}.txt").read_text(encoding="utf-8").splitlines()
            written = (
                line.rpartition(" ")[0] for line in known
            )  # fairseq marks pieces that go on, FSMT those that end
            ends = (one.removesuffix("@@") if one.endswith("@@") else f"{one}</w>" for one in written)
            numbers = {piece: number for number, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", *ends])}
            (made / name).write_text(json.dumps(numbers, ensure_ascii=False), encoding="utf-8")
        merges = (FOLDER / "codes").read_text(encoding="utf-8").partition("\n")[2]  # without the line of the version
        (made / "merges.txt").write_text(merges, encoding="utf-8")
    return folders


def copy_to(folder: str | Path) -> list[str]:
    """Copy models, dictionaries, codes, text and gold into a new or empty folder; return their names.

    Where only transformers can read the models, they are written as folders as well.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise NormalignError(f"{folder}: not empty; the toy's files go into a new folder")
    for name in FILES:
        shutil.copyfile(FOLDER / name, folder / name)
    return [*FILES, *(made.name for made in write_folders(folder))] if needs_transformers() else list(FILES)

"""From what a user names (checkpoint, codes, options) to a direction that aligns lines."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import torch

from ..errors import NormalignError, reason_of
from ..files import check_regular
from ..hosts.fairseq.loading import LoadedModels, load_models
from ..text.encoding import LineEncoder
from ..text.subwords import AlreadyPieces, MosesTokenizer, SentencePiece, Splitter, SubwordNmt
from ..text.vocabulary import Vocabulary, scheme_of_dictionary
from .aligner import Aligner
from .directions import Direction
from .options import AlignmentOptions

TOKENIZERS = ("moses",)
PRECISIONS = {"fp16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class TextOptions:
    """How lines are made into pieces. Codes and models: one for both sides, or the source's and the target's."""

    bpe_codes: Sequence[str] = ()
    sentencepiece_models: Sequence[str] = ()
    tokenizer: str | None = None
    lowercase: bool = False

    def __post_init__(self) -> None:
        if self.bpe_codes and self.sentencepiece_models:
            raise NormalignError("give --bpe-codes or --sentencepiece-model, not both")
        for name, given in (("--bpe-codes", self.bpe_codes), ("--sentencepiece-model", self.sentencepiece_models)):
            if len(given) > 2:
                raise NormalignError(
                    f"{name} takes one file, or the source's and the target's; {len(given)} were given"
                )

    def turned(self) -> TextOptions:
        """The same for the other direction."""
        return TextOptions(self.bpe_codes[::-1], self.sentencepiece_models[::-1], self.tokenizer, self.lowercase)

    def splitters(self, dictionaries: Sequence[Any]) -> list[Splitter]:
        """One for the source, one for the target."""
        make: Callable[[str], Splitter] = SubwordNmt if self.bpe_codes else SentencePiece
        files = list(self.bpe_codes or self.sentencepiece_models)
        if not files:
            return [AlreadyPieces(scheme_of_dictionary(dictionary)) for dictionary in dictionaries]
        made = [make(file) for file in files]
        return [made[0], made[-1]]


@dataclass(frozen=True)
class ModelOptions:
    """Which checkpoint, with which dictionaries, computing where and in which precision."""

    path: str
    data: str | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    device: str = "cpu"
    precision: str | None = None
    """A key of PRECISIONS, or None: as the checkpoint is."""

    def load(self) -> LoadedModels:
        """The models, ready to be read."""
        loaded = load_models(self.path, data=self.data, source_lang=self.source_lang, target_lang=self.target_lang)
        for model in loaded.models:
            model.to(device=self.device, dtype=PRECISIONS[self.precision] if self.precision else None)
        return loaded


def make_direction(
    model: ModelOptions, text: TextOptions, options: AlignmentOptions, *, max_tokens: int = 4000, level: str = "word"
) -> Direction:
    """Load a model and make it align lines of text."""
    loaded = model.load()
    dictionaries = loaded.source_dictionary, loaded.target_dictionary
    splitters = text.splitters(dictionaries)
    languages = loaded.task.cfg.source_lang, loaded.task.cfg.target_lang
    encoders = [
        LineEncoder(
            dictionary,
            splitter,
            tokenizer=MosesTokenizer(language) if text.tokenizer == "moses" else None,
            lowercase=text.lowercase,
            end=is_source,
            tags=options.tags,
        )
        for dictionary, splitter, language, is_source in zip(
            dictionaries, splitters, languages, (True, False), strict=True
        )
    ]
    source, target = (
        Vocabulary(dictionary, splitter.scheme, tags=options.tags)
        for dictionary, splitter in zip(dictionaries, splitters, strict=True)
    )
    return Direction(Aligner(loaded.models, source, target, options), *encoders, max_tokens=max_tokens, level=level)


def fingerprint(path: str | Path) -> str:
    """A short name for the content of a file (its size and the start of its SHA-256), or of all files of a folder."""
    if os.path.isdir(path):
        return ",".join(f"{file.name}:{fingerprint(file)}" for file in sorted(Path(path).iterdir()) if file.is_file())
    try:
        check_regular(path)
        with open(path, "rb") as handle:
            return f"{os.fstat(handle.fileno()).st_size}:{_sha256(handle)[:16]}"
    except OSError as error:
        raise NormalignError(f"{path}: {reason_of(error)}") from None


def _sha256(handle: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := handle.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def dictionaries(path: str, data: str | None) -> list[str]:
    """The dictionary files that the checkpoint(s) at ``path`` may be read with, in their order."""
    folder = Path(data) if data is not None else Path(path.split(":")[0]).parent
    return sorted(map(str, folder.glob("dict.*.txt")))

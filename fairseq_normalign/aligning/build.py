"""From what a user names (checkpoint, codes, options) to a direction that aligns lines."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import NormalignError
from ..half_precision import place
from ..hosts.fairseq.loading import LoadedModels, load_models
from ..text.encoding import LineEncoder
from ..text.subwords import AlreadyPieces, MosesTokenizer, SentencePiece, Splitter, SubwordNmt
from ..text.vocabulary import Vocabulary, scheme_of_dictionary
from .aligner import Aligner
from .directions import Direction
from .options import AlignmentOptions

TOKENIZERS = ("moses",)


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
    """A key of :data:`..half_precision.PRECISIONS`, or None: as the checkpoint is."""

    def load(self) -> LoadedModels:
        """The models, ready to be read."""
        loaded = load_models(self.path, data=self.data, source_lang=self.source_lang, target_lang=self.target_lang)
        for model in loaded.models:
            place(model, self.device, self.precision)
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
    """A short name of a file's content that does not take long: its size and the digest of its two ends."""
    try:
        with open(path, "rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            digest = hashlib.sha256(handle.read(1 << 20))
            handle.seek(max(0, size - (1 << 20)))
            digest.update(handle.read())
    except OSError as error:
        raise NormalignError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    return f"{size}:{digest.hexdigest()[:16]}"

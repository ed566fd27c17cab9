"""How lines of text become words and pieces, as a user chooses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from ..errors import NormalignError
from ..options import READS, FilePaths, check_values, option, optional, options, paths, switch
from .subwords import TOKENIZERS, AlreadyPieces, SentencePiece, Splitter, SubwordNmt
from .words import WORD_KINDS, WordFinder, word_finder


@options
class TextOptions:
    """How lines become words and pieces. Codes and models: one for both sides, or the source's and the target's."""

    GROUP: ClassVar = "text"
    bpe_codes: FilePaths = option(
        "subword-nmt or fastBPE codes: of both sides, or source target", default=(), nargs="+", role=READS
    )
    sentencepiece_model: FilePaths = option(
        "SentencePiece model: of both sides, or source target", default=(), nargs="+", role=READS
    )
    tokenizer: str | None = optional(
        "lines are raw text; links count the words that this tokenizer makes", choices=TOKENIZERS
    )
    words: str | None = optional(
        "what links count in natural text (the words of the tokenizer, or those that spaces separate)",
        choices=WORD_KINDS,
    )
    lowercase: bool = switch("lower-case the words first")

    def __post_init__(self) -> None:
        codes, models = paths(self.bpe_codes), paths(self.sentencepiece_model)
        if codes and models:
            raise NormalignError("give BPE codes or a SentencePiece model, not both")
        for what, given in (("BPE codes", codes), ("SentencePiece models", models)):
            if len(given) > 2:
                raise NormalignError(
                    f"{what}: one file for both sides, or the source's and the target's; {len(given)} were given"
                )
        check_values(self)

    def reversed(self) -> TextOptions:
        """Return the options of the other direction: the two sides change places."""
        codes, models = paths(self.bpe_codes)[::-1], paths(self.sentencepiece_model)[::-1]
        return replace(self, bpe_codes=codes, sentencepiece_model=models)

    def finder(self, language: str | None) -> WordFinder | None:
        """Return what finds the words of natural text; None where spaces or the tokenizer make them."""
        if self.words is None or (self.words == "spaces" and self.tokenizer is None):
            return None
        return word_finder(self.words, language=(language or "en")[:2])

    def splitters(self, schemes: Sequence[str]) -> list[Splitter]:
        """Return the splitter of the source and that of the target.

        ``schemes``: how the pieces of each side are marked where the text is in pieces already.
        """
        make: Callable[[str], Splitter] = SubwordNmt if self.bpe_codes else SentencePiece
        files = paths(self.bpe_codes or self.sentencepiece_model)
        if not files:
            if self.words not in (None, "spaces") and any(scheme != "words" for scheme in schemes):
                raise NormalignError(
                    f"words by '{self.words}' are found in natural text: give BPE codes or a SentencePiece model "
                    "that makes pieces of it"
                )
            return [AlreadyPieces(scheme) for scheme in schemes]
        made = [make(file) for file in files]
        return [made[0], made[-1]]

"""How lines of text are made into pieces, as a user chooses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..errors import NormalignError
from .subwords import TOKENIZERS, AlreadyPieces, SentencePiece, Splitter, SubwordNmt
from .words import WORD_KINDS, WordFinder, word_finder


@dataclass(frozen=True)
class TextOptions:
    """How lines are made into pieces. Codes and models: one for both sides, or the source's and the target's."""

    bpe_codes: Sequence[str] = ()
    sentencepiece_models: Sequence[str] = ()
    tokenizer: str | None = None
    lowercase: bool = False
    words: str | None = None
    """What links count, one of :data:`~fairseq_normalign.text.words.WORD_KINDS`; None: the words that the tokenizer
    makes or, without one, those that spaces separate."""

    def __post_init__(self) -> None:
        if self.bpe_codes and self.sentencepiece_models:
            raise NormalignError("give BPE codes or a SentencePiece model, not both")
        for what, given in (("BPE codes", self.bpe_codes), ("SentencePiece models", self.sentencepiece_models)):
            if len(given) > 2:
                raise NormalignError(
                    f"{what}: one file for both sides, or the source's and the target's; {len(given)} were given"
                )
        if self.tokenizer is not None and self.tokenizer not in TOKENIZERS:
            raise NormalignError(f"unknown tokenizer '{self.tokenizer}'; choose one of {', '.join(TOKENIZERS)}")
        if self.words is not None and self.words not in WORD_KINDS:
            raise NormalignError(f"unknown kind of words '{self.words}'; choose one of {', '.join(WORD_KINDS)}")

    def reversed(self) -> TextOptions:
        """Return the options of the other direction: the two sides change places."""
        return replace(self, bpe_codes=self.bpe_codes[::-1], sentencepiece_models=self.sentencepiece_models[::-1])

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
        files = list(self.bpe_codes or self.sentencepiece_models)
        if not files:
            if self.words not in (None, "spaces") and any(scheme != "words" for scheme in schemes):
                raise NormalignError(
                    f"words by '{self.words}' are found in natural text: give BPE codes or a SentencePiece model "
                    "that makes pieces of it"
                )
            return [AlreadyPieces(scheme) for scheme in schemes]
        made = [make(file) for file in files]
        return [made[0], made[-1]]

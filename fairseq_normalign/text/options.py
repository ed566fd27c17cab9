"""How lines of text are made into pieces, as a user chooses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..errors import NormalignError
from .subwords import TOKENIZERS, AlreadyPieces, SentencePiece, Splitter, SubwordNmt


@dataclass(frozen=True)
class TextOptions:
    """How lines are made into pieces. Codes and models: one for both sides, or the source's and the target's."""

    bpe_codes: Sequence[str] = ()
    sentencepiece_models: Sequence[str] = ()
    tokenizer: str | None = None
    lowercase: bool = False

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

    def reversed(self) -> TextOptions:
        """Return the options of the other direction: the two sides change places."""
        return replace(self, bpe_codes=self.bpe_codes[::-1], sentencepiece_models=self.sentencepiece_models[::-1])

    def splitters(self, schemes: Sequence[str]) -> list[Splitter]:
        """Return the splitter of the source and that of the target.

        ``schemes``: how the pieces of each side are marked where the text is in pieces already.
        """
        make: Callable[[str], Splitter] = SubwordNmt if self.bpe_codes else SentencePiece
        files = list(self.bpe_codes or self.sentencepiece_models)
        if not files:
            return [AlreadyPieces(scheme) for scheme in schemes]
        made = [make(file) for file in files]
        return [made[0], made[-1]]

"""Text as people have it, made into the pieces a model knows: tokenization, then subwords."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from ..errors import MissingExtra, NormalignError
from ..files import read_lines, words_of


class Splitter(Protocol):
    """Words into pieces."""

    scheme: str
    """How the pieces are marked: a name of :data:`fairseq_normalign.alignment.pieces.SCHEMES`."""

    def __call__(self, words: Sequence[str]) -> list[str]:
        """The pieces of the words, in order."""
        ...


class AlreadyPieces:
    """The text is in pieces: nothing to split."""

    def __init__(self, scheme: str = "subword_nmt") -> None:
        self.scheme = scheme

    def __call__(self, words: Sequence[str]) -> list[str]:
        """The words as they are."""
        return list(words)


REMEMBERED = 200_000
"""Words whose pieces subword-nmt keeps in memory."""


class SubwordNmt:
    """subword-nmt with the codes it learned."""

    scheme = "subword_nmt"

    def __init__(self, codes: str | Path) -> None:
        from subword_nmt.apply_bpe import BPE

        lines = list(read_lines(codes))
        for number, line in enumerate(lines, start=1):
            says_version = number == 1 and line.startswith("#version:")
            known = line.strip(" ") in ("#version: 0.1", "#version: 0.2")
            if not known if says_version else len(line.strip("\r ").split(" ")) != 2:
                raise NormalignError.at(codes, number, f"'{line[:60]}' is not a merge of subword-nmt: two pieces")
        if not lines or (lines[1:] == [] and lines[0].startswith("#version:")):
            raise NormalignError(f"{codes}: the file is empty; codes of subword-nmt are wanted")
        try:
            self._bpe = BPE(io.StringIO("\n".join(lines) + "\n", newline="\n"))
        except (ValueError, IndexError, SystemExit) as error:
            raise NormalignError(f"{codes}: not the codes of subword-nmt ({error})") from None

    def __call__(self, words: Sequence[str]) -> list[str]:
        """Each word's pieces; a word never joins another."""
        if len(self._bpe.cache) > REMEMBERED:  # it would remember every word of a text of any length
            self._bpe.cache.clear()
        return self._bpe.segment_tokens(list(words))


class SentencePiece:
    """A SentencePiece model (extra ``[sentencepiece]``)."""

    scheme = "sentencepiece"

    def __init__(self, model: str | Path) -> None:
        try:
            import sentencepiece
        except ImportError:
            raise MissingExtra("sentencepiece", "sentencepiece", "a SentencePiece model") from None
        try:
            self._model = sentencepiece.SentencePieceProcessor(model_file=str(model))
        except (OSError, RuntimeError, TypeError) as error:
            raise NormalignError(f"{model}: not a SentencePiece model ({error})") from None

    def __call__(self, words: Sequence[str]) -> list[str]:
        """The pieces of the whole sentence."""
        return self._model.encode(" ".join(words), out_type=str)


class MosesTokenizer:
    """sacremoses, as the recipes use it: no escaping, aggressive dashes off."""

    def __init__(self, language: str) -> None:
        from sacremoses import MosesTokenizer as Moses

        self._moses: Any = Moses(lang=language)

    def __call__(self, line: str) -> list[str]:
        """The words of a raw line."""
        return [word for token in self._moses.tokenize(line, escape=False) for word in words_of(token)]

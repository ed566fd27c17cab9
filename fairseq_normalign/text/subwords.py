"""Text as people have it, made into the pieces a model knows: tokenization, then subwords."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..errors import MissingExtra, NormalignError
from ..files import read_lines, words_of

if TYPE_CHECKING:
    from subword_nmt.apply_bpe import BPE


class Splitter(Protocol):
    """Words into pieces."""

    scheme: str
    """How the pieces are marked: a name of :data:`fairseq_normalign.links.pieces.SCHEMES`."""

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


REMEMBERED = 20_000
"""Words whose pieces subword-nmt keeps in memory, for the model of the other direction, which splits the same words."""


class SubwordNmt:
    """Codes of subword-nmt, or of fastBPE: three columns, or two without a header."""

    scheme = "subword_nmt"

    def __init__(self, codes: str | Path) -> None:
        try:
            self._bpe = _bpe("\n".join(_merges(codes)) + "\n")
        except (ValueError, IndexError, SystemExit) as error:
            raise NormalignError(f"{codes}: not the codes of subword-nmt ({error})") from None

    def __call__(self, words: Sequence[str]) -> list[str]:
        """Each word's pieces; a word never joins another."""
        if len(self._bpe.cache) > REMEMBERED:  # it would remember every word of a text of any length
            self._bpe.cache.clear()
        return self._bpe.segment_tokens(list(words))


@functools.lru_cache(4)
def _bpe(codes: str) -> BPE:
    """Return subword-nmt's splitter of these codes; two models with the same codes share it and what it remembers."""
    from subword_nmt.apply_bpe import BPE

    return BPE(io.StringIO(codes, newline="\n"))


def _merges(codes: str | Path) -> list[str]:
    """Return the lines of a file of codes for subword-nmt; lines of fastBPE lose their counts.

    Codes without a header mean version 0.1 to subword-nmt; those in which no merge takes the mark ``</w>`` alone are of
    version 0.2 (or of fastBPE, which means the same): there it is a part of a word's last letter from the start.
    """
    lines = list(read_lines(codes))
    has_header = bool(lines) and lines[0].startswith("#version:")
    rows = [line.strip("\r ").split(" ") for line in lines]
    is_fast = bool(rows) and len(rows[0]) == 3 and not has_header
    for number, (line, row) in enumerate(zip(lines, rows, strict=True), start=1):
        if number == 1 and has_header:
            sound = line.strip(" ") in ("#version: 0.1", "#version: 0.2")
        else:
            sound = len(row) == 2 + is_fast and (not is_fast or row[2].isdecimal())
        if not sound:
            what = "fastBPE: two pieces and a count" if is_fast else "subword-nmt: two pieces"
            raise NormalignError.at(codes, number, f"'{line[:60]}' is not a merge of {what}")
    if len(lines) == has_header:
        raise NormalignError(f"{codes}: the file is empty; codes of subword-nmt or fastBPE are wanted")
    if has_header:
        return lines
    ends = {row[1] for row in rows}
    marked = "</w>" not in ends and any(end.endswith("</w>") for end in ends)
    merges = [" ".join(row[:2]) for row in rows] if is_fast else lines
    return ["#version: 0.2", *merges] if marked else merges


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
            self._model.id_to_piece(list(range(self._model.get_piece_size())))
        except (OSError, RuntimeError, TypeError, UnicodeDecodeError) as error:
            raise NormalignError(f"{model}: not a SentencePiece model ({error})") from None

    def __call__(self, words: Sequence[str]) -> list[str]:
        """The pieces of the whole sentence."""
        return self._model.encode(" ".join(words), out_type=str)


TOKENIZERS = ("moses", "fairseq-moses")
"""``moses``: as the recipes use it, no escaping, aggressive dashes off. ``fairseq-moses``: fairseq's ``--tokenizer
moses``, as WMT19's models were trained, with ``&apos;`` and ``@-@``."""


class MosesTokenizer:
    """sacremoses, in one of the two ways of :data:`TOKENIZERS`."""

    def __init__(self, language: str, name: str = "moses") -> None:
        try:
            from sacremoses import MosesTokenizer as Moses
        except ImportError:
            raise MissingExtra("sacremoses", "words", "the Moses tokenizer") from None
        self._moses = Moses(lang=language)
        self._key = language, name
        as_fairseq = name == "fairseq-moses"
        self._options = {"escape": as_fairseq, "aggressive_dash_splits": as_fairseq}

    def __call__(self, line: str) -> list[str]:
        """The words of a raw line."""
        return words_of(" ".join(self._moses.tokenize(line, **self._options)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MosesTokenizer) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class MosesDetokenizer:
    """sacremoses' detokenizer: joins words into text as people write it."""

    def __init__(self, language: str) -> None:
        from sacremoses import MosesDetokenizer as Moses

        self._moses = Moses(lang=language)

    def __call__(self, words: Sequence[str]) -> str:
        """The text of words."""
        return str(self._moses.detokenize(list(words)))

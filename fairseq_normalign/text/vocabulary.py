"""Dictionary indices made into pieces and words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..alignment.pieces import Segmentation, segment
from ..errors import NormalignError
from .tags import TAGS

POST_PROCESS_SCHEMES = {
    None: "words",
    "none": "words",
    "@@": "words",  # fairseq then strips the marks but leaves the pieces apart
    "@@ ": "subword_nmt",
    "subword_nmt": "subword_nmt",
    "sentencepiece": "sentencepiece",
}
"""fairseq's ``--post-process`` -> how the printed sentence falls into words."""


def scheme_of_post_process(symbol: str | None) -> str:
    """How pieces make up the words of a sentence that fairseq prints with ``--post-process symbol``."""
    if symbol not in POST_PROCESS_SCHEMES:
        known = ", ".join(repr(name) for name in POST_PROCESS_SCHEMES if name)
        raise NormalignError(
            f"--post-process {symbol}: its words cannot be aligned (known are {known}); use --normalign-level piece"
        )
    return POST_PROCESS_SCHEMES[symbol]


def scheme_of_dictionary(dictionary: Any) -> str:
    """How pieces are marked in a dictionary, by looking at it."""
    symbols: list[str] = dictionary.symbols[dictionary.nspecial :]
    if sum(symbol.startswith("▁") for symbol in symbols) * 20 > len(symbols):
        return "sentencepiece"
    if any(symbol.endswith("@@") for symbol in symbols):
        return "subword_nmt"
    return "words"


@dataclass(frozen=True)
class Sentence:
    """One side of a pair as the model has it: the piece at every position, and which of them make up words."""

    pieces: tuple[str, ...]
    by_word: Segmentation
    by_piece: Segmentation

    def at(self, level: str) -> Segmentation:
        """The segmentation at level 'word' or 'piece'."""
        return self.by_word if level == "word" else self.by_piece

    @property
    def front(self) -> int:
        """How many language tags stand in front."""
        return next((n for n, position in enumerate(self.by_piece.specials) if position != n), 0) if self.pieces else 0


class Vocabulary:
    """A fairseq dictionary with its way of marking pieces."""

    def __init__(self, dictionary: Any, scheme: str, *, tags: str = TAGS, ignored: Iterable[int] = ()) -> None:
        """``ignored``: indices that are never printed, beside the end and the start of a sentence."""
        self.dictionary = dictionary
        self.scheme = scheme
        self._tags = re.compile(tags)
        self._ignored = frozenset(ignored) | {dictionary.eos(), dictionary.bos(), dictionary.pad()}

    def sentence(self, tokens: Sequence[int]) -> Sentence:
        """Pieces and words of a sequence of indices; what is never printed and tags in front belong to no word."""
        pieces = tuple(self.dictionary[token] for token in tokens)
        special = [token in self._ignored for token in tokens]
        for position, piece in enumerate(pieces):
            if not special[position]:
                if not self._tags.fullmatch(piece):
                    break
                special[position] = True
        marked = ["\0" if hidden else piece for piece, hidden in zip(pieces, special, strict=True)]
        by_piece = segment(marked, "words", specials={"\0"})
        by_word = by_piece if self.scheme == "words" else segment(marked, self.scheme, specials={"\0"})
        return Sentence(pieces, by_word, by_piece)

"""Dictionary indices made into pieces and words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from ..errors import NormalignError
from ..links.pieces import Sentence, segment

TAGS = r"__\w+__|<2\w+>|>>\w+<<|\[\w\w_\w\w\]|<lang:\w+>"
"""Language tags as they are commonly written; they count as tags only in front of a sentence."""


class Dictionary(Protocol):
    """The part of a fairseq dictionary that is used here: pieces by index, and indices by piece."""

    symbols: list[str]
    nspecial: int
    """How many of the first symbols are no pieces: start and end of sentence, padding, unknown."""
    unk_word: str

    def __len__(self) -> int:
        """Return how many symbols there are."""
        ...

    def __getitem__(self, index: int) -> str:
        """Return the piece of an index."""
        ...

    def index(self, piece: str) -> int:
        """Return the index of a piece; that of the unknown one if it is not there."""
        ...

    def bos(self) -> int:
        """Return the index of the start of sentence."""
        ...

    def eos(self) -> int:
        """Return the index of the end of sentence."""
        ...

    def pad(self) -> int:
        """Return the index of padding."""
        ...

    def unk(self) -> int:
        """Return the index of unknown pieces."""
        ...


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


NUMBERS = "numbers"
"""The scheme of fairseq's ``--bpe gpt2``: the dictionary holds the numbers of GPT-2's encoder.json, not pieces."""


def scheme_of_dictionary(dictionary: Dictionary) -> str:
    """How pieces are marked in a dictionary, by looking at it: a scheme of :func:`segment`, or NUMBERS."""
    symbols = [symbol for symbol in dictionary.symbols[dictionary.nspecial :] if not symbol.startswith("madeupword")]
    if symbols and sum(symbol.isdecimal() for symbol in symbols) * 10 > len(symbols) * 9:
        return NUMBERS
    if sum(symbol.startswith("Ġ") for symbol in symbols) * 20 > len(symbols):
        return "gpt2"
    letters = sum(len(symbol) == 1 for symbol in symbols) * 10 > len(symbols) * 9
    if "▁" in symbols and letters:
        # fairseq's --bpe bytes writes the byte b as itself or, where it cannot be printed, as 0x100 + b
        codes = [ord(symbol) for symbol in symbols if len(symbol) == 1 and symbol != "▁"]
        are_bytes = all(code < 0x200 for code in codes) and any(0x180 <= code <= 0x1A0 for code in codes)
        return "bytebpe" if are_bytes else "sentencepiece"  # or fairseq's --bpe characters
    if sum(symbol.startswith("▁") for symbol in symbols) * 20 > len(symbols):
        return "sentencepiece"
    if any(symbol.endswith("@@") for symbol in symbols):
        return "subword_nmt"
    return "words"


def check_words_known(scheme: str) -> None:
    """Raise an error where words cannot be made out of pieces: links of pieces must not pass for links of words."""
    if scheme == NUMBERS:
        raise NormalignError(
            "the dictionary holds the numbers of GPT-2's encoder.json: its words are not known; align pieces instead"
        )


class Vocabulary:
    """A fairseq dictionary with its way of marking pieces."""

    def __init__(self, dictionary: Dictionary, scheme: str, *, tags: str = TAGS, ignored: Iterable[int] = ()) -> None:
        """``ignored``: indices that are never printed, beside the end and the start of a sentence."""
        self.dictionary = dictionary
        self.scheme = "words" if scheme == NUMBERS else scheme
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

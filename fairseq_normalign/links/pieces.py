"""From pieces (subwords) back to words: which pieces make up which word."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ..errors import NormalignError

SCHEMES = ("subword_nmt", "sentencepiece", "gpt2", "bytebpe", "words")
"""How pieces are marked. ``sentencepiece`` also reads fairseq's ``characters``. ``gpt2`` and ``bytebpe`` are two names
of one scheme, bytes written as letters: fairseq's ``gpt2`` and ``hf_byte_bpe`` (Ġ a space) and its ``byte_bpe`` (▁)."""

Span = tuple[int, int]

LEVELS = ("word", "piece")
"""An alignment is between words or between pieces."""


@dataclass(frozen=True)
class Segmentation:
    """The words of a sentence and the pieces of each.

    ``spans`` are half-open ranges of piece positions, one per word; ``specials`` are the positions that belong
    to no word (language tags, end of sentence). Together they cover every position. Words found in natural text may
    share a piece: their ranges overlap then, and the piece counts for each of them in equal parts.
    """

    words: tuple[str, ...]
    spans: tuple[Span, ...]
    specials: tuple[int, ...]

    @property
    def shares_pieces(self) -> bool:
        """Whether a piece belongs to more than one word."""
        return any(one[1] > other[0] for one, other in itertools.pairwise(self.spans))


@dataclass(frozen=True)
class Sentence:
    """One side of a sentence pair: the piece at each position, and the words they make up.

    >>> sentence = Sentence.of(["Haus@@", "tür"], segment(["Haus@@", "tür"]))
    >>> sentence.words, sentence.by_piece.words
    (('Haustür',), ('Haus@@', 'tür'))
    """

    pieces: tuple[str, ...]
    by_word: Segmentation
    by_piece: Segmentation
    """Each piece that is part of a word, by itself."""

    @classmethod
    def of(cls, pieces: Iterable[str], by_word: Segmentation) -> Sentence:
        """Make a sentence of its pieces and the words they make up."""
        pieces = tuple(pieces)
        special = set(by_word.specials)
        kept = [position for position in range(len(pieces)) if position not in special]
        spans = tuple((position, position + 1) for position in kept)
        by_piece = Segmentation(tuple(pieces[position] for position in kept), spans, by_word.specials)
        return cls(pieces, by_word, by_piece)

    @classmethod
    def of_words(cls, words: Iterable[str]) -> Sentence:
        """Make a sentence whose pieces are not known: each word is one piece."""
        kept = tuple(words)
        by_word = Segmentation(kept, tuple((n, n + 1) for n in range(len(kept))), ())
        return cls(kept, by_word, by_word)

    @property
    def words(self) -> tuple[str, ...]:
        """The words, in order."""
        return self.by_word.words

    def at(self, level: str) -> Segmentation:
        """Return the segmentation at level 'word' or 'piece'."""
        return self.by_word if level == "word" else self.by_piece

    @property
    def front(self) -> int:
        """How many language tags come first."""
        return next((n for n, position in enumerate(self.by_piece.specials) if position != n), 0) if self.pieces else 0


def segment(pieces: Sequence[str], scheme: str = "subword_nmt", *, specials: Collection[str] = ()) -> Segmentation:
    """Group ``pieces`` into words; ``specials`` are the pieces that are no part of a word, nor in the middle of one.

    >>> segment(["Haus@@", "tür", "</s>"], specials={"</s>"})
    Segmentation(words=('Haustür',), spans=((0, 2),), specials=(2,))
    """
    if scheme not in SCHEMES:
        raise NormalignError(f"unknown piece scheme '{scheme}'; choose one of {', '.join(SCHEMES)}")
    special_at = [position for position, piece in enumerate(pieces) if piece in specials]
    words: list[str] = []
    spans: list[Span] = []
    for before, stop in itertools.pairwise([-1, *special_at, len(pieces)]):
        run = list(pieces[before + 1 : stop])
        if scheme in ("gpt2", "bytebpe"):
            run = [piece.replace(_GPT2_SPACE, _SPACE) for piece in run]
        for first, last in itertools.pairwise([*_starts(run, scheme), len(run)]):
            spans.append((before + 1 + first, before + 1 + last))
            if scheme == "words":
                words.append(run[first])
            elif scheme == "subword_nmt":
                words.append("".join(p.removesuffix("@@") for p in run[first:last]) or "".join(run[first:last]))
            else:
                letters = "".join(run[first:last]).replace(_SPACE, "")
                is_text = scheme == "sentencepiece"
                words.append(letters if is_text else bytes_of(letters).decode("utf-8", errors="replace"))
    covered = set(itertools.chain.from_iterable(itertools.starmap(range, spans)))
    return Segmentation(tuple(words), tuple(spans), tuple(n for n in range(len(pieces)) if n not in covered))


def _starts(run: Sequence[str], scheme: str) -> list[int]:
    """Return where words start. A piece of marks alone goes to the word after it, or at the end before it."""
    if scheme == "words":
        return list(range(len(run)))
    if scheme == "subword_nmt":
        return [n for n in range(len(run)) if n == 0 or not run[n - 1].endswith("@@")]
    for piece in run:
        if crosses_words(piece):
            raise NormalignError(f"the piece '{piece}' reaches over the end of a word: it belongs to no single one")
    bare = [piece.strip(_SPACE) for piece in run]
    starts = [n for n, piece in enumerate(run) if n == 0 or (piece.startswith(_SPACE) and bare[n - 1])]
    if starts and not any(bare[starts[-1] :]):
        starts.pop()
    return starts


def crosses_words(piece: str) -> bool:
    """Whether a piece of SentencePiece holds the end of one word and the start of the next.

    >>> crosses_words("of▁the"), crosses_words("▁the")
    (True, False)
    """
    text = piece.strip(_SPACE)
    return _SPACE in text or bool(text and piece.endswith(_SPACE))


def bytes_of(text: str) -> bytes:
    """Return the bytes that the letters stand for; a letter outside the alphabet stands for itself.

    >>> bytes_of("Ã¼").decode()
    'ü'
    """
    return b"".join(bytes([_BYTE_OF[letter]]) if letter in _BYTE_OF else letter.encode("utf-8") for letter in text)


_SPACE, _GPT2_SPACE = "▁", "Ġ"
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
_BYTE_OF = (
    {chr(byte): byte for byte in _PRINTABLE}
    | {chr(0x100 + byte): byte for byte in _OTHERS if byte != 0x20}
    | {chr(0x100 + rank): byte for rank, byte in enumerate(_OTHERS)}
)
"""Letter -> byte. Printable Latin-1 bytes are themselves. GPT-2 counts the others from U+0100, fairseq's byte_bpe adds
256 to each: no letter means two things, so one table reads both."""

"""Which characters of a line the pieces of a model stand for, and so which words.

Three steps, for any tokenizer:

    >>> line = "Ｈéllo  wörld"
    >>> pieces = ["▁Hél", "lo", "▁wör", "ld", "</s>"]
    >>> texts = piece_texts(pieces, "sentencepiece", specials={"</s>"})    # what each piece stands for
    >>> spans = piece_spans(line, texts)                                   # where that is in the line
    >>> spans
    [(0, 3), (3, 5), (7, 10), (10, 12), None]
    >>> pieces_of_words([(0, 5), (7, 12)], spans)                          # which pieces make up each word
    [[0, 1], [2, 3]]

A fast tokenizer of transformers has its own offsets: skip the first two steps then.
"""

from __future__ import annotations

import bisect
import codecs
import functools
import re
import unicodedata
from collections.abc import Collection, Sequence

from ..errors import NormalignError
from ..links.pieces import Span, bytes_of

PieceText = str | bytes | None
"""What a piece stands for: characters, bytes of UTF-8 (a character may have several such pieces), or None for an
unknown piece, which may stand for anything. The empty string is a special piece: it stands for nothing in the line."""

PIECE_SCHEMES = ("subword_nmt", "sentencepiece", "wordpiece", "gpt2", "bytebpe", "words")

_BYTE_PIECE = re.compile("<0x([0-9A-Fa-f]{2})>")
_SPACE = "▁"  # SentencePiece reads a line's own as a space too
_UNKNOWN = "\0"  # no line holds it: files.read_lines refuses NUL bytes
_LOOK_AHEAD = 48  # how far, in characters, the two sides may drift apart before they are joined again
_SURE = 3  # characters that have to agree where they are joined again


def piece_texts(
    pieces: Sequence[str],
    scheme: str,
    *,
    unknown: str | None = "<unk>",
    specials: Collection[str] = (),
) -> list[PieceText]:
    """What each piece stands for, without the marks of its scheme, one of :data:`PIECE_SCHEMES`.

    fastBPE writes its pieces as subword-nmt does. ``unknown`` is the piece for what the vocabulary lacks; ``specials``
    are pieces that stand for nothing in the line (end of sentence, language tags).

        >>> piece_texts(["new@@", "er", "<unk>", "</s>"], "subword_nmt", specials={"</s>"})
        ['new', 'er', None, '']
    """
    if scheme not in PIECE_SCHEMES:
        raise NormalignError(f"unknown piece scheme '{scheme}'; choose one of {', '.join(PIECE_SCHEMES)}")
    found: list[PieceText] = []
    for piece in pieces:
        if piece in specials:
            found.append("")
        elif piece == unknown:
            found.append(None)
        elif scheme == "subword_nmt":
            found.append(piece.removesuffix("@@") or piece)
        elif scheme == "wordpiece":
            found.append(piece.removeprefix("##") or piece)
        elif scheme == "words":
            found.append(piece)
        elif scheme == "sentencepiece":
            byte = _BYTE_PIECE.fullmatch(piece)
            found.append(bytes([int(byte[1], 16)]) if byte else piece.replace(_SPACE, " "))
        else:
            found.append(bytes_of(piece.replace(_SPACE, " ")))
    return found


def piece_spans(line: str, texts: Sequence[PieceText]) -> list[Span | None]:
    """Where in ``line`` each piece stands: ``(start, end)`` per piece, None for a special piece.

    Pieces may be normalized: Unicode's NFC, NFD, NFKC and NFKD, lower case, stripped accents, other white space,
    control characters left out. What differs otherwise (an unknown piece, an escape like ``&apos;``) takes the place
    between its neighbours. A piece of white space alone (the lone ``▁`` in front of many lines) has the empty span at
    the start of what follows it. ``start`` never falls from one piece to the next.

        >>> piece_spans("Straße 東京都", ["strasse", None, "都"])
        [(0, 6), (7, 9), (9, 10)]
    """
    ours, owners = _letters_of_pieces(texts)
    folded = ["" if letter == _SPACE and _SPACE not in ours else _folded(letter) for letter in line]
    theirs = "".join(folded)
    places = [(place, place + 1) for place, letters in enumerate(folded) for _ in letters]
    found: Sequence[Span | None] = places
    if ours != theirs:
        bare, bare_owners = _without_marks(ours, owners)
        others, other_places = _without_marks(theirs, places)
        if bare == others:  # marks were dropped, or put into another order
            found, owners = other_places, bare_owners
        else:
            found = _walked(ours, theirs, places)

    starts: list[int | None] = [None] * len(texts)
    ends = [0] * len(texts)
    for span, (first, last) in zip(found, owners, strict=True):
        if span is not None:
            for piece in range(first, last):
                start = starts[piece]
                starts[piece] = span[0] if start is None else min(start, span[0])
                ends[piece] = max(ends[piece], span[1])
    spans: list[Span | None] = [None] * len(texts)
    following = len(line)
    for piece in reversed(range(len(texts))):
        start = starts[piece]
        if start is not None:
            following = min(start, following)
            spans[piece] = (following, max(ends[piece], following))
        elif texts[piece] != "":  # a piece without a letter of its own
            spans[piece] = (following, following)
    return spans


def pieces_of_words(words: Sequence[Span], pieces: Sequence[Span | None]) -> list[list[int]]:
    """The positions of the pieces of every word; a piece that reaches into two words is in both lists.

    A piece with an empty span belongs to the word that holds or follows its place; behind the last word, to that one.
    A word may have no piece: normalization dropped it.

        >>> pieces_of_words([(0, 2), (3, 5)], [(0, 0), (0, 5), None])
        [[0, 1], [1]]
    """
    found: list[list[int]] = [[] for _ in words]
    for piece, span in enumerate(pieces if words else ()):
        if span is None:
            continue
        first = last = bisect.bisect_right(words, span[0], key=lambda word: word[1])
        while last < len(words) and words[last][0] < span[1]:
            last += 1
        for group in found[first:last] or [found[min(first, len(words) - 1)]]:
            group.append(piece)
    return found


def piece_ranges(words: Sequence[Span], pieces: Sequence[Span | None]) -> list[Span]:
    """Return the range of pieces of each word; words share a piece that reaches into both.

    A word without pieces shares one of a neighbour. Without any piece there are no ranges.

        >>> piece_ranges([(0, 2), (3, 5), (6, 7)], [(0, 1), (1, 4), (4, 5)])
        [(0, 2), (1, 3), (2, 3)]
    """
    found = pieces_of_words(words, pieces)
    known = [number for number, group in enumerate(found) if group]
    if not known:
        return []
    ranges: list[Span] = []
    for group in found:
        if group:
            ranges.append((group[0], group[-1] + 1))
        else:
            last = ranges[-1][1] - 1 if ranges else found[known[0]][0]
            ranges.append((last, last + 1))
    return ranges


# -- both sides as letters without case, compatibility forms and white space ------------------------------------------


@functools.lru_cache(maxsize=1 << 16)
def _folded(letter: str) -> str:
    """A character as both sides have it: no case, decomposed; nothing for white space and what is invisible."""
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", letter).casefold())
    return "".join(c for c in text if not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf"))


def _letters_of_pieces(texts: Sequence[PieceText]) -> tuple[str, list[Span]]:
    """Return the folded letters of pieces, and the pieces each comes from, as a range: several bytes share a letter."""
    letters: list[str] = []
    owners: list[Span] = []
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    waiting = -1  # the first of the pieces whose bytes wait for the rest of their character

    def append(found: str, first: int, stop: int) -> None:
        letters.append(found)
        owners.extend([(first, stop)] * len(found))

    for piece, text in enumerate([*texts, ""]):
        if isinstance(text, bytes):
            for byte in text:
                first = waiting if waiting >= 0 else piece
                decoded = decoder.decode(bytes([byte]))
                for letter in decoded:
                    append(_UNKNOWN if letter == "\ufffd" else _folded(letter), first, piece + 1)
                waiting = -1 if decoded else first
        else:
            if waiting >= 0:  # bytes that never became a character are unknown
                append(_UNKNOWN, waiting, piece)
                decoder.reset()
                waiting = -1
            append(_UNKNOWN if text is None else "".join(map(_folded, text)), piece, piece + 1)
    return "".join(letters), owners


def _without_marks(letters: str, ranges: Sequence[Span]) -> tuple[str, list[Span]]:
    """The letters without combining marks; what a mark comes from is counted to the letter before it."""
    kept: list[str] = []
    found: list[Span] = []
    for letter, (start, end) in zip(letters, ranges, strict=True):
        if not unicodedata.combining(letter):
            kept.append(letter)
            found.append((start, end))
        elif found and start <= found[-1][1]:
            found[-1] = found[-1][0], end
    return "".join(kept), found


# -- where the two differ ---------------------------------------------------------------------------------------------


def _walked(ours: str, theirs: str, places: Sequence[Span]) -> list[Span | None]:
    """For every letter of the pieces its range of characters in the line, None when nothing is left for it."""
    found: list[Span | None] = []
    here = there = 0
    while here < len(ours):
        if there < len(theirs) and ours[here] == theirs[there]:
            found.append(places[there])
            here, there = here + 1, there + 1
            continue
        stop, other_stop = _meeting(ours, theirs, here, there)
        count, between = stop - here, places[there:other_stop]
        for number in range(count):  # the letters are laid over these places evenly
            if between:
                first, last = number * len(between) // count, -(-(number + 1) * len(between) // count)
                found.append((between[first][0], between[max(first + 1, last) - 1][1]))
            else:
                found.append(None)
        here, there = stop, other_stop
    return found


def _meeting(ours: str, theirs: str, here: int, there: int) -> tuple[int, int]:
    """Where both go on alike after ``here`` and ``there``; the ends of both when they never do."""
    if ours[here] == _UNKNOWN:
        after = here
        while after < len(ours) and ours[after] == _UNKNOWN:
            after += 1
        ahead = ours[after : after + 4 * _SURE].split(_UNKNOWN)[0]
        for length in range(len(ahead), 0, -1):
            other = theirs.find(ahead[:length], there)
            if other >= 0:
                return after, other
        return (after, len(theirs)) if after == len(ours) else (after, there)
    for distance in range(1, 2 * _LOOK_AHEAD):
        for ahead_here in range(max(0, distance - _LOOK_AHEAD), min(distance, _LOOK_AHEAD) + 1):
            one, other = here + ahead_here, there + distance - ahead_here
            some, others = ours[one : one + _SURE].partition(_UNKNOWN), theirs[other : other + _SURE]
            if some[1]:
                others = others[: len(some[0])]
            ended = one == len(ours) and other == len(theirs)
            if ended or (some[0] and some[0] == others):
                return one, other
    return len(ours), len(theirs)

"""Signs that a text was not prepared as a model's training text was, or that the two sides have changed places."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..analysis.attention_batch import Inventory
from ..errors import NormalignError
from ..hosts.protocol import Pair
from ..jobs import TextPair
from ..links.pieces import Sentence
from .both_directions import BitextAligner
from .directions import Direction

SAMPLE = 100
"""Pairs that are looked at."""
SCORED = 20
"""Pairs whose probability is computed both ways."""

CASED, GLUED, TURNED, SAME_WAY = "cased", "glued", "turned", "same way"

FEW_CASED_PIECES = 0.005
"""A dictionary with fewer pieces that hold capital letters is one of lower-case text."""
MANY_CASED_PIECES = 0.02
SCHEMES_OF_WORDS = ("subword_nmt", "words")
"""Where pieces are parts of the words as they are given, a full stop is a word of its own."""
MANY_GLUED_WORDS = 0.05
"""This share of the words or more is suspicious; abbreviations alone are fewer."""
BETTER = 0.5
"""Nats per piece by which the text has to be more probable with its sides exchanged."""

_GLUED = re.compile(r"\w{3,}[.,;:!?]")


@dataclass(frozen=True)
class Doubt:
    """Something that makes alignments worse without an error."""

    kind: str
    """CASED, GLUED, TURNED or SAME_WAY."""
    text: str
    """What was seen, for a person."""


def doubts_of_both(aligner: BitextAligner, pairs: Sequence[TextPair]) -> list[Doubt]:
    """Return what is wrong with the first of these pairs, and whether the second model translates the same way."""
    found = doubts_of_text(aligner.forward, pairs)
    if aligner.backward is None or any(doubt.kind == TURNED for doubt in found):
        return found
    return found + _same_way(aligner.backward, [(target, source) for source, target in pairs[:SCORED]])


def doubts_of_text(direction: Direction, pairs: Sequence[TextPair]) -> list[Doubt]:
    """Return what is wrong with the first of these pairs for the model of this direction, as far as can be seen."""
    with direction.uncounted():
        return _doubts(direction, pairs)


def _doubts(direction: Direction, pairs: Sequence[TextPair]) -> list[Doubt]:
    encoded = [pair for pair in direction.encode(pairs[:SAMPLE]) if not isinstance(pair, str)]
    found = []
    for place, (side, pieces) in enumerate(zip(("source", "target"), direction.host.inventories(), strict=True)):
        lines = [pair[place].sentence for pair in encoded]
        scheme = (direction.host.source, direction.host.target)[place].scheme
        found += [doubt for doubt in (_cased(side, lines, pieces), _glued(side, lines, pieces, scheme)) if doubt]
    turned = _turned(direction, encoded, pairs[:SCORED])
    return [*found, turned] if turned else found


def _cased(side: str, lines: Sequence[Sentence], known: Inventory) -> Doubt | None:
    """Return a doubt where pieces have capital letters that the dictionary hardly has; words may differ in case."""
    letters = [piece for piece in known.symbols if any(letter.isalpha() for letter in piece)]
    capital = sum(piece != piece.lower() for piece in letters)
    pieces = [piece for line in lines for piece in line.by_piece.words]
    cased = sum(piece != piece.lower() for piece in pieces)
    if not letters or capital > FEW_CASED_PIECES * len(letters) or cased <= MANY_CASED_PIECES * len(pieces):
        return None
    share = f"{cased} of {len(pieces)} {side} pieces"
    return Doubt(CASED, f"{share} have capital letters, which the model's dictionary hardly has")


def _glued(side: str, lines: Sequence[Sentence], known: Inventory, scheme: str) -> Doubt | None:
    words = [word for line in lines for word in line.by_word.words]
    glued = sum(_GLUED.fullmatch(word) is not None for word in words)
    apart = {".", ","} <= set(known.symbols) and scheme in SCHEMES_OF_WORDS
    if not apart or glued <= MANY_GLUED_WORDS * len(words):
        return None
    return Doubt(GLUED, f"{glued} of {len(words)} {side} words end in punctuation, which the model knows as words")


def _same_way(backward: Direction, pairs: Sequence[TextPair]) -> list[Doubt]:
    """The pairs as the second model should read them, target first."""
    with backward.uncounted():
        encoded = [pair for pair in backward.encode(pairs) if not isinstance(pair, str)]
        scored = _better_exchanged(backward, encoded, pairs)
    if scored is None:
        return []
    seen = "the model of the other direction finds the text more probable in the direction of the first"
    return [Doubt(SAME_WAY, f"{seen} ({scored})")]


def _turned(direction: Direction, encoded: Sequence[Pair], pairs: Sequence[TextPair]) -> Doubt | None:
    scored = _better_exchanged(direction, encoded, pairs)
    if scored is None:
        return None
    return Doubt(TURNED, f"the model finds the text more probable with its sides exchanged ({scored})")


def _better_exchanged(direction: Direction, encoded: Sequence[Pair], pairs: Sequence[TextPair]) -> str | None:
    """Return both log-probabilities, for a person, if the text is clearly more probable with its sides exchanged."""
    exchanged = [pair for pair in direction.encode([(t, s) for s, t in pairs]) if not isinstance(pair, str)]
    if not encoded or not exchanged:
        return None
    scores = [direction.host.scores(some[:SCORED]) for some in (list(encoded), exchanged)]
    as_given, turned = (sum(one) / len(one) for one in scores)
    if not (math.isfinite(as_given) and turned > as_given + BETTER):  # NaN is for the reader to report
        return None
    return f"{turned:.1f} against {as_given:.1f} nats per piece"


def check_mirrored(aligner: BitextAligner) -> None:
    """Refuse two models of the same direction, where both say which languages they translate."""
    if aligner.backward is None:
        return
    one, other = aligner.forward.host.languages, aligner.backward.host.languages
    if all((*one, *other)) and one != other[::-1]:
        raise NormalignError(
            f"the models translate {one[0]}-{one[1]} and {other[0]}-{other[1]}; the second one has to translate "
            f"{one[1]}-{one[0]}: give the model of the other direction"
        )

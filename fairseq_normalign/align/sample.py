"""The first pairs of a text, looked at before the rest: which readings suit each model, and what may be wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ..analysis.choose_readings import LEAST_PAIRS, ReadingChoice
from ..analysis.choose_readings import choose_readings as choose_by_decisions
from ..errors import NormalignError
from ..hosts.protocol import OutOfMemory, Pair
from ..hosts.reading import enough_memory
from ..jobs import Count, TextPair, Window, nobody
from ..links.pieces import Sentence
from ..methods import method_class
from .aligner import Aligner
from .model import Model

SAMPLE = 500
"""Pairs that readings are chosen by."""
MANY = LEAST_PAIRS
"""Fewer pairs are too few to choose by."""
DOUBTED = 100
"""Pairs that are looked at for doubts."""
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


def look_at(aligner: Aligner, window: Window, choose: bool, *, done: Count = nobody) -> dict[str, list[Any]]:
    """Look at the first pairs; return readings and what is said of them, if they are to be chosen, and doubts."""
    choices = choose_readings(aligner, window.pairs) if choose else []
    return {
        "readings": [str(choice.expert) for choice in choices],
        "said": sentences_of_choices(choices),
        "doubts": doubts_of_both(aligner, window.pairs),
    }


def choose_readings(aligner: Aligner, pairs: Sequence[TextPair], *, sample: int = SAMPLE) -> list[ReadingChoice]:
    """Choose the readings of each direction by the first ``sample`` of these pairs.

    Every layer and head is read on them in both steps; a lexicon of the same pairs judges, so no gold is needed.
    """
    with aligner.counting():
        encoded = aligner.encode(pairs[:sample])
    sides = zip(aligner.directions, (encoded.forward, encoded.backward or []), strict=False)
    return [choose_by_pairs(model, side) for model, side in sides]


def choose_by_pairs(model: Model, encoded: Sequence[Pair | str]) -> ReadingChoice:
    """Choose the readings of one model by encoded pairs."""
    method = model.options.method
    if not method_class(method).layerwise:
        raise NormalignError(f"the method '{method}' looks at the whole model: it has no layers to choose from")
    decided = model.decide_every_way(encoded, [method])
    return choose_by_decisions([pair for pair in decided if pair is not None], layers=model.layers, method=method)


def sentence_of_choice(choice: ReadingChoice) -> str:
    """Return one line that says what was chosen, by what, and every doubt."""
    if not choice.ranked:
        return "; ".join(choice.doubts)
    doubts = f"; unsure: {'; '.join(choice.doubts)}" if choice.doubts else ""
    return f"reads {choice.expert}, by a lexicon of {choice.pairs} sentence pairs{doubts}"


def sentences_of_choices(choices: Sequence[ReadingChoice]) -> list[str]:
    """Return a line for each direction, or one for both where there was too little text to choose by."""
    if not any(choice.ranked for choice in choices):
        return [sentence_of_choice(choice) for choice in choices[:1]]
    return [
        f"{which}{sentence_of_choice(choice)}"
        for which, choice in zip(("", "the other direction "), choices, strict=False)
    ]


def doubts_of_both(aligner: Aligner, pairs: Sequence[TextPair]) -> list[tuple[str, str]]:
    """Return what makes alignments worse without an error: its kind, and what was seen, for a person.

    Kinds: CASED, GLUED and TURNED, of the text; SAME_WAY, where the second model translates in the same direction.
    """
    with aligner.counting():
        model = aligner.forward
        encoded = [pair for pair in model.encode(pairs[:DOUBTED]) if not isinstance(pair, str)]
        coders = zip(
            ("source", "target"), (model.host.source, model.host.target), model.host.inventories(), strict=True
        )
        found = []
        for place, (side, coder, known) in enumerate(coders):
            found += _doubts_of_side(side, [pair[place].sentence for pair in encoded], known.symbols, coder.scheme)
        scored = _better_exchanged(model, pairs[:SCORED])
        if scored is not None:
            seen = "the model finds the text more probable with its sides exchanged"
            found.append((TURNED, f"{seen} ({scored})"))
        elif aligner.backward is not None:
            scored = _better_exchanged(aligner.backward, [(target, source) for source, target in pairs[:SCORED]])
            if scored is not None:
                seen = "the model of the other direction finds the text more probable in the direction of the first"
                found.append((SAME_WAY, f"{seen} ({scored})"))
    return found


def _doubts_of_side(side: str, lines: Sequence[Sentence], known: Sequence[str], scheme: str) -> list[tuple[str, str]]:
    """``known``: the pieces that the model knows."""
    found = []
    letters = [piece for piece in known if any(letter.isalpha() for letter in piece)]
    capital = sum(piece != piece.lower() for piece in letters)
    pieces = [piece for line in lines for piece in line.by_piece.words]
    cased = sum(piece != piece.lower() for piece in pieces)
    if letters and capital <= FEW_CASED_PIECES * len(letters) and cased > MANY_CASED_PIECES * len(pieces):
        share = f"{cased} of {len(pieces)} {side} pieces"
        found.append((CASED, f"{share} have capital letters, which the model's dictionary hardly has"))

    words = [word for line in lines for word in line.by_word.words]
    glued = sum(_GLUED.fullmatch(word) is not None for word in words)
    apart = {".", ","} <= set(known) and scheme in SCHEMES_OF_WORDS
    if apart and glued > MANY_GLUED_WORDS * len(words):
        share = f"{glued} of {len(words)} {side} words"
        found.append((GLUED, f"{share} end in punctuation, which the model knows as words"))
    return found


def _better_exchanged(model: Model, pairs: Sequence[TextPair]) -> str | None:
    """Return both log-probabilities, for a person, if the text is clearly more probable with its sides exchanged."""
    both = pairs, [(target, source) for source, target in pairs]
    encoded = [[pair for pair in model.encode(some) if not isinstance(pair, str)] for some in both]
    if not all(encoded):
        return None
    try:
        with enough_memory([]):
            as_given, turned = (sum(scores) / len(scores) for scores in map(model.host.scores, encoded))
    except OutOfMemory:  # the reader says which pair is too large
        return None
    if not (math.isfinite(as_given) and turned > as_given + BETTER):  # NaN is for the reader to report
        return None
    return f"{turned:.1f} against {as_given:.1f} nats per piece"

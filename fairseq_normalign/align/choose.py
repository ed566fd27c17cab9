"""The choice of readings, made by running the models over some of the text that is to be aligned."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.choose_readings import LEAST_PAIRS, ReadingChoice
from ..analysis.choose_readings import choose_readings as choose_by_decisions
from ..analysis.decisions import PairDecisions
from ..errors import NormalignError
from ..hosts.protocol import Pair
from ..jobs import TextPair
from ..methods import method_class
from .both_directions import BitextAligner
from .decisions import Survey
from .directions import EncodedAligner

SAMPLE = 500
"""Pairs that readings are chosen by."""
MANY = LEAST_PAIRS
"""Fewer pairs are too few to choose by."""


def choose_readings(aligner: BitextAligner, pairs: Sequence[TextPair], *, sample: int = SAMPLE) -> list[ReadingChoice]:
    """Choose the readings of each direction by the first ``sample`` of these pairs, and make the aligner use them.

    Every layer and head is read on them in both steps; a lexicon of the same pairs judges, so no gold is needed.
    """
    with aligner.forward.uncounted():
        forward, backward = aligner.encode(pairs[:sample])
    found = [choose_by_pairs(aligner.forward, forward)]
    if aligner.backward is not None and backward is not None:
        found.append(choose_by_pairs(aligner.backward, backward))
    return found


def choose_by_pairs(direction: EncodedAligner, encoded: Sequence[Pair | str]) -> ReadingChoice:
    """Choose the readings of one model by encoded pairs, and make it use them."""
    method = direction.aligner.options.method
    if not method_class(method).layerwise:
        raise NormalignError(f"the method '{method}' looks at the whole model: it has no layers to choose from")
    decided = Survey(direction, [method]).decide(encoded)
    present: list[PairDecisions] = [pair for pair in decided if pair is not None]
    choice = choose_by_decisions(present, layers=direction.aligner.reader.layers, method=method)
    direction.aligner.read_with(choice.expert)
    return choice


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

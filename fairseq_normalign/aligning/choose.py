"""The choice of readings, made by running the models over some of the text that is to be aligned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..alignment.experts import Expert
from ..alignment.readings import Reading
from ..analysis.layer_choice import LayerChoice, sentence_of
from .bitext import Pair
from .choose_layer import SAMPLE, judge_by_text
from .directions import BitextAligner

MANY = 100
"""Fewer pairs are too few to choose by."""


@dataclass(frozen=True)
class Choice:
    """The readings of one direction, and a line that explains them."""

    expert: Expert
    sentence: str


def choose_readings(aligner: BitextAligner, pairs: Sequence[Pair]) -> list[Choice]:
    """Choose the readings of each direction by the first of these pairs and make the aligner use them."""
    if len(pairs) < MANY:
        return []
    verdict = judge_by_text(aligner, pairs[:SAMPLE], methods=[aligner.forward.aligner.options.method])
    found = [_choice(verdict.choice, sentence_of(verdict.choice, verdict.criteria))]
    if verdict.reverse_choice is not None:
        found.append(_choice(verdict.reverse_choice, sentence_of(verdict.reverse_choice, verdict.reverse_criteria)))
    for direction, choice in zip((aligner.forward, aligner.backward), found, strict=False):
        if direction is not None:
            direction.aligner.read_with(choice.expert)
    return found


def _choice(choice: LayerChoice, sentence: str) -> Choice:
    chosen = choice.candidate
    return Choice(Expert((Reading(chosen.method, chosen.layer, None, chosen.setting),), (1.0,)), sentence)

"""The choice of a layer, made by running the model over some of the text that is to be aligned."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..analysis.decisions import PairDecisions
from ..analysis.layer_choice import Verdict, judge_layers
from ..errors import NormalignError
from ..hosts.protocol import Pair
from ..links.steps_to_words import STEPS
from ..methods import method_class
from .bitext import TextPair
from .both_directions import BitextAligner
from .decisions import Survey
from .directions import EncodedAligner

SAMPLE = 500
"""Pairs that a choice is made by."""


def judge_by_text(
    aligner: BitextAligner,
    pairs: Sequence[TextPair],
    *,
    methods: Sequence[str],
    steps: Sequence[str] = STEPS,
    done: Callable[[int], object] = lambda count: None,
) -> Verdict:
    """Judge every layer by what it does on ``pairs``; with the other direction's model both are judged together."""
    check_layerwise(methods)
    forward_pairs, backward_pairs = aligner.encode(pairs)
    forward = Survey(aligner.forward, methods, heads=False).decide(forward_pairs, done=done)
    if aligner.backward is None or backward_pairs is None:
        return judge_layers(_present(forward), methods=methods, steps=steps)
    backward = Survey(aligner.backward, methods, heads=False).decide(backward_pairs)
    return judge_layers(_present(forward), _present(backward), methods=methods, steps=steps)


def _present(decisions: Sequence[PairDecisions | None]) -> list[PairDecisions]:
    return [pair for pair in decisions if pair is not None]


def check_layerwise(methods: Sequence[str]) -> None:
    """Raise an error for methods that do not read single layers: they have no layer to choose."""
    for method in methods:
        if not method_class(method).layerwise:
            raise NormalignError(f"the method '{method}' looks at the whole model: it has no layers to choose from")


def judge_by_pairs(direction: EncodedAligner, pairs: Sequence[Pair], *, steps: Sequence[str] = STEPS) -> Verdict | None:
    """Judge every layer by encoded pairs; None when none of them can be aligned."""
    method = direction.aligner.options.method
    check_layerwise([method])
    checked = [direction.checked(pair) for pair in pairs]
    decisions = _present(Survey(direction, [method], heads=False).decide(checked))
    return judge_layers(decisions, methods=[method], steps=steps) if decisions else None

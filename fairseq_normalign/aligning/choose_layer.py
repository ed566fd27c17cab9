"""The choice of a layer, made by running the model over some of the text that is to be aligned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..alignment.words import SETTINGS
from ..analysis.decisions import PairDecisions
from ..analysis.layer_choice import Verdict, judge_layers
from ..attribution import method_class
from ..errors import NormalignError
from ..text.encoding import EncodedLine
from .aligner import Aligner
from .bitext import Pair
from .directions import BitextAligner, Encoded, EncodedAligner
from .every_layer import Readers, decide_everything

SAMPLE = 500
"""Pairs that a choice is made by."""


def judge_by_text(
    aligner: BitextAligner,
    pairs: Sequence[Pair],
    *,
    methods: Sequence[str],
    settings: Sequence[str] = SETTINGS,
    done: Callable[[int], object] = lambda count: None,
) -> Verdict:
    """Weigh every layer by what it does on ``pairs``; with the other direction's model both are weighed together."""
    check_layerwise(methods)
    ahead, back = aligner.encode(pairs)
    forward = decide_everything(aligner.forward, ahead, Readers(aligner.forward, methods, heads=False), done=done)
    if aligner.backward is None or back is None:
        return judge_layers(_there(forward), methods=methods, settings=settings)
    backward = decide_everything(aligner.backward, back, Readers(aligner.backward, methods, heads=False))
    return judge_layers(_there(forward), _there(backward), methods=methods, settings=settings)


def _there(decisions: Sequence[PairDecisions | None]) -> list[PairDecisions]:
    return [pair for pair in decisions if pair is not None]


def check_layerwise(methods: Sequence[str]) -> None:
    """Only methods that read single layers have a layer to choose."""
    for method in methods:
        if not method_class(method).layerwise:
            raise NormalignError(f"the method '{method}' looks at the whole model: it has no layers to choose from")


def judge_by_dataset(aligner: Aligner, dataset: Any, *, settings: Sequence[str] = SETTINGS) -> Verdict | None:
    """Weigh every layer by the first pairs of a fairseq dataset; None when it has no targets, or nothing to align."""
    if getattr(dataset, "tgt", None) is None:
        return None
    check_layerwise([aligner.options.method])
    encoded = EncodedAligner(aligner, max_tokens=4000)
    pairs = [encoded.checked(_encoded(aligner, dataset, number)) for number in range(min(SAMPLE, len(dataset)))]
    decisions = _there(decide_everything(encoded, pairs, Readers(encoded, [aligner.options.method], heads=False)))
    return judge_layers(decisions, methods=[aligner.options.method], settings=settings) if decisions else None


def _encoded(aligner: Aligner, dataset: Any, number: int) -> Encoded:
    source, target = (side[number].tolist() for side in (dataset.src, dataset.tgt))
    if target and target[-1] == aligner.target.dictionary.eos():
        target = target[:-1]
    return (
        EncodedLine(source, aligner.source.sentence(source)),
        EncodedLine(target, aligner.target.sentence(target)),
    )

"""Both looks of a model, their product and the agreement of two directions, for given lines: what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..hosts.protocol import Pair
from ..links.decide import decide
from ..links.experts import BOTH, REVERSED, look_name, product_name
from ..links.read_pair import ReadPair
from ..links.readings import MethodReading
from .both_directions import BitextAligner
from .directions import EncodedAligner, Keep, PairAlignment
from .every_reading import EveryReading, windows


def shown_names(aligner: BitextAligner) -> list[str]:
    """Return the names of what :func:`read_looks` adds to a pair, the best one last."""
    expert = aligner.forward.aligner.expert
    looks = [look_name(reading) for reading in expert.readings] if len(expert.readings) > 1 else []
    return [*looks, product_name(expert), *([REVERSED, BOTH] if aligner.backward is not None else [])]


def read_looks(
    aligner: BitextAligner,
    lines: Iterable[tuple[int, str, str]],
    methods: Sequence[str] = (),
    *,
    heads: bool = False,
    skipped: Callable[[int, str], object] = lambda number, why: None,
) -> Iterator[ReadPair]:
    """Read (id, source, target) lines in their order: every layer of ``methods``, and what :func:`shown_names` names.

    The links of the product and of both directions are those that the aligner decides on. ``skipped`` is told of lines
    that are left out.
    """
    every = EveryReading(aligner.forward, methods, heads=heads) if methods else None
    for window in windows(lines):
        numbers = [number for number, _, _ in window]
        forward, backward = aligner.encode([(source, target) for _, source, target in window])
        found = every(forward, numbers) if every else {}
        decided = aligner.align_sides(forward, backward, keep=Keep(soft=True, read=True), first=numbers[0])
        for place, (pair, number) in enumerate(zip(forward, numbers, strict=True)):
            if isinstance(pair, str):
                skipped(number, pair)
            else:
                read = found.get(place) or _bare(number, pair)
                yield replace(read, readings={**read.readings, **_looks(aligner, decided[place])})


def _bare(number: int, pair: Pair) -> ReadPair:
    source, target = (line.sentence for line in pair)
    return ReadPair(number, source, target, {})


def _looks(aligner: BitextAligner, decided: PairAlignment) -> dict[str, MethodReading]:
    read = decided.read
    assert read is not None
    expert = read.expert
    looks = {look_name(reading): MethodReading(words=read.read(reading)[None]) for reading in expert.readings}
    product = MethodReading(words=read.soft()[None], links=tuple(read.links()))
    found = {**looks, product_name(expert): product}
    if aligner.backward is not None:
        found[REVERSED] = _turned(aligner.backward, decided.directions[1])
        words = None if decided.soft is None else decided.soft[None]
        found[BOTH] = MethodReading(words=words, links=tuple(decided.links))
    return found


def _turned(backward: EncodedAligner, soft: np.ndarray) -> MethodReading:
    """What the model of the other direction says by itself: [S, T] -> words [1, T, S], and its links."""
    decision, floor = backward.aligner.options.decision_for(backward.aligner.expert)
    links, _ = decide(soft, decision, floor=floor)
    return MethodReading(words=soft.T[None], links=tuple(sorted((source, target) for target, source in links)))

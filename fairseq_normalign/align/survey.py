"""What is drawn of given pairs: every layer and head of some methods, looks, and what directions decide together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..alignment import Alignment
from ..hosts.protocol import NO_MEMORY
from ..links.decide import decide
from ..links.experts import BOTH, REVERSED, look_name, product_name
from ..links.pieces import Sentence
from ..links.read_pair import ReadPair
from ..links.readings import MethodReading
from ..text.encoding import Line
from .aligner import Aligner
from .model import Model

WINDOW = 256
"""Pairs that are read together; bounds the memory."""

NumberedLines = Iterable[tuple[int, str, str]]
"""The id of each pair, its source and its target."""


def read_pairs(
    model: Model,
    lines: NumberedLines,
    methods: Sequence[str],
    *,
    heads: bool = False,
    skipped: Callable[[int, str], object] = lambda number, why: None,
) -> Iterator[ReadPair]:
    """Read lines by each method, in their order.

    ``skipped`` is called with the id of each line that is left out, and the reason.
    """
    yield from read_looks(Aligner(model), lines, methods, heads=heads, looks=False, skipped=skipped)


def read_looks(
    aligner: Aligner,
    lines: NumberedLines,
    methods: Sequence[str] = (),
    *,
    heads: bool = False,
    looks: bool = True,
    skipped: Callable[[int, str], object] = lambda number, why: None,
) -> Iterator[ReadPair]:
    """Read lines in their order: layers of ``methods``, and then looks, their product and both directions.

    The links of the product and of both directions are those that the aligner decides on. ``skipped`` is called with
    the id of each line that is left out, and the reason.
    """
    model, waiting = aligner.forward, iter(lines)
    while window := list(itertools.islice(waiting, WINDOW)):
        numbers = [number for number, _, _ in window]
        called = [str(number + 1) for number in numbers]
        encoded = aligner.encode([(source, target) for _, source, target in window])
        read: dict[int, Mapping[str, MethodReading]] = {}
        if methods:
            for places, pairs in model.batches(
                encoded.forward,
                lambda batch: model.read_methods(batch, methods, heads=heads),
                names=called.__getitem__,
            ):
                read.update(zip(places, (pair.readings for pair in pairs), strict=True))
        decided = aligner.align(encoded, soft=True, read=True, first=numbers[0]) if looks else [None] * len(window)
        for place, (pair, alignment) in enumerate(zip(encoded.forward, decided, strict=True)):
            if isinstance(pair, str):
                skipped(numbers[place], pair)
            elif (methods and place not in read) or (alignment is not None and alignment.skipped):
                skipped(numbers[place], NO_MEMORY)
            else:
                readings = {**read.get(place, {}), **(_looks(aligner, alignment) if alignment else {})}
                yield ReadPair(numbers[place], _as_written(pair[0]), _as_written(pair[1]), readings)


def _as_written(line: Line) -> Sentence:
    """Return the sentence with its words as they stand in the line, not as the model takes them (in lower case)."""
    sentence = line.sentence
    if not line.places:
        return sentence
    return replace(sentence, by_word=replace(sentence.by_word, words=line.given_words))


def _looks(aligner: Aligner, decided: Alignment) -> dict[str, MethodReading]:
    read = decided.read
    assert read is not None
    expert = read.expert
    looks = {look_name(reading): MethodReading(words=read.read(reading)[None]) for reading in expert.readings}
    found = {**looks, product_name(expert): MethodReading(words=read.soft()[None], links=tuple(read.links()))}
    if aligner.backward is not None:
        soft = decided.directions[1]  # [S, T]
        decision, floor = aligner.backward.options.decision_for(aligner.backward.expert)
        turned = sorted((source, target) for target, source in decide(soft, decision, floor=floor)[0])
        found[REVERSED] = MethodReading(words=soft.T[None], links=tuple(turned))
        words = None if decided.soft is None else decided.soft[None]
        found[BOTH] = MethodReading(words=words, links=tuple(decided.links))
    return found

"""What is drawn of given lines: every layer (and head) of some methods, both looks, their product, both directions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..hosts.protocol import Pair
from ..links.decide import decide
from ..links.experts import BOTH, REVERSED, look_name, product_name
from ..links.pieces import Sentence
from ..links.read_pair import ReadPair
from ..links.readings import EACH, MethodReading
from ..links.words import STEPS
from ..text.encoding import Line
from .both_directions import BitextAligner
from .decisions import by_layer
from .directions import Direction, Keep, PairAlignment
from .reader import Reader

WINDOW = 256
"""Pairs that are read together; bounds the memory."""


def read_pairs(
    direction: Direction,
    lines: Iterable[tuple[int, str, str]],
    methods: Sequence[str],
    *,
    heads: bool = False,
    skipped: Callable[[int, str], object] = lambda number, why: None,
) -> Iterator[ReadPair]:
    """Read (id, source, target) lines by each method, in their order.

    ``skipped`` is called with the id of each line that is left out, and the reason.
    """
    for window in _windows(lines):
        encoded = direction.encode([(source, target) for _, source, target in window])
        found = _every_layer(direction, methods, encoded, [number for number, _, _ in window], heads=heads)
        for place, (number, _, _) in enumerate(window):
            if place in found:
                yield found[place]
            else:
                skipped(number, str(encoded[place]))


def read_looks(
    aligner: BitextAligner,
    lines: Iterable[tuple[int, str, str]],
    methods: Sequence[str] = (),
    *,
    heads: bool = False,
    skipped: Callable[[int, str], object] = lambda number, why: None,
) -> Iterator[ReadPair]:
    """Read (id, source, target) lines in their order: layers of ``methods``, looks, their product, both directions.

    The links of the product and of both directions are those that the aligner decides on. ``skipped`` is called with
    the id of each line that is left out, and the reason.
    """
    for window in _windows(lines):
        numbers = [number for number, _, _ in window]
        forward, backward = aligner.encode([(source, target) for _, source, target in window])
        found = _every_layer(aligner.forward, methods, forward, numbers, heads=heads) if methods else {}
        decided = aligner.align_sides(forward, backward, keep=Keep(soft=True, read=True), first=numbers[0])
        for place, (pair, number) in enumerate(zip(forward, numbers, strict=True)):
            if isinstance(pair, str):
                skipped(number, pair)
            else:
                read = found.get(place) or ReadPair(number, _as_written(pair[0]), _as_written(pair[1]), {})
                yield replace(read, readings={**read.readings, **_looks(aligner, decided[place])})


def _windows(lines: Iterable[tuple[int, str, str]]) -> Iterator[list[tuple[int, str, str]]]:
    waiting = iter(lines)
    while window := list(itertools.islice(waiting, WINDOW)):
        yield window


def _every_layer(
    direction: Direction, methods: Sequence[str], encoded: Sequence[Pair | str], numbers: Sequence[int], *, heads: bool
) -> dict[int, ReadPair]:
    """Return what was read, by the place of each pair in ``encoded``; ``numbers`` are the ids of the pairs."""
    reader = Reader(direction.models)
    wanted = [place for name in methods for place in reader.places(name, heads=heads)]
    pairs: dict[int, ReadPair] = {}
    for places, batch in direction.batches(encoded):
        batch = replace(batch, names=[str(numbers[place] + 1) for place in places])
        for place, found in zip(places, reader.read(batch, wanted), strict=True):
            readings = {}
            for name in methods:
                each = by_layer(found, name, EACH)
                steps = tuple(step for step in STEPS if step in reader.method(name).steps)
                layers = np.stack(by_layer(found, name, None))
                readings[name] = MethodReading(layers, np.stack(each) if each else None, read_at=steps)
            pair = encoded[place]
            assert not isinstance(pair, str)
            pairs[place] = ReadPair(numbers[place], _as_written(pair[0]), _as_written(pair[1]), readings)
    return pairs


def _as_written(line: Line) -> Sentence:
    """Return the sentence with its words as they stand in the line, not as the model takes them (in lower case)."""
    sentence = line.sentence
    if not line.places:
        return sentence
    return replace(sentence, by_word=replace(sentence.by_word, words=line.given_words))


def _looks(aligner: BitextAligner, decided: PairAlignment) -> dict[str, MethodReading]:
    read = decided.read
    assert read is not None
    expert = read.expert
    looks = {look_name(reading): MethodReading(words=read.read(reading)[None]) for reading in expert.readings}
    found = {**looks, product_name(expert): MethodReading(words=read.soft()[None], links=tuple(read.links()))}
    if aligner.backward is not None:
        soft = decided.directions[1]  # [S, T]
        decision, floor = aligner.backward.aligner.options.decision_for(aligner.backward.aligner.expert)
        turned = sorted((source, target) for target, source in decide(soft, decision, floor=floor)[0])
        found[REVERSED] = MethodReading(words=soft.T[None], links=tuple(turned))
        words = None if decided.soft is None else decided.soft[None]
        found[BOTH] = MethodReading(words=words, links=tuple(decided.links))
    return found

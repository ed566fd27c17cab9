"""Every layer (and head) of some methods for given lines: what the figures and the page show."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..hosts.protocol import Pair
from ..links.read_pair import ReadPair
from ..links.readings import EACH, MethodReading
from ..links.words import STEPS
from .decisions import by_layer
from .directions import Direction
from .reader import Found, Reader

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
    """Read (id, source, target) lines by each method, in their order; ``skipped`` is told of those left out."""
    read = EveryReading(direction, methods, heads=heads)
    for window in windows(lines):
        numbers = [number for number, _, _ in window]
        encoded = direction.encode([(source, target) for _, source, target in window])
        found = read(encoded, numbers)
        for place, number in enumerate(numbers):
            if place in found:
                yield found[place]
            else:
                skipped(number, str(encoded[place]))


def windows(lines: Iterable[tuple[int, str, str]]) -> Iterator[list[tuple[int, str, str]]]:
    """Cut lines into lists of :data:`WINDOW`."""
    waiting = iter(lines)
    while window := list(itertools.islice(waiting, WINDOW)):
        yield window


class EveryReading:
    """Reads every layer, and every head where that is wanted, by some methods."""

    def __init__(self, direction: Direction, methods: Sequence[str], *, heads: bool = False) -> None:
        self.direction = direction
        self.methods = methods
        self.reader = Reader(direction.models)
        self.wanted = [place for name in methods for place in self.reader.places(name, heads=heads)]

    def __call__(self, encoded: Sequence[Pair | str], numbers: Sequence[int]) -> dict[int, ReadPair]:
        """Return what was read by the place of each pair in ``encoded``; ``numbers`` are the ids of the pairs."""
        found: dict[int, ReadPair] = {}
        for places, batch in self.direction.batches(encoded):
            batch = replace(batch, names=[str(numbers[place] + 1) for place in places])
            for number, (place, read) in enumerate(zip(places, self.reader.read(batch, self.wanted), strict=True)):
                readings = {name: _reading(self.reader, name, read) for name in self.methods}
                found[place] = ReadPair(numbers[place], *batch.sentences[number], readings)
        return found


def _reading(reader: Reader, name: str, found: Found) -> MethodReading:
    heads = by_layer(found, name, EACH)
    steps = tuple(step for step in STEPS if step in reader.method(name).steps)
    return MethodReading(np.stack(by_layer(found, name, None)), np.stack(heads) if heads else None, read_at=steps)

"""Every layer (and head) of some methods for given lines: what the figures and the page show."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..alignment.read_pair import ReadPair
from ..alignment.readings import EACH, MethodReading
from ..alignment.steps_to_words import SETTINGS
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
    reader = Reader(direction.models)
    wanted = [place for name in methods for place in reader.places(name, heads=heads)]
    waiting = iter(lines)
    while window := list(itertools.islice(waiting, WINDOW)):
        encoded = direction.encode([(source, target) for _, source, target in window])
        found: dict[int, ReadPair] = {}
        for places, batch in direction.batches(encoded):
            batch = replace(batch, names=[str(window[place][0] + 1) for place in places])
            for number, (place, read) in enumerate(zip(places, reader.read(batch, wanted), strict=True)):
                readings = {name: _reading(reader, name, read) for name in methods}
                found[place] = ReadPair(window[place][0], *batch.sentences[number], readings)
        for place, (number, _, _) in enumerate(window):
            if place in found:
                yield found[place]
            else:
                skipped(number, str(encoded[place]))


def _reading(reader: Reader, name: str, found: Found) -> MethodReading:
    heads = by_layer(found, name, EACH)
    settings = tuple(setting for setting in SETTINGS if setting in reader.method(name).settings)
    return MethodReading(np.stack(by_layer(found, name, None)), np.stack(heads) if heads else None, settings=settings)

"""Every layer (and head) of some methods for given pairs, by forced decoding: what the figures and the page show."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..alignment.read_pair import ReadPair
from ..alignment.readings import MethodReading
from ..alignment.steps_to_words import SETTINGS
from ..attribution import get_method
from .directions import Direction
from .reader import Batch, soft_alignments

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
    waiting = iter(lines)
    while window := list(itertools.islice(waiting, WINDOW)):
        encoded = direction.encode([(source, target) for _, source, target in window])
        found: dict[int, ReadPair] = {}
        for places, batch in direction.batches(encoded):
            batch = replace(batch, names=[str(window[place][0] + 1) for place in places])
            read = [_readings(direction, batch, method, heads) for method in methods]
            for number, place in enumerate(places):
                readings = {method: one[number] for method, one in zip(methods, read, strict=True)}
                found[place] = ReadPair(window[place][0], *batch.sentences[number], readings)
        for place, (number, _, _) in enumerate(window):
            if place in found:
                yield found[place]
            else:
                skipped(number, str(encoded[place]))


def _readings(direction: Direction, batch: Batch, method: str, heads: bool) -> list[MethodReading]:
    aligner = direction.aligner
    dictionary = aligner.target.dictionary
    ends = {"start": dictionary.eos(), "pad": dictionary.pad()}
    how = get_method(method)
    settings = tuple(setting for setting in SETTINGS if setting in how.settings)
    layers = soft_alignments(aligner.models, batch, method, None, **ends)
    by_head: Sequence[np.ndarray | None] = [None] * len(layers)
    if heads and how.has_heads:
        by_head = soft_alignments(aligner.models, batch, method, None, by_head=True, **ends)
    return [MethodReading(steps, each, settings=settings) for steps, each in zip(layers, by_head, strict=True)]

"""Pairs to draw, read from a model: every layer (and head) of some methods, by forced decoding."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..alignment.words import SETTINGS
from ..attribution import get_method
from ..report.pairs import Pair, Reading, Side
from .corpus import Direction
from .forced import Batch, soft_alignments
from .vocabulary import Sentence

WINDOW = 256
"""Pairs that are read together; bounds the memory."""


def read_pairs(
    direction: Direction,
    lines: Iterable[tuple[int, str, str]],
    methods: Sequence[str],
    *,
    heads: bool = False,
    skipped: Callable[[int, str], object] = lambda number, why: None,
) -> Iterator[Pair]:
    """Read (id, source, target) lines by each method, in their order; ``skipped`` is told of those left out."""
    waiting = iter(lines)
    while window := list(itertools.islice(waiting, WINDOW)):
        encoded = direction.encode([(source, target) for _, source, target in window])
        found: dict[int, Pair] = {}
        for places, batch in direction.batches(encoded):
            read = [_readings(direction, batch, method, heads) for method in methods]
            for number, place in enumerate(places):
                source, target = (_side(sentence) for sentence in batch.sentences[number])
                readings = {method: one[number] for method, one in zip(methods, read, strict=True)}
                found[place] = Pair(window[place][0], source, target, readings)
        for place, (number, _, _) in enumerate(window):
            if place in found:
                yield found[place]
            else:
                skipped(number, str(encoded[place]))


def _readings(direction: Direction, batch: Batch, method: str, heads: bool) -> list[Reading]:
    aligner = direction.aligner
    dictionary = aligner.target.dictionary
    ends = {"start": dictionary.eos(), "pad": dictionary.pad()}
    how = get_method(method)
    settings = tuple(setting for setting in SETTINGS if setting in how.settings)
    layers = soft_alignments(aligner.models, batch, method, None, **ends)
    if not heads or not how.has_heads:
        return [Reading(steps=steps, settings=settings) for steps in layers]
    by_head = soft_alignments(aligner.models, batch, method, None, by_head=True, **ends)
    return [Reading(steps=steps, heads=each, settings=settings) for steps, each in zip(layers, by_head, strict=True)]


def _side(sentence: Sentence) -> Side:
    return Side(sentence.pieces, sentence.by_word)

"""How the argmax links of every choice of a pair agree with its gold."""

from __future__ import annotations

import numpy as np

from ..alignment.readings import MethodReading
from ..alignment.steps_to_words import to_words
from .pairs import ReadPair

COUNTED = ("links", "sure_hits", "possible_hits")


def argmax_counts(pair: ReadPair) -> np.ndarray:
    """[choices, 3]: the numbers of :data:`COUNTED`, choices in the order of :func:`.pairs.every_reading`."""
    rows = [_counts_of(pair, reading).reshape(-1, len(COUNTED)) for reading in pair.readings.values()]
    return np.concatenate([np.zeros((0, len(COUNTED)), dtype=np.int64), *rows])


def aer_of(counts: np.ndarray, sure: int) -> np.ndarray:
    """AER of counts [..., 3] of sentences with ``sure`` sure links in all; 0 where there is nothing to link or find."""
    whole = counts[..., 0] + sure
    return 1 - np.where(whole > 0, (counts[..., 1] + counts[..., 2]) / np.maximum(whole, 1), 1.0)


def _counts_of(pair: ReadPair, reading: MethodReading) -> np.ndarray:
    """[layers, 1 + heads, settings, 3]."""
    shape = reading.shape
    counts = np.zeros((shape.layers, 1 + shape.heads, len(shape.settings), len(COUNTED)), dtype=np.int64)
    if pair.gold is None:
        return counts
    sure, possible = (_mask(links, pair) for links in (pair.gold.sure, pair.gold.possible))
    if reading.links is not None:
        chosen = _mask(frozenset(reading.links), pair)
        counts[...] = chosen.sum(), (chosen & sure).sum(), (chosen & possible).sum()
        return counts
    for number, setting in enumerate(shape.settings):
        soft = _all_words(pair, reading, setting)  # [layers, 1 + heads, T, S]
        if not soft.size:
            continue
        best, linked = soft.argmax(axis=-1), soft.any(axis=-1)
        target = np.arange(soft.shape[-2])
        for column, mask in enumerate((np.ones_like(sure), sure, possible)):
            counts[:, :, number, column] = (mask[target, best] & linked).sum(axis=-1)
    return counts


def _all_words(pair: ReadPair, reading: MethodReading, setting: str) -> np.ndarray:
    if reading.words is not None:
        return reading.words[:, None]
    assert reading.steps is not None
    steps = reading.steps[:, None]
    if reading.heads is not None:
        steps = np.concatenate([steps, reading.heads], axis=1)
    return to_words(steps, pair.target.by_word, pair.source.by_word, setting)[0]


def _mask(links: frozenset[tuple[int, int]], pair: ReadPair) -> np.ndarray:
    """[target words, source words]."""
    mask = np.zeros((len(pair.target.words), len(pair.source.words)), dtype=bool)
    for source, target in links:
        mask[target, source] = True
    return mask

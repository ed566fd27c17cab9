"""IBM model 1: which words translate each other, from co-occurrence alone. numpy only.

The lexicon is estimated without the model, so it is independent of any layer: attention that stays on the diagonal, on
the end of a sentence or one word behind finds no support in it beyond chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ROUNDS = 5
NULL = 0
"""The number of the empty source word."""

Words = Sequence[str]


def word_shares(pairs: Sequence[tuple[Words, Words]], rounds: int = ROUNDS) -> list[np.ndarray]:
    """Return how the lexicon of these (source, target) pairs shares each target word among its source words.

    One array per pair: [target words, source words], rows adding up to one.
    """
    if not any(target for _, target in pairs):
        return [np.zeros((0, len(source))) for source, _ in pairs]
    cells, sources, sizes = _cells(pairs)
    probability = np.ones(len(sources))  # of the target word given the source word, for every pair of words that meet
    row_starts = np.concatenate([[0], np.cumsum([width for height, width in sizes for _ in range(height)])])[:-1]
    row_of_cell = np.repeat(np.arange(len(row_starts)), np.diff(np.append(row_starts, len(cells))))
    for _ in range(rounds):
        expected = probability[cells]
        expected = expected / np.add.reduceat(expected, row_starts)[row_of_cell]
        counts = np.bincount(cells, weights=expected, minlength=len(sources))
        totals = np.bincount(sources, weights=counts)
        probability = counts / totals[sources]
    return _shares(probability[cells], sizes)


def _cells(pairs: Sequence[tuple[Words, Words]]) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """-> for every cell of every pair (the empty word in front) the number of its word pair; the source word of each
    word pair; the sizes of the pairs, the empty word counted."""
    source_ids: dict[str, int] = {}
    target_ids: dict[str, int] = {}
    sides = [
        (
            np.array([NULL, *(source_ids.setdefault(word, len(source_ids) + 1) for word in source)], dtype=np.int64),
            np.array([target_ids.setdefault(word, len(target_ids)) for word in target], dtype=np.int64),
        )
        for source, target in pairs
    ]
    width = len(target_ids)
    keys = [(source[None, :] * width + target[:, None]).ravel() for source, target in sides]
    unique, cells = np.unique(np.concatenate(keys), return_inverse=True)
    return cells, unique // width, [(len(target), len(source)) for source, target in sides]


def _shares(values: np.ndarray, sizes: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    stops = np.cumsum([height * width for height, width in sizes])
    found = []
    for (height, width), part in zip(sizes, np.split(values, stops[:-1]), strict=True):
        words = part.reshape(height, width)[:, 1:]
        total = words.sum(axis=1, keepdims=True)
        found.append(np.divide(words, total, out=np.zeros_like(words), where=total > 0))
    return found

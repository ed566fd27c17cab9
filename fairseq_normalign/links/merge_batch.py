"""Pieces to words for many sentence pairs at once: :func:`.steps_to_words.to_words` without a Python loop per pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .decide import Array, best_sources
from .pieces import Segmentation
from .steps_to_words import normalized, rows_of


@dataclass(frozen=True)
class BatchOfWords:
    """Soft alignments of N pairs between words, padded with zeros to the longest."""

    soft: Array
    """[N, target words, source words]."""
    null: Array
    """[N, target words]: the largest value on positions that belong to no word."""
    sizes: list[tuple[int, int]]
    """N pairs: how many target words and source words are real."""

    def of(self, number: int) -> Array:
        """Return the soft alignment of one pair, without padding: [target words, source words]."""
        targets, sources = self.sizes[number]
        return self.soft[number, :targets, :sources]

    def best(self, policy: str = "best") -> NDArray[np.intp]:
        """Return the source word of each target word, -1 for none: [N, target words]; see :func:`best_sources`."""
        lengths = np.array([sources for _, sources in self.sizes], dtype=np.intp)
        return best_sources(self.soft, self.null, policy, source_lengths=lengths)

    def confidence(self, best: NDArray[np.intp]) -> Array:
        """Return the share of the chosen source word in its row, 0 where there is none: [N, target words]."""
        if not self.soft.shape[2]:
            return np.zeros(best.shape, dtype=self.soft.dtype)
        share = np.take_along_axis(normalized(self.soft), np.maximum(best, 0)[..., None], axis=2)[..., 0]
        return np.where(best >= 0, share, 0)


def to_words_of_batch(
    steps: Sequence[Array], targets: Sequence[Segmentation], sources: Sequence[Segmentation], step: str
) -> BatchOfWords:
    """Merge the pieces of N pairs into words; ``steps`` are N arrays [T + 1 decoder steps, S source positions].

    >>> from fairseq_normalign.links.pieces import segment
    >>> source, target = segment(["Haus@@", "tür"]), segment(["door"])
    >>> to_words_of_batch([np.array([[0.5, 0.5], [0.25, 0.5]])], [target], [source], "awi").of(0).tolist()
    [[0.75]]
    """
    count = len(steps)
    length = max((one.shape[0] - 1 for one in steps), default=0)
    width = max((one.shape[1] for one in steps), default=0)
    rows = np.zeros((count, length, width), dtype=np.float32)
    for number, one in enumerate(steps):
        rows[number, : one.shape[0] - 1, : one.shape[1]] = rows_of(one, step)
    by_source = _membership(sources, width)  # [N, S, source words]
    by_target = _membership(targets, length)  # [N, T, target words]
    totals = by_target.sum(axis=1, keepdims=True)
    mean = (by_target / np.where(totals > 0, totals, 1)).transpose(0, 2, 1)
    soft = mean @ (rows @ by_source)
    null = (mean @ _largest_special(rows, sources)[..., None])[..., 0]
    sizes = [(len(target.spans), len(source.spans)) for target, source in zip(targets, sources, strict=True)]
    return BatchOfWords(soft, null, sizes)


def _membership(sides: Sequence[Segmentation], width: int) -> Array:
    """Return [N, positions, words]: 1 where the position belongs to the word, less where it belongs to several."""
    counts = [len(side.spans) for side in sides]
    spans = np.array([border for side in sides for span in side.spans for border in span], dtype=np.intp).reshape(-1, 2)
    lengths = spans[:, 1] - spans[:, 0]
    row, word = np.repeat(np.arange(len(sides)), counts), _counted(counts)
    position = np.repeat(spans[:, 0], lengths) + _counted(lengths)
    member = np.zeros((len(sides), width, max(counts, default=0)), dtype=np.float32)
    member[np.repeat(row, lengths), position, np.repeat(word, lengths)] = 1
    if any(side.shares_pieces for side in sides):
        member /= np.maximum(member.sum(axis=2, keepdims=True), 1)
    return member


def _counted(lengths: Sequence[int] | Array) -> Array:
    """Return 0, 1, ... up to each length, one after the other: [2, 3] -> [0, 1, 0, 1, 2]."""
    lengths = np.asarray(lengths, dtype=np.intp)
    counted: Array = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return counted


def _largest_special(rows: Array, sources: Sequence[Segmentation]) -> Array:
    """Return the largest value on a position of no word, 0 where there is none: rows [N, T, S] -> [N, T]."""
    counts = [len(source.specials) for source in sources]
    is_special = np.zeros((rows.shape[0], rows.shape[2]), dtype=bool)
    positions = np.array([position for source in sources for position in source.specials], dtype=np.intp)
    is_special[np.repeat(np.arange(len(sources)), counts), positions] = True
    largest = np.where(is_special[:, None, :], rows, -np.inf).max(axis=2, initial=-np.inf)
    return np.where(np.isneginf(largest), 0, largest).astype(rows.dtype)

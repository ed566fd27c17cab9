"""From decoder steps and pieces to words: the soft alignments of one sentence pair, or of many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import NormalignError
from .decide import Array, best_sources, normalized
from .pieces import Segmentation

STEPS = ("awo", "awi")
"""AWO: the decoder step at which the word is the output. AWI: the step at which it is the input, one later."""


def rows_of(soft: Array, step: str) -> Array:
    """Return the rows of the target pieces: [..., T + 1 decoder steps, S] -> [..., T target pieces, S].

    Step 0 has the start symbol as input and the first piece as output; the last step has the last piece as input.

    >>> rows_of(np.array([[1.0], [2.0], [3.0]]), "awi").tolist()
    [[2.0], [3.0]]
    """
    if step not in STEPS:
        raise NormalignError(f"unknown step '{step}'; choose one of {', '.join(STEPS)}")
    return soft[..., 1:, :] if step == "awi" else soft[..., :-1, :]


def membership(sides: Sequence[Segmentation], width: int) -> Array:
    """Return [N, width positions, words]: 1 where the position belongs to the word, less where it belongs to several.

    >>> membership([Segmentation(("a", "b"), ((0, 1), (0, 2)), ())], 2).tolist()
    [[[0.5, 0.5], [0.0, 1.0]]]
    """
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


def _merged(rows: Array, targets: Sequence[Segmentation], sources: Sequence[Segmentation]) -> tuple[Array, Array]:
    """Merge pieces into words as Li et al. 2019 do: sum over source pieces, mean over target pieces.

    ``rows`` is [N, T, S], or [1, ..., T, S] for one pair -> [..., target words, source words], and for each target
    word [..., target words] the largest value on positions that belong to no word.
    """
    by_target, by_source = (
        membership(sides, width).astype(rows.dtype)
        for sides, width in ((targets, rows.shape[-2]), (sources, rows.shape[-1]))
    )
    is_special = np.zeros((len(sources), 1, rows.shape[-1]), dtype=bool)
    positions = np.array([position for source in sources for position in source.specials], dtype=np.intp)
    is_special[np.repeat(np.arange(len(sources)), [len(source.specials) for source in sources]), 0, positions] = True
    columns = np.unique(positions)
    largest = rows[..., columns].max(axis=-1, where=is_special[..., columns], initial=-np.inf)
    special = np.where(np.isneginf(largest), 0, largest).astype(rows.dtype)
    totals = by_target.sum(axis=-2, keepdims=True)
    mean = (by_target / np.where(totals > 0, totals, 1)).swapaxes(-1, -2)
    return mean @ (rows @ by_source), (mean @ special[..., None])[..., 0]


def to_words(soft: Array, target: Segmentation, source: Segmentation, step: str) -> tuple[Array, Array]:
    """Merge pieces into words: [..., T + 1 steps, S] -> [..., target words, source words], null [..., target words].

    Null is the largest value on a source position that belongs to no word (end of sentence, language tags), averaged
    over the target pieces. Half precision is widened to float32, whole numbers to float64.

    >>> from fairseq_normalign.links.pieces import segment
    >>> source, target = segment(["Haus@@", "tür", "</s>"], specials={"</s>"}), segment(["door"])
    >>> words, null = to_words(np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]), target, source, "awo")
    >>> words.tolist(), null.tolist()
    ([[0.75]], [0.25])
    """
    rows = rows_of(np.asarray(soft), step)
    if rows.dtype.kind != "f" or rows.dtype.itemsize < 4:
        rows = rows.astype(np.float32 if rows.dtype.kind == "f" else np.float64)
    words, null = _merged(rows[None], [target], [source])
    return words[0], null[0]


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

    It is :func:`to_words` without a Python loop over the pairs.

    >>> from fairseq_normalign.links.pieces import segment
    >>> source, target = segment(["Haus@@", "tür"]), segment(["door"])
    >>> to_words_of_batch([np.array([[0.5, 0.5], [0.25, 0.5]])], [target], [source], "awi").of(0).tolist()
    [[0.75]]
    """
    length = max((one.shape[0] - 1 for one in steps), default=0)
    width = max((one.shape[1] for one in steps), default=0)
    rows = np.zeros((len(steps), length, width), dtype=np.float32)
    for number, one in enumerate(steps):
        rows[number, : one.shape[0] - 1, : one.shape[1]] = rows_of(one, step)

    soft, null = _merged(rows, targets, sources)
    sizes = [(len(target.spans), len(source.spans)) for target, source in zip(targets, sources, strict=True)]
    return BatchOfWords(soft, null, sizes)

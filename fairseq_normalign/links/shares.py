"""Soft alignments between pieces made into ones between words where a piece may belong to more than one word."""

from __future__ import annotations

import numpy as np

from .pieces import Segmentation


def shares_of(side: Segmentation, width: int) -> np.ndarray:
    """Return ``[words, width]``: the share of each piece that belongs to each word; a shared piece in equal parts.

    >>> shares_of(Segmentation(("a", "b"), ((0, 1), (0, 2)), ()), 2).tolist()
    [[0.5, 0.0], [0.5, 1.0]]
    """
    shares = np.zeros((len(side.spans), width))
    for word, (start, stop) in enumerate(side.spans):
        shares[word, start:stop] = 1
    shares /= np.maximum(shares.sum(axis=0), 1)
    return shares


def merge_shared(soft: np.ndarray, target_shares: np.ndarray, source_shares: np.ndarray) -> np.ndarray:
    """Merge pieces into words: ``[..., T, S]`` -> ``[..., target words, source words]``.

    ``target_shares`` is ``[target words, T]`` and ``source_shares`` ``[source words, S]``: the share of each piece that
    belongs to each word, columns adding up to one, or to zero for a piece of no word. As
    :func:`fairseq_normalign.links.merge.merge` does with its defaults, a word's pieces are summed on the source
    side and averaged on the target side, here each with its share. A word without pieces has zeros.

        >>> soft = np.array([[0.75, 0.25], [0.5, 0.5]])
        >>> merge_shared(soft, np.eye(2), np.array([[1.0, 0.5], [0.0, 0.5]])).tolist()
        [[0.875, 0.125], [0.75, 0.25]]
    """
    soft = np.asarray(soft)
    if soft.dtype.kind != "f" or soft.dtype.itemsize < 4:
        soft = soft.astype(np.float64 if soft.dtype.kind != "f" else np.float32)
    if soft.shape[-2:] != (target_shares.shape[1], source_shares.shape[1]):
        raise ValueError(
            f"a soft alignment of shape {soft.shape} has not the {target_shares.shape[1]} target and "
            f"{source_shares.shape[1]} source pieces of the shares"
        )
    totals = target_shares.sum(axis=1, keepdims=True)
    means = np.divide(target_shares, totals, out=np.zeros_like(target_shares, dtype=np.float64), where=totals > 0)
    words: np.ndarray = means.astype(soft.dtype) @ soft @ source_shares.T.astype(soft.dtype)
    return words

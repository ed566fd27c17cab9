"""From decoder steps and source positions to words: which row of a soft alignment speaks of which target word."""

from __future__ import annotations

import numpy as np

from ..errors import NormalignError
from .merge import merge
from .pieces import Segmentation

SETTINGS = ("awo", "awi")
"""AWO: the decoder step at which the word is the output. AWI: the step at which it is the input, one later."""


def rows_of(soft: np.ndarray, setting: str) -> np.ndarray:
    """The rows that speak of the target pieces: ``[..., T + 1, S]`` decoder steps -> ``[..., T, S]`` target pieces.

    Step 0 has the start symbol as input and the first piece as output; the last step has the last piece as input.
    """
    if setting not in SETTINGS:
        raise NormalignError(f"unknown setting '{setting}'; choose one of {', '.join(SETTINGS)}")
    return soft[..., 1:, :] if setting == "awi" else soft[..., :-1, :]


def to_words(
    soft: np.ndarray, target: Segmentation, source: Segmentation, setting: str
) -> tuple[np.ndarray, np.ndarray]:
    """Steps ``[..., T + 1, S]`` to words ``[..., target words, source words]`` and null ``[..., target words]``.

    Pieces are merged as Li et al. 2019 do: sum over source pieces, mean over target pieces. Null is the largest value
    on a source position that belongs to no word (end of sentence, language tags), averaged over the target pieces.
    """
    rows = rows_of(soft, setting)
    words = merge(rows, target.spans, source.spans)
    if not source.specials:
        return words, np.zeros(words.shape[:-1], dtype=words.dtype)
    special = rows[..., list(source.specials)].max(axis=-1, keepdims=True)
    return words, merge(special, target.spans, [(0, 1)])[..., 0]


def normalized(soft: np.ndarray) -> np.ndarray:
    """Rows that add up to one: ``[..., T, S]`` -> the same shape. Below zero counts as zero; a row of zeros stays."""
    soft = np.maximum(soft, 0)
    total = soft.sum(axis=-1, keepdims=True)
    return np.divide(soft, total, out=np.zeros_like(soft), where=total > 0)

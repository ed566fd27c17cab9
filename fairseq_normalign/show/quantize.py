"""Soft alignments packed small for the page: 12 bits per value, deflated, as base64."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence

import numpy as np

from ..links.decide import best_sources
from ..links.pieces import Span
from ..links.words import rows_of

QUANTIZATION_STEPS = 4095
"""Values are whole multiples of scale = largest value of the matrix / QUANTIZATION_STEPS (half as many steps
either side of zero where values below zero occur)."""
SIGNED_STEPS = 2047
_ROUNDS = 32


def quantize(soft: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[..., T, S] -> whole numbers of the same shape, and the scale [...] of each matrix.

    They are 0 to QUANTIZATION_STEPS, or -SIGNED_STEPS to SIGNED_STEPS in arrays that hold a value below zero.
    """
    soft = np.asarray(soft, dtype=np.float64)
    scale = np.abs(soft).max(axis=(-1, -2), initial=0.0) / _most(soft)
    divisor = np.where(scale > 0, scale, 1.0)[..., None, None]
    return np.rint(soft / divisor).astype(np.int64), scale


def _most(soft: np.ndarray) -> int:
    return SIGNED_STEPS if (soft < 0).any() else QUANTIZATION_STEPS


def keep_argmax(
    levels: np.ndarray, soft: np.ndarray, target: Sequence[Span], source: Sequence[Span], step: str
) -> bool:
    """Correct ``levels`` in place where rounding made another source word the largest of its target word.

    ``levels`` and ``soft`` are [..., T, S] (``step`` '': rows are target pieces) or [..., T + 1, S] decoder steps.
    So the page's links are exactly those of the numbers before rounding; a value moves by a few 1/4095 of the largest.
    Returns whether anything had to be corrected.
    """
    if not target or not source:
        return False
    rows, exact_rows = (rows_of(array, step) if step else array for array in (levels, soft))
    exact = merge(exact_rows, target, source)
    wanted, most = best_sources(exact), _most(soft)
    for number in range(_ROUNDS):
        rounded = merge(rows, target, source)
        wrong = (wanted >= 0) & (best_sources(rounded) != wanted)
        if not wrong.any():
            return number > 0
        for place in map(tuple, np.argwhere(wrong)):
            _raise_winner(rows[place[:-1]], target[place[-1]], source[wanted[place]], most)
    return True


def merge(rows: np.ndarray, target: Sequence[Span], source: Sequence[Span]) -> np.ndarray:
    """Sum over the pieces of source words, mean over those of target words: [..., T, S] -> words [..., T, S].

    >>> merge(np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]), [(0, 2)], [(0, 1), (1, 3)]).tolist()
    [[0.375, 0.625]]
    """
    columns = np.stack([rows[..., start:stop].sum(axis=-1) for start, stop in source], axis=-1)
    means = [columns[..., start:stop, :].sum(axis=-2) / (stop - start) for start, stop in target]
    return np.stack(means, axis=-2)


def _raise_winner(rows: np.ndarray, target: Span, source: Span, most: int) -> None:
    """Raise the winner by one step where there is room, else lower its rivals. ``rows`` is a view [T, S]."""
    cells = rows[slice(*target), slice(*source)]
    if (cells < most).any():
        spot = np.unravel_index(int(np.argmin(cells)), cells.shape)
        cells[spot] += 1
        return
    rivals = np.ones(rows.shape[1], dtype=bool)
    rivals[slice(*source)] = False
    block = rows[slice(*target)]
    block[:, rivals] = np.maximum(block[:, rivals] - 1, 0 if most == QUANTIZATION_STEPS else -most)


def pack(arrays: Sequence[np.ndarray]) -> str:
    """Whole numbers up to 65535 as base64 of deflated bytes: first all low bytes, then all high bytes."""
    flat = np.concatenate([np.zeros(0, dtype="<u2"), *(array.ravel().astype("<u2") for array in arrays)])
    planes = flat.view(np.uint8).reshape(-1, 2).T.tobytes()
    return base64.b64encode(zlib.compress(planes, 6)).decode("ascii")


def unpack(text: str) -> np.ndarray:
    """Return what :func:`pack` packed, as one flat array.

    >>> unpack(pack([np.array([[1, 300]])])).tolist()
    [1, 300]
    """
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    return np.ascontiguousarray(planes.reshape(2, -1).T).view("<u2").ravel().astype(np.int64)

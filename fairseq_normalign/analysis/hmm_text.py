"""A bitext as the HMM learns from it: numbers for words and for pairs of words, sentence pairs of one size together.

Names of shapes: B pairs, T target words, S source words; a *cell* is one target word beside one source word of its
pair. numpy only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

MAX_CELLS = 100_000_000
"""Pairs beyond this many cells are not learned from: each cell takes 4 bytes of memory, 6 with shares."""
BLOCK = 8_000_000
"""Cells computed before their counts are added up."""
AT_ONCE = 200_000
"""Cells of one group: so many stay in the cache of a processor."""
STEM = 5
"""Letters at the beginning of a word that it is known by: the forms of a word mostly share them."""
SHARE_STEPS = 255
"""Shares are kept as whole numbers up to this one, in one byte."""

Words = Sequence[str]
Shares = tuple[np.ndarray, np.ndarray]
"""What another aligner gives to each pair of words, ``[T, S]`` and ``[S, T]``, rows adding up to one or less."""
Pair = tuple[Words, Words] | tuple[Words, Words, Shares | None]
"""Source and target words, and shares where there are some."""


class WordNumbers:
    """Numbers for the beginnings of words, from 0 on in the order in which they come."""

    def __init__(self, stem: int | None = STEM) -> None:
        """``stem``: how many letters count; None: all."""
        self.numbers: dict[str, int] = {}
        self.stem = stem

    def add(self, words: Words) -> np.ndarray:
        """``[words]``: the number of each word; a new word gets the next one."""
        return np.array(
            [self.numbers.setdefault(word[: self.stem], len(self.numbers)) for word in words], dtype=np.int32
        )

    def find(self, words: Words) -> np.ndarray:
        """``[words]``: the number of each word, -1 for one that is not known."""
        return np.array([self.numbers.get(word[: self.stem], -1) for word in words], dtype=np.int64)


@dataclass
class Group:
    """Sentence pairs that all have the same two lengths."""

    source: np.ndarray
    """[B, S] numbers of words."""
    target: np.ndarray
    """[B, T]."""
    cells: np.ndarray
    """[T, B, S]: the number of the pair of words in each cell."""
    shares: Shares | None = None
    """[T, B, S] and [S, B, T]: SHARE_STEPS times the shares of another aligner, in whole numbers."""


def grouped(pairs: Iterable[Pair], source: WordNumbers, target: WordNumbers, max_cells: int) -> list[Group]:
    """The pairs by their lengths, up to ``max_cells``; the cells are numbered later."""
    by_size: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray, Shares | None]]] = {}
    cells = 0
    for left, right, *given in pairs:
        cells += len(left) * len(right)
        if cells > max_cells:
            break
        if left and right:
            by_size.setdefault((len(right), len(left)), []).append((source.add(left), target.add(right), _kept(*given)))
    groups = []
    for (height, width), members in sorted(by_size.items()):
        at_once = max(1, AT_ONCE // (height * width))
        for start in range(0, len(members), at_once):
            sources, targets, shares = zip(*members[start : start + at_once], strict=True)
            cells_of_group = np.empty((height, len(sources), width), dtype=np.int32)
            groups.append(Group(np.stack(sources), np.stack(targets), cells_of_group, _stacked(shares, height, width)))
    return groups


def _kept(shares: Shares | None = None) -> Shares | None:
    """``[T, S]`` and ``[S, T]`` in one byte a cell."""
    if shares is None:
        return None
    forward, backward = (np.rint(SHARE_STEPS * np.clip(one, 0, 1)).astype(np.uint8) for one in shares)
    return forward, backward


def _stacked(shares: Sequence[Shares | None], height: int, width: int) -> Shares | None:
    """-> ``[T, B, S]`` and ``[S, B, T]``, even for a pair without shares; None where no pair has any."""
    if all(one is None for one in shares):
        return None
    even = np.full((height, width), SHARE_STEPS // width), np.full((width, height), SHARE_STEPS // height)
    forward, backward = zip(*(even if one is None else one for one in shares), strict=True)
    return np.stack(forward, axis=1).astype(np.uint8), np.stack(backward, axis=1).astype(np.uint8)


def number_cells(groups: Sequence[Group], sources: int, targets: int) -> np.ndarray:
    """Number all pairs of words that meet in a sentence pair, and write the numbers into the groups.

    -> sorted ``[word pairs]``: source word * number of target words + target word. A part of the source words is done
    at a time, so that only a part of all cells is sorted at once.
    """
    weight = np.zeros(sources)
    for group in groups:
        weight += np.bincount(group.source.ravel(), minlength=sources) * group.target.shape[1]
    part_of_word = (np.cumsum(weight) - 1) // BLOCK
    keys, first = [], 0
    for part in range(int(part_of_word[-1]) + 1):
        inside = [part_of_word[group.source] == part for group in groups]  # [B, S]
        found = []
        for group, mask in zip(groups, inside, strict=True):
            row, column = np.nonzero(mask)
            words = group.source[row, column].astype(np.int64)
            found.append((words * targets + group.target.T[:, row]).ravel())
        unique, numbers = np.unique(np.concatenate(found), return_inverse=True)
        start = 0
        for group, mask, some in zip(groups, inside, found, strict=True):
            group.cells[:, mask] = (first + numbers[start : start + len(some)]).reshape(len(group.cells), -1)
            start += len(some)
        keys.append(unique)
        first += len(unique)
    return np.concatenate(keys)


def blocks(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """Groups of about BLOCK cells together."""
    sizes = np.cumsum([group.cells.size for group in groups])
    numbered = zip(((sizes - 1) // BLOCK).tolist(), groups, strict=True)
    for _, some in itertools.groupby(numbered, key=lambda one: one[0]):
        yield [group for _, group in some]

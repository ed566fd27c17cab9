"""Scores of alignments. Everything is computed from counts that add up over sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import NormalignError
from .decide import Array, Link
from .formats import Block
from .gold import Gold

COUNTS = ("links", "sure", "possible", "sure_hits", "possible_hits")
"""The columns of a count array: |A|, |S|, |P|, |A and S|, |A and P|, where S is part of P."""

Counts = NDArray[np.int64]
"""[N, 5]: the counts of each sentence, in the order of :data:`COUNTS`."""

METRICS = ("aer", "precision", "recall", "f")

_POSSIBLE, _SURE, _LINK = 1, 2, 4


@dataclass(frozen=True)
class Score:
    """Scores as fractions of 1, with the counts they come from."""

    aer: float
    precision: float
    recall: float
    f: float
    links: int
    sure: int
    possible: int
    sure_hits: int
    possible_hits: int


def score(golds: Sequence[Gold], hypotheses: Sequence[Iterable[Link]], *, alpha: float = 0.5) -> Score:
    """Score the links of some sentences against their gold; ``alpha`` weighs precision against recall in F.

    >>> round(score([Gold(sure=frozenset({(0, 0)}), possible=frozenset())], [[(0, 0), (1, 1)]]).aer, 2)
    0.33
    """
    if len(golds) != len(hypotheses):
        raise NormalignError(f"{len(golds)} gold sentences, but {len(hypotheses)} hypotheses")
    return score_of(count_links(golds, hypotheses).sum(axis=0), alpha=alpha)


def count_links(golds: Sequence[Gold], hypotheses: Sequence[Iterable[Link]]) -> Counts:
    """Return the counts of each sentence, [N, 5] in the order of :data:`COUNTS`.

    >>> gold = Gold(sure=frozenset({(0, 0)}), possible=frozenset({(1, 0)}))
    >>> count_links([gold], [[(0, 0), (1, 1)]]).tolist()
    [[2, 1, 2, 1, 1]]
    """
    return count_blocks(gold_block(golds), Block.of([[(s, t, True) for s, t in links] for links in hypotheses]))


def count_sources(gold: Block, sources: Sequence[Array]) -> Counts:
    """Return the counts of each sentence, [N, 5], from the source word of each target word.

    ``sources`` are N arrays [T], -1 where a target word has no link (see :func:`.decide.best_sources`).

    >>> gold = gold_block([Gold(sure=frozenset({(0, 0)}), possible=frozenset({(1, 0)}))])
    >>> count_sources(gold, [np.array([1, -1])]).tolist()
    [[1, 1, 2, 0, 1]]
    """
    lengths = [len(one) for one in sources]
    sentence = np.repeat(np.arange(len(sources)), lengths)
    target = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(length) for length in lengths)])
    source = np.concatenate([np.zeros(0, dtype=np.int64), *sources])
    linked = source >= 0
    sure = np.ones(np.count_nonzero(linked), dtype=bool)
    return count_blocks(gold, Block(len(sources), sentence[linked], source[linked], target[linked], sure))


def gold_block(golds: Sequence[Gold]) -> Block:
    """Return gold alignments as the block that :func:`count_blocks` compares with.

    >>> list(gold_block([Gold(sure=frozenset({(0, 0)}), possible=frozenset({(1, 0)}))]).sentences())
    [[(0, 0, True), (1, 0, False)]]
    """
    return Block.of([[(*link, link in gold.sure) for link in gold.possible] for gold in golds])


def score_of(counts: np.ndarray, *, alpha: float = 0.5) -> Score:
    """Return the score of one row of counts [5].

    >>> score_of(np.array([2, 1, 2, 1, 1])).precision
    0.5
    """
    metrics = metrics_of(counts, alpha=alpha)
    values = {name: float(metrics[name]) for name in METRICS}
    return Score(**values, **dict(zip(COUNTS, map(int, counts), strict=True)))  # type: ignore[arg-type]


def metrics_of(counts: np.ndarray, *, alpha: float = 0.5) -> dict[str, np.ndarray]:
    """Return AER, precision, recall and F of each row of counts: [..., 5] -> four arrays [...].

    AER = 1 - (|A and S| + |A and P|) / (|A| + |S|), precision = |A and P| / |A|, recall = |A and S| / |S|,
    F = 1 / (alpha / precision + (1 - alpha) / recall). Where nothing was linked no link is wrong: precision is 1; where
    nothing is sure nothing was missed: recall is 1; where both hold AER is 0.

    >>> float(metrics_of(np.array([2, 2, 2, 1, 1]))["aer"])
    0.5
    """
    if not 0 <= alpha <= 1:
        raise NormalignError(f"alpha is a number from 0 to 1, not {alpha}")
    links, sure, _, sure_hits, possible_hits = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    precision = _ratio(possible_hits, links)
    recall = _ratio(sure_hits, sure)
    # alpha / P + (1 - alpha) / R, rewritten so that a zero in either gives 0 and not a division by it
    f = _ratio(precision * recall, alpha * recall + (1 - alpha) * precision, empty=0.0)
    return {
        "aer": 1 - _ratio(sure_hits + possible_hits, links + sure),
        "precision": precision,
        "recall": recall,
        "f": f,
    }


def _ratio(part: np.ndarray, whole: np.ndarray, *, empty: float = 1.0) -> np.ndarray:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), empty)


def count_blocks(gold: Block, hypothesis: Block) -> Counts:
    """Return the counts of each sentence of two blocks of the same sentences: [count, 5].

    All counting of links against gold is done here.

    >>> gold, links = Block.of([[(0, 0, True), (1, 0, False)]]), Block.of([[(1, 0, True)]])
    >>> count_blocks(gold, links).tolist()
    [[1, 1, 2, 0, 1]]
    """
    width = _width(gold, hypothesis)
    keys, kinds = _flagged(gold, hypothesis, width)
    if not len(keys):
        return np.zeros((gold.count, len(COUNTS)), dtype=np.int64)
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    sentence = keys[first] // (width * width)
    kinds = np.bitwise_or.reduceat(kinds, first)
    per_kind = np.bincount(sentence * 8 + kinds, minlength=gold.count * 8).reshape(-1, 8)
    counts: Counts = per_kind @ _COUNTED
    return counts


def _counted() -> np.ndarray:
    """Return [8, 5]: which counts a link of each kind belongs to; a kind is a sum of _POSSIBLE, _SURE and _LINK."""
    kinds = np.arange(8)
    is_link, is_sure = (kinds & _LINK) > 0, (kinds & _SURE) > 0
    is_possible = is_sure | ((kinds & _POSSIBLE) > 0)
    columns = (is_link, is_sure, is_possible, is_link & is_sure, is_link & is_possible)
    return np.stack(columns, axis=1).astype(np.int64)


_COUNTED = _counted()


def _width(gold: Block, hypothesis: Block) -> int:
    return 1 + max(int(side.max(initial=0)) for block in (gold, hypothesis) for side in (block.source, block.target))


def _flagged(gold: Block, hypothesis: Block, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all links of both as sorted numbers, and the kind of each."""
    narrow = gold.count * width * width * 8 <= np.iinfo(np.int32).max  # sorted in half the time
    number = np.int32 if narrow else np.int64
    tagged = np.concatenate([link_numbers(block, width, number) for block in (gold, hypothesis)])
    tagged <<= number(3)
    tagged[: len(gold)] += np.where(gold.sure, number(_SURE), number(_POSSIBLE))
    tagged[len(gold) :] += number(_LINK)
    tagged.sort()
    return tagged >> number(3), tagged & number(7)


def link_numbers(block: Block, width: int, number: type[np.signedinteger] = np.int64) -> np.ndarray:
    """Return [L]: each link as one number, with sentence, source and target as digits to the base ``width``.

    >>> link_numbers(Block.of([[], [(2, 3, True)]]), 10).tolist()
    [123]
    """
    sentence, source, target = (
        column.astype(number, copy=False) for column in (block.sentence, block.source, block.target)
    )
    numbers: Array = (sentence * number(width) + source) * number(width) + target
    return numbers

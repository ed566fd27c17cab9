"""Scores of alignments. Everything is computed from counts that add up over sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import NormalignError
from .decide import Array, Link
from .formats import AlignmentFile, Block, Lengths, in_step
from .gold import Gold

COUNTS = ("links", "sure", "possible", "sure_hits", "possible_hits")
"""The columns of a count array: |A|, |S|, |P|, |A and S|, |A and P|, where S is part of P."""

Counts = NDArray[np.int64]
"""[N, 5]: the counts of each sentence, in the order of :data:`COUNTS`."""

METRICS = ("aer", "precision", "recall", "f")

_POSSIBLE, _SURE, _LINK = 1, 2, 4


@dataclass(frozen=True)
class Score:
    """Scores as fractions of 1, with the counts they come from; printed, they are in percent as on the command line.

    >>> print(score([Gold(sure=frozenset({(0, 0)}), possible=frozenset())], [[(0, 0), (1, 1)]]))
    AER 33.3, precision 50.0, recall 100.0, F 66.7 (2 links, 1 sure, 1 possible in the gold)
    """

    aer: float
    precision: float
    recall: float
    f: float
    links: int
    sure: int
    possible: int
    sure_hits: int
    possible_hits: int

    def __str__(self) -> str:
        values = zip(("AER", "precision", "recall", "F"), (self.aer, self.precision, self.recall, self.f), strict=True)
        shown = ", ".join(f"{name} {100 * value:.1f}" for name, value in values)
        return f"{shown} ({self.links} links, {self.sure} sure, {self.possible} possible in the gold)"


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
    width = 1 + max(int(side.max(initial=0)) for block in (gold, hypothesis) for side in (block.source, block.target))
    narrow = gold.count * width * width * 8 <= np.iinfo(np.int32).max  # sorted in half the time
    number = np.int32 if narrow else np.int64
    tagged = np.concatenate([link_numbers(block, width, number) for block in (gold, hypothesis)])
    if not len(tagged):
        return np.zeros((gold.count, len(COUNTS)), dtype=np.int64)
    tagged <<= number(3)
    tagged[: len(gold)] += np.where(gold.sure, number(_SURE), number(_POSSIBLE))
    tagged[len(gold) :] += number(_LINK)
    tagged.sort()
    keys, kinds = tagged >> number(3), tagged & number(7)

    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    sentence = keys[first] // (width * width)
    kinds = np.bitwise_or.reduceat(kinds, first)
    per_kind = np.bincount(sentence * 8 + kinds, minlength=gold.count * 8).reshape(-1, 8)
    kind = np.arange(8)
    is_link, is_sure, is_possible = (kind & _LINK) > 0, (kind & _SURE) > 0, (kind & (_SURE | _POSSIBLE)) > 0
    columns = np.stack([is_link, is_sure, is_possible, is_link & is_sure, is_link & is_possible], axis=1)
    counts: Counts = per_kind @ columns.astype(np.int64)
    return counts


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


# -- files ------------------------------------------------------------------------------------------------------------

GOOD_SHARE = 0.4
"""Another base or direction is suggested only when it makes at least this share of the links right: by chance a poor
alignment may do better with source and target exchanged, a good one does not."""

SentenceSink = Callable[[int, int, np.ndarray], None]
"""Called with the number of a system, the position of the first sentence, and the counts ``[n, 5]`` of a block."""


@dataclass
class Totals:
    """What a pass over gold and hypotheses found; ``counts`` is ``[K, 5]``, one row per hypothesis file.

    ``per_sentence`` holds ``[N, 5]`` per hypothesis file when that was asked for.
    """

    sentences: int
    goldless: int
    counts: np.ndarray
    per_sentence: list[np.ndarray] = field(default_factory=list)


def evaluate(
    gold: AlignmentFile,
    hypotheses: Sequence[AlignmentFile],
    lengths: Lengths | None = None,
    *,
    keep: bool = False,
    skip_goldless: bool = False,
    sink: SentenceSink | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> Totals:
    """Count the links of each hypothesis file against the gold; memory does not grow with the files unless ``keep``.

    A sentence without any gold link is scored like the others (its links are all wrong) unless ``skip_goldless``.
    """
    totals = Totals(0, 0, np.zeros((len(hypotheses), len(COUNTS)), dtype=np.int64))
    kept: list[list[np.ndarray]] = [[] for _ in hypotheses]
    unchecked = set(range(len(hypotheses)))
    for wanted, *blocks in in_step([gold, *hypotheses], lengths):
        has_gold = np.bincount(wanted.sentence, minlength=wanted.count) > 0
        for number, block in enumerate(blocks):
            if number in unchecked and len(block) and len(wanted):
                check_agreement(gold, wanted, hypotheses[number], block, warn)
                unchecked.discard(number)
            counts = count_blocks(wanted, block)
            if sink:
                sink(number, totals.sentences, counts)
            if skip_goldless:
                counts = counts[has_gold]
            totals.counts[number] += counts.sum(axis=0)
            if keep:
                kept[number].append(counts)
        totals.sentences += wanted.count
        totals.goldless += int(wanted.count - has_gold.sum())
    totals.per_sentence = [np.concatenate(parts) for parts in kept if parts]
    return totals


def check_agreement(
    gold: AlignmentFile, wanted: Block, file: AlignmentFile, block: Block, warn: Callable[[str], None]
) -> None:
    """Raise an error when a file fits the gold far better with another base or direction; warn if those were given."""

    def hits(links: Block) -> np.ndarray:  # [L]
        width = 2 + max(int(side.max(initial=0)) for b in (wanted, links) for side in (b.source, b.target))
        inside = (links.source >= 0) & (links.target >= 0)
        return np.isin(link_numbers(links, width), link_numbers(wanted, width)) & inside

    here = hits(block)
    bases = f"{gold.options.base} and {file.options.base}"
    for other, reading, given, options in (
        (block.reversed(), "with source and target exchanged", file.reverse_given, file.options.reverse),
        (block.shifted(1), "with its indices one higher", file.base_given, bases),
        (block.shifted(-1), "with its indices one lower", file.base_given, bases),
    ):
        there = hits(other)
        only_here, only_there = np.count_nonzero(here & ~there), np.count_nonzero(there & ~here)
        clearly = only_there > 2 * only_here and only_there - only_here > 3 * np.sqrt(only_there + only_here)
        if clearly and np.count_nonzero(there) > GOOD_SHARE * len(block):
            found = f"{file.name}: {np.count_nonzero(here)} of {len(block)} links are in {gold.name}"
            message = f"{found}, but {np.count_nonzero(there)} {reading}"
            if not given:
                raise NormalignError(f"{message}; say how to read it with {options}")
            warn(f"{message}; check {options}")


# -- significance -----------------------------------------------------------------------------------------------------
#
# K systems, N sentences; counts are [N, 5] in the order of COUNTS.

_CELLS = 1 << 22  # draws held at once
_ROUNDING = 1e-12  # a difference as large as the observed one counts, whatever the order it was summed in


@dataclass(frozen=True)
class SignificanceTest:
    """A system against the first: ``difference`` of a metric (system minus first) and two-sided p-values."""

    difference: float
    p_bootstrap: float
    p_randomization: float


def bootstrap(
    systems: Sequence[np.ndarray], samples: int, *, seed: int, alpha: float = 0.5
) -> list[dict[str, np.ndarray]]:
    """Return the metrics of each system on the same resamplings of the sentences: K dicts of arrays [samples].

    >>> bootstrap([np.array([[1, 1, 1, 1, 1]])], 3, seed=1)[0]["aer"].tolist()
    [0.0, 0.0, 0.0]
    """
    if samples < 1:
        raise NormalignError(f"the number of bootstrap samples is at least 1, not {samples}")
    if not systems or not len(systems[0]):
        raise NormalignError("there are no sentences to draw samples from")
    stacked = np.concatenate(systems, axis=1).astype(np.float64)  # [N, 5 K]
    sentences = len(stacked)
    generator = np.random.default_rng(seed)
    parts = []
    for many in _chunks(sentences, samples):
        drawn = generator.integers(sentences, size=(many, sentences)) + np.arange(many)[:, None] * sentences
        times = np.bincount(drawn.ravel(), minlength=many * sentences).reshape(many, sentences)
        parts.append(times.astype(np.float64) @ stacked)
    sums = np.concatenate(parts).reshape(samples, len(systems), -1)
    return [metrics_of(sums[:, system], alpha=alpha) for system in range(len(systems))]


def intervals(resampled: dict[str, np.ndarray], level: float = 0.95) -> dict[str, tuple[float, float]]:
    """Return the middle ``level`` of what :func:`bootstrap` gave for one system, by metric.

    >>> intervals(bootstrap([np.array([[1, 1, 1, 1, 1]])], 3, seed=1)[0])["aer"]
    (0.0, 0.0)
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    return {name: tuple(np.quantile(resampled[name], tails).tolist()) for name in METRICS}


def compare_to_first(
    systems: Sequence[np.ndarray], *, samples: int, trials: int, seed: int, metric: str = "aer", alpha: float = 0.5
) -> list[SignificanceTest]:
    """Test each system but the first against the first, in one metric: K - 1 tests.

    Paired bootstrap: how often the difference on a resampling strays from its mean by as much as the observed
    difference. Approximate randomization: how often exchanging the two systems' outputs on random sentences gives a
    difference as large. Both count the observed case itself, so no p is 0.

    >>> same = np.array([[1, 1, 1, 1, 1]])
    >>> compare_to_first([same, same], samples=9, trials=9, seed=1)[0].difference
    0.0
    """
    if metric not in METRICS:
        raise NormalignError(f"unknown metric '{metric}'; choose one of {', '.join(METRICS)}")
    resampled = [values[metric] for values in bootstrap(systems, samples, seed=seed, alpha=alpha)]

    def value(counts: np.ndarray) -> np.ndarray:
        return metrics_of(counts, alpha=alpha)[metric]

    first = systems[0]
    comparisons = []
    for system, sampled in zip(systems[1:], resampled[1:], strict=True):
        observed = float(value(system.sum(axis=0)) - value(first.sum(axis=0)))
        differences = sampled - resampled[0]
        strayed = np.count_nonzero(np.abs(differences - differences.mean()) >= abs(observed) - _ROUNDING)
        generator = np.random.default_rng(seed)
        gap = (first - system).astype(np.float64)
        parts = []  # the differences after exchanging the two systems on a random half of the sentences
        for many in _chunks(len(first), trials):
            moved = generator.integers(2, size=(many, len(first)), dtype=np.int8).astype(np.float64) @ gap
            parts.append(value(system.sum(axis=0) + moved) - value(first.sum(axis=0) - moved))
        shuffled = np.concatenate(parts)
        as_large = np.count_nonzero(np.abs(shuffled) >= abs(observed) - _ROUNDING)
        comparisons.append(SignificanceTest(observed, (strayed + 1) / (samples + 1), (as_large + 1) / (trials + 1)))
    return comparisons


def _chunks(sentences: int, samples: int) -> Iterator[int]:
    at_once = max(1, _CELLS // sentences)
    for start in range(0, samples, at_once):
        yield min(at_once, samples - start)

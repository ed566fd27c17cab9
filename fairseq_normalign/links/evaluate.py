"""Scoring alignment files against a gold file, block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import NormalignError
from .formats import AlignmentFile, Block, Lengths, in_step
from .score import COUNTS, count_blocks, link_numbers

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
    bases = f"{gold.options.base} and {file.options.base}"
    readings = {
        "with source and target exchanged": (block.reversed(), file.reverse_given, file.options.reverse),
        "with its indices one higher": (block.shifted(1), file.base_given, bases),
        "with its indices one lower": (block.shifted(-1), file.base_given, bases),
    }
    for reading, (other, given, options) in readings.items():
        here, there = _hits(wanted, block), _hits(wanted, other)
        only_here, only_there = np.count_nonzero(here & ~there), np.count_nonzero(there & ~here)
        clearly = only_there > 2 * only_here and only_there - only_here > 3 * np.sqrt(only_there + only_here)
        if clearly and np.count_nonzero(there) > GOOD_SHARE * len(block):
            found = f"{file.name}: {np.count_nonzero(here)} of {len(block)} links are in {gold.name}"
            message = f"{found}, but {np.count_nonzero(there)} {reading}"
            if given:
                warn(f"{message}; check {options}")
            else:
                raise NormalignError(f"{message}; say how to read it with {options}")


def _hits(wanted: Block, block: Block) -> np.ndarray:
    """``[L]``: whether each link of ``block`` is a link of ``wanted``."""
    width = 2 + max(int(side.max(initial=0)) for b in (wanted, block) for side in (b.source, b.target))
    inside = (block.source >= 0) & (block.target >= 0)
    return np.isin(link_numbers(block, width), link_numbers(wanted, width)) & inside

"""Sentences that a report shows: best, worst, typical, most improved and most worsened against another method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..links.read_pair import ReadPair, links_of
from ..links.readings import Reading
from ..links.score import score
from .pair_counts import best_reading

SHORT = 5
"""Sentences with fewer target words say little; they are taken only where there are no others."""


@dataclass(frozen=True)
class Example:
    """A pair, the AER of the readings it was judged by, and why it is shown (in ``pair.notes``)."""

    pair: ReadPair
    rates: dict[Reading, float]


@dataclass(frozen=True)
class ChosenExamples:
    """Examples of a method, with the readings that they were judged by."""

    reading: Reading
    """The method at its best layer and step."""
    baseline: Reading | None
    """The method that its improvement is measured against, at its best layer and step; None: nothing."""
    examples: list[Example]


def examples_of_method(
    pairs: Sequence[ReadPair], method: str, baseline: str | None = None, *, each: int = 3
) -> ChosenExamples:
    """Choose ``each`` examples of each kind for a method, read at its best layer and step."""
    reading = best_reading(pairs, method)
    other = None if baseline is None else best_reading(pairs, baseline)
    return ChosenExamples(reading, other, choose_examples(pairs, reading, other, each=each))


def choose_examples(
    pairs: Sequence[ReadPair], choice: Reading, baseline: Reading | None = None, *, each: int = 3
) -> list[Example]:
    """Choose ``each`` examples of each kind, judged by the reading ``choice``; a pair of several kinds comes once."""
    choices = [choice] if baseline is None else [choice, baseline]
    usable = [pair for pair in pairs if pair.gold is not None and pair.gold.sure]
    long = [pair for pair in usable if len(pair.target.words) >= SHORT]
    usable = long if len(long) >= 4 * each else usable
    rates = {pair.id: {one: _rate(pair, one) for one in choices} for pair in usable}
    aer = {number: found[choice] for number, found in rates.items()}
    whole = score([pair.gold for pair in usable if pair.gold], [links_of(pair, choice) for pair in usable]).aer
    kinds = {
        "best": lambda pair: (aer[pair.id], -len(pair.target.words)),
        "typical": lambda pair: (abs(aer[pair.id] - whole), pair.id),
        "worst": lambda pair: (-aer[pair.id], -len(pair.target.words)),
    }
    if baseline is not None:
        lost = {number: found[choice] - found[baseline] for number, found in rates.items()}
        by = f"by {choice.method} against {baseline.method}"
        kinds[f"most improved {by}"] = lambda pair: (lost[pair.id], pair.id)
        kinds[f"most worsened {by}"] = lambda pair: (-lost[pair.id], pair.id)
    notes: dict[int, list[str]] = {}
    for kind, order in kinds.items():
        changed = [pair for pair in usable if not kind.startswith("most") or order(pair)[0] < 0]
        for pair in sorted(changed, key=order)[:each]:
            notes.setdefault(pair.id, []).append(kind)
    by_id = {pair.id: pair for pair in usable}
    return [Example(replace(by_id[number], notes=tuple(why)), rates[number]) for number, why in notes.items()]


def _rate(pair: ReadPair, choice: Reading) -> float:
    assert pair.gold is not None
    return score([pair.gold], [links_of(pair, choice)]).aer

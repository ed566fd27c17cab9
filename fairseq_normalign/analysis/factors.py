"""What each choice brings: a factorial table of error rates. numpy only.

Five choices are crossed: where the model looks (AWO, AWI, or both multiplied: two looks), what is read (weights or
norms), at which layer or head, how links are decided, and in which direction. All combinations are scored on the same
sentences, so differences between them have paired intervals and tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..links.score import Counts, bootstrap, compare_to_first, metrics_of
from .attention_tables import Cell, Table
from .comparison import DEFAULT_SAMPLING, Sampling

LOOKS = ("awo", "awi", "two")
"""One look before the word is said, one look after it, and the product of the two."""
METHODS = ("weights", "norms")
PLACES = ("layer", "head", "chosen")
"""The best layer with its heads summed and the best head, both by the gold; the reading that is chosen without gold."""
DECISIONS = ("argmax", "agreement")
"""Each target word by itself, directions combined by grow-diag; agreement of rows and columns or of two directions."""


class Combination(NamedTuple):
    """One combination of choices."""

    look: str
    method: str
    place: str
    decision: str
    direction: str
    """forward, reverse or both."""


STEPS = (
    ("weights, before the word is said (AWO), best layer, each word by itself", "awo weights layer argmax forward"),
    ("after the word is said: AWI instead of AWO", "awi weights layer argmax forward"),
    ("norms instead of weights, heads summed", "awi norms layer argmax forward"),
    ("the best head instead of the best layer", "awi norms head argmax forward"),
    ("agreement of rows and columns instead of each word by itself", "awi norms head agreement forward"),
    ("the second look, both chosen without gold", "two norms chosen agreement forward"),
    ("the second direction", "two norms chosen agreement both"),
    ("weights instead of norms", "two weights chosen agreement last"),
)
"""From the plainest combination to the best, one change per step; last: in the direction of the step before."""

EFFECTS: tuple[tuple[str, str, str, str, dict[str, str]], ...] = (
    ("AWI instead of AWO", "look", "awo", "awi", {}),
    ("two looks instead of AWI", "look", "awi", "two", {}),
    ("norms instead of weights, heads summed", "method", "weights", "norms", {"place": "layer"}),
    ("norms instead of weights, one head", "method", "weights", "norms", {"place": "head"}),
    ("norms instead of weights, chosen without gold", "method", "weights", "norms", {"place": "chosen"}),
    ("the best head instead of the best layer, AWO", "place", "layer", "head", {"look": "awo"}),
    ("the best head instead of the best layer, AWI", "place", "layer", "head", {"look": "awi"}),
    ("the best head instead of the best layer, two looks", "place", "layer", "head", {"look": "two"}),
    ("chosen without gold instead of the best layer", "place", "layer", "chosen", {}),
    ("agreement instead of each word by itself", "decision", "argmax", "agreement", {}),
    ("both directions instead of one", "direction", "forward", "both", {}),
)
"""What a choice brings on average: name, choice, one value, the other, and what is held fixed."""


def factor_tables(
    counts: Mapping[Combination, Counts],
    readings: Mapping[Combination, str],
    sampling: Sampling = DEFAULT_SAMPLING,
) -> list[Table]:
    """Return the table of combinations, the steps, what each choice brings, and every combination with what is read.

    ``counts``: [N, 5] of each combination, against gold; ``readings``: what is read. AER is in percent.
    """
    order = list(counts)
    aer = {one: 100 * float(metrics_of(counts[one].sum(axis=0))["aer"]) for one in order}
    resampled = bootstrap([counts[one] for one in order], sampling.samples, seed=sampling.seed)
    draws = {one: 100 * metrics["aer"] for one, metrics in zip(order, resampled, strict=True)}

    present = {(one.direction, one.decision) for one in order}
    columns = [key for key in itertools.product(("forward", "both"), DECISIONS) if key in present]
    rows: list[tuple[Cell, ...]] = []
    for key in itertools.product(LOOKS, METHODS, PLACES):
        cells = [Combination(*key, decision, direction) for direction, decision in columns]
        if all(one in aer for one in cells):
            rows.append((*key, *(_with_interval(aer[one], draws[one]) for one in cells)))
    titles = {"forward": "one direction", "both": "both directions"}
    names = (f"{titles[direction]}, {decision}" for direction, decision in columns)
    table = Table(
        "AER of every combination",
        ("look", "method", "read at", *names),
        rows,
        "middle 95% of AERs on resamplings of the sentences; layer, head: the best by the gold; chosen: without gold; "
        "two: AWI times AWO; agreement: of rows and columns, or of two directions, with grow-diag",
    )

    steps: list[tuple[Cell, ...]] = []
    before: Combination | None = None
    for name, text in STEPS:
        one = Combination(*text.split())
        if one.direction == "last" and before is not None:
            one = one._replace(direction=before.direction)
        if one not in aer:
            continue
        if before is None:
            steps.append((name, aer[one], None, None, None, None))
        else:
            (test,) = compare_to_first(
                [counts[before], counts[one]], samples=1, trials=sampling.samples, seed=sampling.seed
            )
            low, high = _middle(draws[one] - draws[before])
            steps.append((name, aer[one], aer[one] - aer[before], low, high, f"{float(test.p_randomization):.3f}"))
        before = one

    effects: list[tuple[Cell, ...]] = []
    for name, factor, old, new, fixed in EFFECTS:
        pairs = [
            (one, other)
            for one in order
            if getattr(one, factor) == old and all(getattr(one, key) == value for key, value in fixed.items())
            if (other := one._replace(**{factor: new})) in aer
        ]
        if pairs:
            found = [aer[other] - aer[one] for one, other in pairs]
            spread = _middle(np.mean([draws[other] - draws[one] for one, other in pairs], axis=0))
            effects.append((name, float(np.mean(found)), *spread, min(found), max(found), str(len(found))))

    interval = ("low", "high")
    return [
        table,
        Table(
            "what each step brings",
            ("", "AER", "difference", *interval, "p"),
            steps,
            "middle 95% of the difference on resamplings; p by paired randomization",
            digits=1,
        ),
        Table(
            "what each choice brings, averaged over all combinations of the others",
            ("", "difference", *interval, "least", "most", "pairs"),
            effects,
            digits=1,
        ),
        Table(
            "every combination",
            (*Combination._fields, "readings", "aer", *interval),
            [(*one, readings[one], aer[one], *_middle(draws[one])) for one in order],
            detail=True,
        ),
    ]


def _middle(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975]).tolist()
    return low, high


def _with_interval(aer: float, draws: np.ndarray) -> str:
    low, high = _middle(draws)
    return f"{aer:.1f} [{low:.1f}, {high:.1f}]"

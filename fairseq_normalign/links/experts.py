"""Several readings of one sentence pair made into one soft alignment, and that into links. numpy only.

A *reading* is one soft alignment ``[T, S]`` with where it was read: method, layer, head or all heads, AWI or AWO. A
model looks at the source twice for each word, and the errors of the two looks differ, so their product is better than
either. An *expert* is such a product, each reading with an exponent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import NormalignError
from .decide import Link, normalized
from .readings import Place, Reading
from .words import STEPS

FLOOR = 0.01
"""Added to every share before shares are multiplied: no reading alone can rule a source word out."""
AGREEMENT_FLOOR = 0.1
"""Links of two directions with less agreement are dropped."""
OWN_AGREEMENT_FLOOR = 0.2
"""Links of one direction with less agreement are dropped: its rows and columns agree more easily."""
POSTERIOR_FLOOR, POSTERIOR_EXPONENT = 0.03, 0.4
"""How the posterior of a statistical aligner counts beside the readings of a model."""
VOTE = 3.0
"""The factor by which the share of a word that another aligner linked is multiplied."""
VOTE_BESIDE_HMM = 2.0
"""The factor of a vote where a posterior counts too."""

_READING = re.compile(
    r"(?:(?P<method>[^:,^]+):)?(?P<layer>[0-9]+)(?:\.(?P<head>[0-9]+))?:(?P<step>\w+)(?:\^(?P<exponent>[0-9.]+))?"
)


@dataclass(frozen=True)
class Expert:
    """A product of readings, each with an exponent.

    >>> str(parse_expert("1.2:awi,3:awo^0.5"))
    'norms:1.2:awi,norms:3:awo^0.5'
    """

    readings: tuple[Reading, ...]
    exponents: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.readings or len(self.readings) != len(self.exponents):
            raise ValueError(f"{len(self.readings)} readings and {len(self.exponents)} exponents are no expert")

    def __str__(self) -> str:
        powers = ["" if exponent == 1 else f"^{exponent:g}" for exponent in self.exponents]
        return ",".join(f"{reading.spec}{power}" for reading, power in zip(self.readings, powers, strict=True))

    def combine(self, read: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """Return one soft alignment ``[..., T, S]`` and its null ``[..., T]`` from those of each reading.

        One reading alone stays as it was read. Several are multiplied:
        ``rownorm((P1 + floor) ** e1 * (P2 + floor) ** e2 * ...)``, where P is a reading with its rows adding up to one.
        A reading whose row is empty says nothing of that word; where all are empty the row stays empty. A source word
        to which no reading gives anything gets nothing, so that padding with zeros stays zero.

        >>> read = [(np.array([[0.8, 0.2]]), np.zeros(1)), (np.array([[0.5, 0.5]]), np.zeros(1))]
        >>> parse_expert("1:awi,2:awo").combine(read)[0].round(2).tolist()
        [[0.79, 0.21]]
        """
        if len(read) == 1:
            return read[0]
        shares = [normalized(np.asarray(soft, dtype=np.float64)) for soft, _ in read]
        if len({share.shape for share in shares}) != 1:
            raise ValueError(f"readings of different shapes: {[share.shape for share in shares]}")
        logs = sum(power * np.log(share + FLOOR) for share, power in zip(shares, self.exponents, strict=True))
        there = np.any([share > 0 for share in shares], axis=0)
        logs = np.where(there, logs, -np.inf)
        highest = logs.max(axis=-1, keepdims=True, initial=-np.inf)
        highest = np.where(np.isfinite(highest), highest, 0.0)
        values = np.exp(logs - highest)
        with np.errstate(divide="ignore"):
            total = np.log(values.sum(axis=-1)) + highest[..., 0]

        nulls = []  # each as a share of what the words of its row have
        for soft, null in read:
            given = np.maximum(soft, 0).sum(axis=-1)
            nothing = np.zeros_like(given, dtype=np.float64)
            nulls.append(np.divide(np.maximum(null, 0), given, out=nothing, where=given > 0))
        logs = sum(power * np.log(share + FLOOR) for share, power in zip(nulls, self.exponents, strict=True))
        return normalized(values), np.exp(logs - np.where(np.isfinite(total), total, 0.0))

    @property
    def places(self) -> list[Place]:
        """The places that have to be read for it."""
        return [reading.place for reading in self.readings]

    @property
    def label(self) -> str:
        """How a person reads it."""
        powers = ["" if exponent == 1 else f" ^{exponent:g}" for exponent in self.exponents]
        return " x ".join(f"{reading.label()}{power}" for reading, power in zip(self.readings, powers, strict=True))


def parse_expert(text: str, *, method: str = "norms") -> Expert:
    """An expert from ``LAYER[.HEAD]:STEP[^EXPONENT]``, separated by commas and counted from 1.

    A method may stand in front (``weights:3:awo``); without one it is ``method``.

    >>> parse_expert("2:awi").readings
    (Reading(method='norms', layer=1, head=None, step='awi'),)
    """
    readings, exponents = [], []
    for part in map(str.strip, text.split(",")):
        match = _READING.fullmatch(part)
        if match is None or match["step"] not in STEPS:
            raise NormalignError(
                f"'{part}' in '{text}' is not a reading; write LAYER:STEP or LAYER.HEAD:STEP, for example 1.2:awi, "
                f"with one of the steps {', '.join(STEPS)}, and ^0.5 after it for an exponent"
            )
        layer, head = int(match["layer"]), None if match["head"] is None else int(match["head"])
        if layer < 1 or head == 0:
            raise NormalignError(f"'{part}' in '{text}': layers and heads count from 1")
        try:
            exponent = float(match["exponent"] or 1)
        except ValueError:
            exponent = 0.0
        if not 0 < exponent <= 10:
            raise NormalignError(f"'{part}' in '{text}': an exponent is a number above 0, at most 10")
        readings.append(
            Reading(match["method"] or method, layer - 1, None if head is None else head - 1, match["step"])
        )
        exponents.append(exponent)
    return Expert(tuple(readings), tuple(exponents))


def bottom_third(layers: int) -> int:
    """Return the 0-based layer a third of the way up: where norms align best at AWI in the papers and our measurements.

    >>> bottom_third(6)
    1
    """
    return max(1, round(layers / 3)) - 1


def default_expert(layers: int, *, method: str = "norms") -> Expert:
    """For a text that is too short to choose by: the bottom third at AWI and the top at AWO, all heads together.

    >>> str(default_expert(6))
    'norms:2:awi,norms:6:awo^0.5'
    """
    low, top = Reading(method, bottom_third(layers), None, "awi"), Reading(method, layers - 1, None, "awo")
    return Expert((low, top), (1.0, AWO_EXPONENT))


AWO_EXPONENT = 0.5
"""Exponent of the AWO reading, beside an AWI reading that sums over all heads of a layer."""


def vote(soft: np.ndarray, links: Iterable[Link], factor: float = VOTE) -> np.ndarray:
    """Let the links of another aligner count: ``[T, S]`` -> ``[T, S]``, rows adding up to one.

    The share of each linked pair of words is multiplied by ``factor``. ``links`` are (source, target), 0-based, of the
    same direction as ``soft``: for the other direction turn both.

    >>> vote(np.array([[0.5, 0.5]]), [(1, 0)]).tolist()
    [[0.25, 0.75]]
    """
    if not (factor > 0 and math.isfinite(factor)):
        raise NormalignError(f"the weight of a vote is a number above 0, not {factor:g}")
    times = np.ones(soft.shape)
    for source, target in links:
        if not (0 <= target < soft.shape[0] and 0 <= source < soft.shape[1]):
            raise NormalignError(
                f"a vote links source word {source + 1} to target word {target + 1}, but the pair has "
                f"{soft.shape[1]} and {soft.shape[0]} words; is it an alignment of the same text?"
            )
        times[target, source] = factor
    return normalized(soft * times)


def with_posterior(soft: np.ndarray, posterior: np.ndarray) -> np.ndarray:
    """Multiply a soft alignment by the posterior of a statistical aligner: both ``[..., T, S]`` -> ``[..., T, S]``.

    ``rownorm(soft * (posterior + 0.03) ** 0.4)``. The rows of ``posterior`` add up to one or less, the rest belonging
    to no word; :class:`..analysis.hmm.HmmAligner` gives one for each direction.

    >>> with_posterior(np.array([[0.5, 0.5]]), np.array([[0.9, 0.0]])).round(2).tolist()
    [[0.8, 0.2]]
    """
    if soft.shape != posterior.shape:
        raise ValueError(f"a posterior of shape {posterior.shape} for a soft alignment of shape {soft.shape}")
    return normalized(soft * (np.maximum(posterior, 0) + POSTERIOR_FLOOR) ** POSTERIOR_EXPONENT)


TWO_LOOKS = "two looks"
REVERSED = "the other direction"
BOTH = "both directions"
"""Names in pictures, in tables and on the page."""


def look_name(reading: Reading) -> str:
    """Return how one look is called in pictures and on the page.

    >>> look_name(Reading("norms", 0, 1, "awi"))
    'AWI look (norms 1.2)'
    """
    head = "" if reading.head is None else f".{reading.head + 1}"
    return f"{reading.step.upper()} look ({reading.method} {reading.layer + 1}{head})"


def product_name(expert: Expert) -> str:
    """Return how the product of an expert's readings is called: 'two looks', or the look itself if it is one.

    >>> product_name(Expert((Reading("norms", 0, 1, "awi"), Reading("norms", 2, None, "awo")), (1.0, 1.0)))
    'two looks'
    """
    if len(expert.readings) == 1:
        return look_name(expert.readings[0])
    return TWO_LOOKS if len(expert.readings) == 2 else f"{len(expert.readings)} looks"

"""What each layer and head decides for a sentence pair, and how its links agree with the gold. numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import NormalignError
from ..links.decide import best_sources, normalized
from ..links.gold import Gold
from ..links.read_pair import ReadPair
from ..links.readings import Reading, every_reading
from ..links.score import COUNTS, Counts, count_links, count_sources, gold_block, metrics_of
from ..links.words import to_words

MethodStep = tuple[str, str]
"""A method and a step, for example ('norms', 'awi')."""


@dataclass
class PairDecisions:
    """The source word of each target word, -1 for none, as each layer and head decides."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    layers: dict[MethodStep, list[np.ndarray]] = field(default_factory=dict)
    """Per layer, the bottom first: [target words]."""
    heads: dict[MethodStep, list[np.ndarray]] = field(default_factory=dict)
    """Per layer: [H, target words]."""
    soft: dict[MethodStep, list[np.ndarray]] = field(default_factory=dict)
    """Per layer: [target words, source words], rows adding up to one; kept only where it is asked for."""
    means: dict[str, list[float]] = field(default_factory=dict)
    """Method -> per layer, the mean over decoder steps and source positions of what was read."""
    head_means: dict[str, list[list[float]]] = field(default_factory=dict)
    """Method -> per layer and head, the mean over decoder steps and source positions of what was read."""

    def of(self, reading: Reading) -> np.ndarray:
        """Return what one reading decides: [target words]."""
        choice = reading.method, reading.step
        if reading.head is None:
            return self.layers[choice][reading.layer]
        return self.heads[choice][reading.layer][reading.head]


def decisions_of(pair: ReadPair, *, null: str = "best", soft: bool = False, level: str = "word") -> PairDecisions:
    """Return what each layer and head of a pair decides, for a :func:`.comparison.compare`.

    ``null``: what happens to a word of which the end of the sentence gets most, see
    :func:`~fairseq_normalign.links.decide.best_sources`; ``soft`` keeps the soft alignments of the layers.
    """
    source, target = pair.source.at(level), pair.target.at(level)
    found = PairDecisions(source.words, target.words)
    for name, reading in pair.readings.items():
        if reading.words is not None and reading.links is None:
            found.layers[name, ""] = list(best_sources(reading.words))
            found.means[name] = _means(reading.words)
        if reading.steps is None:
            continue
        heads = [] if reading.heads is None else list(reading.heads)
        found.means[name] = _means(reading.steps)
        found.head_means[name] = [_means(layer) for layer in heads]
        together = np.concatenate([reading.steps, *heads])
        cuts = np.cumsum([len(reading.steps), *map(len, heads)])[:-1]  # a layer may have lost heads to pruning
        for step in reading.read_at:
            words, nothing = to_words(together, target, source, step)
            best, *best_of_heads = np.split(best_sources(words, nothing, null), cuts)
            found.layers[name, step], found.heads[name, step] = list(best), best_of_heads
            if soft:
                found.soft[name, step] = list(normalized(words[: len(reading.steps)]))
    return found


def _means(soft: np.ndarray) -> list[float]:
    """[N, T, S] -> N means."""
    return [float(one.mean()) if one.size else 0.0 for one in soft]


def check_gold(name: str, golds: Sequence[Gold], decisions: Sequence[PairDecisions | None]) -> None:
    """Refuse gold that links words the text does not have: it belongs to another text. ``name`` is its file."""
    for number, (gold, pair) in enumerate(zip(golds, decisions, strict=True), start=1):
        if pair is None:
            continue
        for source, target in sorted(gold.possible):
            if source >= len(pair.source) or target >= len(pair.target):
                raise NormalignError(
                    f"{name}: sentence {number} links word {source + 1} to word {target + 1}, but the pair has "
                    f"{len(pair.source)} and {len(pair.target)} words; is the text tokenized as the gold's?"
                )


def readings_of(pair: ReadPair) -> list[Reading]:
    """Return each reading of a pair, in the order of :func:`pair_counts`."""
    return [reading for name, found in pair.readings.items() for reading in every_reading(name, found.shape)]


def pair_counts(pair: ReadPair, decided: PairDecisions | None = None) -> Counts:
    """Return the counts of each reading of a pair, [readings, 5]; zeros where the pair has no gold.

    The columns are those of :data:`..links.score.COUNTS`.
    """
    if pair.gold is None:
        return np.zeros((len(readings_of(pair)), len(COUNTS)), dtype=np.int64)
    decided = decided or decisions_of(pair)
    gold = gold_block([pair.gold])
    counts: list[np.ndarray] = [np.zeros((0, len(COUNTS)), dtype=np.int64)]
    for name, found in pair.readings.items():
        if found.links is not None:
            counts.append(count_links([pair.gold], [found.links]))
            continue
        rows = [decided.of(reading) for reading in every_reading(name, found.shape)]
        counts.append(count_sources(gold.repeated(len(rows)), rows))
    return np.concatenate(counts)


def best_reading(pairs: Sequence[ReadPair], method: str) -> Reading:
    """Return the layer and step of a method, all heads together, with the lowest AER over all pairs."""
    rates = metrics_of(np.sum([pair_counts(pair) for pair in pairs], axis=0))["aer"].tolist()
    rated = [
        (rate, place, reading)
        for place, (reading, rate) in enumerate(zip(readings_of(pairs[0]), rates, strict=True))
        if reading.method == method and reading.head is None
    ]
    if not rated:
        raise NormalignError(f"no method '{method}' here; there are {', '.join(pairs[0].readings)}")
    return min(rated)[2]

"""Alignment error of each layer, head, method and step against gold, from decisions; examples. numpy only.

A seed is one trained checkpoint (with its partner of the other direction, if there is one); error rates of several
seeds are means. Error rates are fractions of 1. Shapes: N sentences, L layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import NormalignError
from ..links.decide import Link, decide, links_of_sources
from ..links.experts import AGREEMENT_FLOOR
from ..links.gold import Gold
from ..links.read_pair import ReadPair, links_of
from ..links.readings import Reading
from ..links.score import Counts, bootstrap, compare_to_first, count_links, count_sources, gold_block, metrics_of, score
from ..links.symmetrize import SOFT_SYMMETRIZATIONS, symmetrize
from .attention_tables import pearson, spearman
from .decisions import MethodStep, PairDecisions, decisions_of

DECIDED = "decided"
"""In the place of a direction: links that several readings or directions decided on together."""
BEST = 5
"""How many systems are tested against the best one, itself included."""
SHORT = 5
"""Sentences with fewer target words say little; they are examples only where there are no others."""


@dataclass(frozen=True)
class Sampling:
    """How intervals are made: the number of resamplings of the sentences, and their random seed."""

    samples: int = 1000
    seed: int = 12345


DEFAULT_SAMPLING = Sampling()


@dataclass(frozen=True)
class ErrorRate:
    """The scores of one system; the mean over seeds where there are several."""

    aer: float
    low: float
    high: float
    """The middle 95% of the AER on resamplings of the sentences."""
    spread: float | None
    """Standard deviation of the AER over seeds; None with one seed."""
    precision: float
    recall: float
    links: float


@dataclass(frozen=True)
class LayerRow:
    """The error rates of a method in a step, at each layer."""

    method: str
    step: str
    layers: tuple[ErrorRate, ...]
    """The bottom layer first; a method that reads the whole model has one."""
    mean: float
    """Mean AER of the layers."""
    best: int
    """The 0-based layer with the lowest AER (mean over seeds)."""
    mean_norm: tuple[float, ...]
    """The mean of what the method read, for each layer."""


@dataclass(frozen=True)
class HeadRow:
    """The error rates of a method in a step, at each head."""

    method: str
    step: str
    aer: tuple[tuple[float, ...], ...]
    """AER of each layer and head: [layer][head]."""
    mean_norm: tuple[tuple[float, ...], ...]
    """Mean length of the vector that each head adds: [layer][head]."""
    spearman: float | None
    pearson: float | None
    """Correlation of the mean norm of the heads with their AER: negative where heads that add more align better; None
    where one of the two is the same for all heads."""


@dataclass(frozen=True)
class System:
    """One line of the table: a system that aligns, and its error rate."""

    name: str
    figure: ErrorRate
    direction: str = "forward"
    """forward, reverse, both (symmetrized), decided (readings multiplied) or other (an added file)."""
    method: str | None = None
    step: str | None = None
    layers: tuple[int, ...] = ()
    """The 0-based layer it is read from, for each seed."""
    heads: tuple[int, ...] = ()
    pairs_per_second: float | None = None
    p_value: float | None = None
    """How probable a difference to the best system as large as this would be if both were equally good; for the best
    few only."""


@dataclass(frozen=True)
class Comparison:
    """Everything that was measured."""

    sentences: int
    seeds: int
    layers: list[LayerRow]
    heads: list[HeadRow]
    systems: list[System]
    signature: str = ""


@dataclass
class Seed:
    """What one checkpoint decides for each sentence; None where it could not align."""

    forward: Sequence[PairDecisions | None]
    backward: Sequence[PairDecisions | None] | None = None
    """The model of the other direction, on the same pairs with source and target exchanged."""
    speed: dict[str, float] = field(default_factory=dict)
    """Pairs per second by method, forward."""
    more: dict[tuple[str, str], list[list[Link]]] = field(default_factory=dict)
    """Links of further systems of this checkpoint, by name and direction (forward, both or :data:`DECIDED`)."""


def compare(
    golds: Sequence[Gold],
    seeds: Sequence[Seed],
    *,
    added: Mapping[str, Sequence[Sequence[Link]]] | None = None,
    symmetrizations: Sequence[str] = ("grow-diag",),
    sampling: Sampling = DEFAULT_SAMPLING,
) -> Comparison:
    """Score each layer and head of each seed, and other alignments (``added``: their links by name)."""
    systems: list[System] = []
    totals: list[Counts] = []  # of each system: [N, 5], all seeds together

    def add(name: str, counts: Sequence[Counts], direction: str, **fields: Any) -> None:
        systems.append(System(name, error_rate(counts, sampling), direction, **fields))
        totals.append(np.sum(counts, axis=0))

    forward = DirectionScores(golds, [seed.forward for seed in seeds], sampling)
    for name, counts, fields in forward.systems():
        speeds = [seed.speed[fields["method"]] for seed in seeds if fields["method"] in seed.speed]
        if speeds and "heads" not in fields:
            fields["pairs_per_second"] = float(np.mean(speeds))
        add(name, counts, "forward", **fields)
    if all(seed.backward is not None for seed in seeds):
        backward = DirectionScores(reversed_golds(golds), [seed.backward or [] for seed in seeds], sampling)
        for name, counts, fields in backward.systems(best_layers_only=True):
            add(name, counts, "reverse", **fields)
        for method in dict.fromkeys(method for method, _ in forward.choices):
            sides = [(side, side.best_choice(method)) for side in (forward, backward)]
            for way in symmetrizations:
                counts = [count_links(golds, _symmetrized(sides, seed, way)) for seed in range(len(seeds))]
                layers = tuple(forward.best_layers(sides[0][1]))
                add(f"{method} {sides[0][1][1]}/{sides[1][1][1]} {way}", counts, "both", method=method, layers=layers)
    for name, direction in seeds[0].more:
        counts = [count_links(golds, seed.more[name, direction]) for seed in seeds if (name, direction) in seed.more]
        if len(counts) == len(seeds):
            add(name, counts, direction, method="norms")
    for name, links in (added or {}).items():
        add(name, [count_links(golds, links)], "other")

    ranked = sorted(range(len(systems)), key=lambda place: systems[place].figure.aer)[:BEST]
    if len(ranked) > 1:
        known = [totals[place] for place in ranked]
        tests = compare_to_first(known, samples=1, trials=sampling.samples, seed=sampling.seed)
        for place, test in zip(ranked[1:], tests, strict=True):
            systems[place] = replace(systems[place], p_value=test.p_randomization)
    return Comparison(len(golds), len(seeds), forward.layer_rows(), forward.head_rows(), systems)


def compare_pairs(pairs: Sequence[ReadPair], sampling: Sampling) -> Comparison:
    """Score each layer and head of what the pairs hold, and the links of other aligners."""
    golds = [pair.gold for pair in pairs if pair.gold is not None]
    if len(golds) < len(pairs):
        raise NormalignError("a report needs gold alignments for each sentence")
    found = pairs[0].readings
    linked = {
        name: [list(pair.readings[name].links or ()) for pair in pairs]
        for name in found
        if found[name].links is not None
    }
    if all(found[name].words is None for name in linked) and len(linked) == len(found):
        raise NormalignError(
            "a report needs soft alignments (from a dump, a file or a checkpoint); there are links only"
        )
    decided = {(name, DECIDED): links for name, links in linked.items() if found[name].words is not None}
    others = {name: links for name, links in linked.items() if found[name].words is None}
    return compare(golds, [Seed([decisions_of(pair) for pair in pairs], more=decided)], added=others, sampling=sampling)


def reversed_golds(golds: Sequence[Gold]) -> list[Gold]:
    """Return the gold alignments with source and target exchanged.

    >>> reversed_golds([Gold(sure=frozenset({(0, 1)}), possible=frozenset())])[0].sure
    frozenset({(1, 0)})
    """
    return [Gold(*(frozenset((t, s) for s, t in links) for links in (gold.sure, gold.possible))) for gold in golds]


def error_rate(counts: Sequence[Counts], sampling: Sampling) -> ErrorRate:
    """Return the error rate of one system from the counts [N, 5] of each seed.

    >>> error_rate([np.array([[2, 2, 2, 1, 1]])], Sampling(samples=10)).aer
    0.5
    """
    metrics = [metrics_of(one.sum(axis=0)) for one in counts]
    values = np.array([float(one["aer"]) for one in metrics])
    resampled = np.mean([one["aer"] for one in bootstrap(counts, sampling.samples, seed=sampling.seed)], axis=0)
    low, high = np.quantile(resampled, [0.025, 0.975]).tolist()
    return ErrorRate(
        aer=float(values.mean()),
        low=low,
        high=high,
        spread=float(values.std(ddof=1)) if len(values) > 1 else None,
        precision=float(np.mean([one["precision"] for one in metrics])),
        recall=float(np.mean([one["recall"] for one in metrics])),
        links=float(np.mean([one[:, 0].sum() for one in counts])),
    )


def _symmetrized(sides: Sequence[tuple[DirectionScores, MethodStep]], seed: int, way: str) -> list[list[Link]]:
    """Links of both directions, each with its choice of method and step, at the best layer of this seed."""
    chosen: list[list[tuple[np.ndarray, np.ndarray | None] | None]] = []  # what is decided, and by which soft alignment
    for scores, choice in sides:
        layer = scores.best_layers(choice)[seed]
        chosen.append(
            [
                None if pair is None else (pair.layers[choice][layer], pair.soft[choice][layer] if pair.soft else None)
                for pair in scores.seeds[seed]
            ]
        )
    found: list[list[Link]] = []
    for sources in zip(*chosen, strict=True):
        if way not in SOFT_SYMMETRIZATIONS:
            links = [[] if one is None else links_of_sources(one[0]) for one in sources]
            found.append(symmetrize(links[0], [(source, target) for target, source in links[1]], way))
        elif any(one is None or one[1] is None for one in sources):
            found.append([])
        else:  # a target word that is left unaligned gives nothing
            rows = [np.where(one[0][:, None] >= 0, one[1], 0) for one in sources]
            found.append(decide(rows[0], way, backward=rows[1], floor=AGREEMENT_FLOOR)[0])
    return found


class DirectionScores:
    """The decisions of each seed in one direction, counted against gold."""

    def __init__(
        self, golds: Sequence[Gold], seeds: Sequence[Sequence[PairDecisions | None]], sampling: Sampling
    ) -> None:
        self.seeds = seeds
        self.sampling = sampling
        example = next(pair for pair in seeds[0] if pair is not None)
        self.choices: list[MethodStep] = list(example.layers)
        self.sizes = {choice: [len(layer) for layer in heads] for choice, heads in example.heads.items() if heads}
        """How many heads the layers have."""
        self._gold = gold_block(golds)
        self.by_layer = {
            choice: self._count([[None if pair is None else pair.layers[choice] for pair in pairs] for pairs in seeds])
            for choice in self.choices
        }
        """Per seed: [L, N, 5]."""
        self.by_head = {
            choice: self._count(
                [[None if p is None else np.concatenate(p.heads[choice]) for p in pairs] for pairs in seeds]
            )
            for choice in self.sizes
        }
        """Per seed: [all heads of all layers, N, 5]."""

    def _count(self, seeds: Sequence[Sequence[Sequence[np.ndarray] | np.ndarray | None]]) -> list[Counts]:
        """Count what each seed decides for each pair, [K, target words] -> per seed [K, N, 5]."""
        counts = []
        for found in seeds:
            width = next(len(one) for one in found if one is not None)
            whole = [np.full((width, 0), -1) if one is None else one for one in found]
            counts.append(np.stack([count_sources(self._gold, [one[row] for one in whole]) for row in range(width)]))
        return counts

    @staticmethod
    def _aer(counts: Sequence[Counts]) -> np.ndarray:
        """Per seed [K, N, 5] -> [seeds, K]."""
        return np.array([metrics_of(one.sum(axis=1))["aer"] for one in counts])

    def _means(self, method: str) -> np.ndarray:
        """The mean of what the method read: [seeds, L]."""
        return np.array([np.mean([p.means[method] for p in pairs if p is not None], axis=0) for pairs in self.seeds])

    def _head_norms(self) -> np.ndarray:
        """The mean norm of each head: [seeds, heads]."""
        present = [[pair.head_means["norms"] for pair in pairs if pair is not None] for pairs in self.seeds]
        return np.array([np.mean([np.concatenate(layers) for layers in pairs], axis=0) for pairs in present])

    def best_layers(self, choice: MethodStep) -> list[int]:
        """Return the layer with the lowest AER, for each seed."""
        return self._aer(self.by_layer[choice]).argmin(axis=1).tolist()

    def best_heads(self, choice: MethodStep) -> list[tuple[int, int]]:
        """Return the layer and head with the lowest AER, for each seed."""
        return [self._layer_and_head(choice, k) for k in self._aer(self.by_head[choice]).argmin(axis=1)]

    def _layer_and_head(self, choice: MethodStep, number: int) -> tuple[int, int]:
        return [(layer, head) for layer, size in enumerate(self.sizes[choice]) for head in range(size)][number]

    def best_choice(self, method: str) -> MethodStep:
        """Return the method with the step in which its best layers have the lowest AER."""
        choices = [choice for choice in self.choices if choice[0] == method]
        return min(choices, key=lambda choice: float(self._aer(self.by_layer[choice]).min(axis=1).mean()))

    def layer_rows(self) -> list[LayerRow]:
        """Return the error rates of each method and step, by layer."""
        rows = []
        for choice, counts in self.by_layer.items():
            rates = self._aer(counts)
            figures = [error_rate([one[layer] for one in counts], self.sampling) for layer in range(rates.shape[1])]
            best, norms = int(rates.mean(axis=0).argmin()), self._means(choice[0]).mean(axis=0).tolist()
            rows.append(LayerRow(*choice, tuple(figures), float(rates.mean()), best, tuple(norms)))
        return rows

    def head_rows(self) -> list[HeadRow]:
        """Return the error rates of each method and step, by head; none where norms were not read."""
        if not any(method == "norms" for method, _ in self.by_head):
            return []
        norms = self._head_norms()
        rows = []
        for choice, counts in self.by_head.items():
            rates = self._aer(counts)
            ends = np.cumsum(self.sizes[choice])[:-1]
            aer, norm = (
                tuple(tuple(part.tolist()) for part in np.split(one.mean(axis=0), ends)) for one in (rates, norms)
            )
            found = [
                float(np.mean([of(x, y) for x, y in zip(norms, rates, strict=True)])) for of in (spearman, pearson)
            ]
            rows.append(HeadRow(*choice, aer, norm, *(None if np.isnan(one) else one for one in found)))
        return rows

    def systems(self, *, best_layers_only: bool = False) -> Iterator[tuple[str, list[Counts], dict[str, Any]]]:
        """Give name, counts of each seed, and further fields of a :class:`System`.

        Each method and step has one at its best layer, one at its best head, and one where the mean norm is highest.
        """
        for choice in self.choices:
            whole = len(self.by_layer[choice][0]) == 1  # a method that reads the whole model
            yield self._at_layers(choice, self.best_layers(choice), "" if whole else "best layer")
        if best_layers_only:
            return
        for choice, counts in self.by_head.items():
            picks = {"best head": self._aer(counts).argmin(axis=1)}
            if choice[0] == "norms":
                picks["head of the highest mean norm"] = self._head_norms().argmax(axis=1)
            for kind, numbers in picks.items():
                layers, heads = zip(*(self._layer_and_head(choice, k) for k in numbers), strict=True)
                fields = {"method": choice[0], "step": choice[1], "layers": layers, "heads": heads}
                picked = [one[k] for one, k in zip(counts, numbers, strict=True)]
                yield f"{choice[0]} {choice[1]} {kind}", picked, fields
        for choice in self.choices:
            if choice[0] == "norms":
                top = self._means("norms").argmax(axis=1).tolist()
                yield self._at_layers(choice, top, "layer of the highest mean norm")

    def _at_layers(
        self, choice: MethodStep, layers: Sequence[int], kind: str
    ) -> tuple[str, list[Counts], dict[str, Any]]:
        counts = [one[layer] for one, layer in zip(self.by_layer[choice], layers, strict=True)]
        fields = {"method": choice[0], "step": choice[1], "layers": tuple(layers) if kind else ()}
        return " ".join(filter(None, [*choice, kind])), counts, fields


# -- examples ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """A pair, the AER of the readings it was judged by, and why it is shown (in ``pair.notes``)."""

    pair: ReadPair
    rates: dict[Reading, float]


def choose_examples(
    pairs: Sequence[ReadPair], choice: Reading, baseline: Reading | None = None, *, each: int = 3
) -> list[Example]:
    """Choose ``each`` examples of each kind, judged by the reading ``choice``; a pair of several kinds comes once."""
    choices = [choice] if baseline is None else [choice, baseline]
    usable = [pair for pair in pairs if pair.gold is not None and pair.gold.sure]
    long = [pair for pair in usable if len(pair.target.words) >= SHORT]
    usable = long if len(long) >= 4 * each else usable
    golds = {pair.id: pair.gold for pair in usable if pair.gold is not None}
    rates = {pair.id: {one: score([golds[pair.id]], [links_of(pair, one)]).aer for one in choices} for pair in usable}
    aer = {number: found[choice] for number, found in rates.items()}
    whole = score(list(golds.values()), [links_of(pair, choice) for pair in usable]).aer
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

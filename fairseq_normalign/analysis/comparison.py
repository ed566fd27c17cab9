"""Alignment error of every layer, head, method and setting against gold, from decisions. numpy only.

A seed is one trained checkpoint (with its partner of the other direction, if there is one); figures of several seeds
are means. Error rates are fractions of 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..alignment.decide import Link
from ..alignment.gold import Gold
from ..alignment.score import count_links, metrics_of
from ..alignment.significance import bootstrap
from ..alignment.symmetrize import SOFT_SYMMETRIZATIONS, agreement, symmetrize, symmetrize_soft
from .decisions import MethodSetting, PairDecisions

Counts = np.ndarray
"""[N, 5]: the counts of every sentence, in the order of alignment.score.COUNTS."""


@dataclass(frozen=True)
class ErrorRate:
    """The scores of one way to align; of several seeds their mean."""

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
    """A method in a setting, at every layer."""

    method: str
    setting: str
    layers: tuple[ErrorRate, ...]
    """The bottom layer first; one figure for a method of whole models."""
    mean: float
    """Mean AER of the layers."""
    best: int
    """The 0-based layer of the lowest AER (mean over seeds)."""
    mean_norm: tuple[float, ...]
    """Of each layer: the mean of what the method read there."""


@dataclass(frozen=True)
class HeadRow:
    """A method in a setting, at every head."""

    method: str
    setting: str
    aer: tuple[tuple[float, ...], ...]
    """By layer and head."""
    mean_norm: tuple[tuple[float, ...], ...]
    """By layer and head: mean length of the vector the head adds."""
    spearman: float
    pearson: float
    """Between the mean norm of the heads and their AER: negative where heads that add more align better."""


@dataclass(frozen=True)
class System:
    """One line of the table: a way to align, and how it does."""

    name: str
    figure: ErrorRate
    direction: str = "forward"
    """forward, reverse, both (symmetrized) or other (an added file)."""
    method: str | None = None
    setting: str | None = None
    layers: tuple[int, ...] = ()
    """The 0-based layer it is read from, of each seed."""
    heads: tuple[int, ...] = ()
    pairs_per_second: float | None = None


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
    """What one checkpoint decides for every sentence; None where it could not align."""

    forward: Sequence[PairDecisions | None]
    backward: Sequence[PairDecisions | None] | None = None
    """The other direction's model, on the same pairs turned around."""
    speed: dict[str, float] = field(default_factory=dict)
    """Pairs a second by method, forward."""


@dataclass(frozen=True)
class Sampling:
    """How intervals are made."""

    samples: int = 1000
    seed: int = 12345


def reversed_golds(golds: Sequence[Gold]) -> list[Gold]:
    """The gold of the other direction."""
    return [Gold(*(frozenset((t, s) for s, t in links) for links in (gold.sure, gold.possible))) for gold in golds]


def compare(
    golds: Sequence[Gold],
    seeds: Sequence[Seed],
    *,
    added: dict[str, Sequence[Sequence[Link]]] | None = None,
    symmetrizations: Sequence[str] = ("grow-diag",),
    sampling: Sampling = Sampling(),
) -> Comparison:
    """Score every layer and head of every seed, and other alignments (``added``: their links by name)."""
    forward = _Measured(golds, [seed.forward for seed in seeds], sampling)
    systems = forward.systems("forward", [seed.speed for seed in seeds])
    if all(seed.backward is not None for seed in seeds):
        backward = _Measured(reversed_golds(golds), [seed.backward or [] for seed in seeds], sampling)
        systems += backward.systems("reverse", [])
        systems += _symmetrized(golds, forward, backward, symmetrizations, sampling)
    for name, links in (added or {}).items():
        counts = np.array([count_links(gold, found) for gold, found in zip(golds, links, strict=True)])
        systems.append(System(name, error_rate([counts], sampling), direction="other"))
    return Comparison(len(golds), len(seeds), forward.layer_rows(), forward.head_rows(), systems)


def error_rate(counts: Sequence[Counts], sampling: Sampling) -> ErrorRate:
    """The figure of one way to align, from the counts [N, 5] of each seed."""
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


class _Measured:
    """The decisions of every seed in one direction, counted against gold: N sentences, L layers, H heads."""

    def __init__(
        self, golds: Sequence[Gold], seeds: Sequence[Sequence[PairDecisions | None]], sampling: Sampling
    ) -> None:
        self.golds = golds
        self.seeds = seeds
        self.sampling = sampling
        self.examples = [next(pair for pair in pairs if pair is not None) for pairs in seeds]
        self.choices: list[MethodSetting] = list(self.examples[0].layers)
        self.by_layer = {choice: [self._count(pairs, _layers_of(choice)) for pairs in seeds] for choice in self.choices}
        """A seed each: [L, N, 5]."""
        self.by_head = {
            choice: [self._count(pairs, _heads_of(choice)) for pairs in seeds]
            for choice in self.choices
            if self.examples[0].heads.get(choice)
        }
        """A seed each: [all heads of all layers, N, 5]."""

    def _count(
        self, pairs: Sequence[PairDecisions | None], decided: Callable[[PairDecisions], np.ndarray]
    ) -> np.ndarray:
        """``decided`` gives [K, target words] of a pair -> [K, N, 5]."""
        width = next(len(decided(pair)) for pair in pairs if pair is not None)
        rows = []
        for gold, pair in zip(self.golds, pairs, strict=True):
            if pair is None:
                rows.append(np.tile([0, len(gold.sure), len(gold.possible), 0, 0], (width, 1)))
            else:
                rows.append(count_decisions(gold, decided(pair), len(pair.source)))
        return np.stack(rows, axis=1)

    def aer_of_layers(self, choice: MethodSetting) -> np.ndarray:
        """[seeds, L]."""
        return np.array([metrics_of(counts.sum(axis=1))["aer"] for counts in self.by_layer[choice]])

    def aer_of_heads(self, choice: MethodSetting) -> np.ndarray:
        """[seeds, heads]."""
        return np.array([metrics_of(counts.sum(axis=1))["aer"] for counts in self.by_head[choice]])

    def means(self, method: str) -> np.ndarray:
        """[seeds, L]: the mean of what the method read."""
        return np.array([np.mean([p.means[method] for p in pairs if p is not None], axis=0) for pairs in self.seeds])

    def head_means(self) -> np.ndarray:
        """[seeds, heads]: mean norm of every head; empty where norms were not read."""
        if not any(method == "norms" for method, _ in self.by_head):
            return np.zeros((len(self.seeds), 0))
        return np.array(
            [
                np.mean([np.concatenate(p.head_means["norms"]) for p in pairs if p is not None], axis=0)
                for pairs in self.seeds
            ]
        )

    def best_layers(self, choice: MethodSetting) -> list[int]:
        """Of each seed."""
        return self.aer_of_layers(choice).argmin(axis=1).tolist()

    def figure(self, choice: MethodSetting, layers: Sequence[int]) -> ErrorRate:
        """Of these layers, one a seed."""
        counts = [counts[layer] for counts, layer in zip(self.by_layer[choice], layers, strict=True)]
        return error_rate(counts, self.sampling)

    def layer_rows(self) -> list[LayerRow]:
        rows = []
        for choice in self.choices:
            rates = self.aer_of_layers(choice)
            count = rates.shape[1]
            rows.append(
                LayerRow(
                    *choice,
                    layers=tuple(self.figure(choice, [layer] * len(self.seeds)) for layer in range(count)),
                    mean=float(rates.mean()),
                    best=int(rates.mean(axis=0).argmin()),
                    mean_norm=tuple(self.means(choice[0]).mean(axis=0).tolist()),
                )
            )
        return rows

    def head_rows(self) -> list[HeadRow]:
        norms = self.head_means()
        if not norms.size:
            return []
        sizes = [len(layer) for layer in self.examples[0].heads[next(iter(self.by_head))]]
        rows = []
        for choice in self.by_head:
            rates = self.aer_of_heads(choice)
            rows.append(
                HeadRow(
                    *choice,
                    aer=_split(rates.mean(axis=0), sizes),
                    mean_norm=_split(norms.mean(axis=0), sizes),
                    spearman=float(np.mean([spearman(x, y) for x, y in zip(norms, rates, strict=True)])),
                    pearson=float(np.mean([pearson(x, y) for x, y in zip(norms, rates, strict=True)])),
                )
            )
        return rows

    def systems(self, direction: str, speeds: Sequence[dict[str, float]]) -> list[System]:
        found = []
        for choice in self.choices:
            best = self.best_layers(choice)
            single = self.by_layer[choice][0].shape[0] == 1
            found.append(self._system(choice, best, "" if single else "best layer", direction, speeds))
        for choice in self.by_head:
            if direction == "forward":
                found += self._head_systems(choice, direction)
        for choice in self.choices:
            if choice[0] == "norms" and direction == "forward":
                top = self.means("norms").argmax(axis=1).tolist()
                found.append(self._system(choice, top, "layer of the highest mean norm", direction, speeds))
        return found

    def _system(
        self, choice: MethodSetting, layers: list[int], kind: str, direction: str, speeds: Sequence[dict[str, float]]
    ) -> System:
        method, setting = choice
        speed = [one[method] for one in speeds if method in one]
        return System(
            name=" ".join(filter(None, [method, setting, kind])),
            figure=self.figure(choice, layers),
            direction=direction,
            method=method,
            setting=setting,
            layers=tuple(layers) if kind else (),
            pairs_per_second=float(np.mean(speed)) if speed else None,
        )

    def _head_systems(self, choice: MethodSetting, direction: str) -> list[System]:
        picks = {"best head": self.aer_of_heads(choice).argmin(axis=1)}
        if choice[0] == "norms":
            picks["head of the highest mean norm"] = self.head_means().argmax(axis=1)
        return [self._head_system(choice, places.tolist(), kind, direction) for kind, places in picks.items()]

    def _head_system(self, choice: MethodSetting, places: list[int], kind: str, direction: str) -> System:
        counts = [counts[place] for counts, place in zip(self.by_head[choice], places, strict=True)]
        sizes = [len(layer) for layer in self.examples[0].heads[choice]]
        homes = [(layer, head) for layer, size in enumerate(sizes) for head in range(size)]
        return System(
            name=f"{choice[0]} {choice[1]} {kind}",
            figure=error_rate(counts, self.sampling),
            direction=direction,
            method=choice[0],
            setting=choice[1],
            layers=tuple(homes[place][0] for place in places),
            heads=tuple(homes[place][1] for place in places),
        )

    def links(self, choice: MethodSetting, seed: int, layer: int) -> list[list[Link]]:
        """Of every sentence, as this direction has them."""
        return [
            [] if pair is None else [(int(s), t) for t, s in enumerate(pair.layers[choice][layer]) if s >= 0]
            for pair in self.seeds[seed]
        ]

    def shares(self, choice: MethodSetting, seed: int, layer: int) -> list[np.ndarray | None]:
        """[target, source] of every sentence, nothing for target words that are unaligned."""
        return [
            None if pair is None else np.where(pair.layers[choice][layer][:, None] >= 0, pair.soft[choice][layer], 0)
            for pair in self.seeds[seed]
        ]


def count_decisions(gold: Gold, decided: np.ndarray, sources: int) -> np.ndarray:
    """decided [K, target words], -1 for none -> [K, 5], in the order of alignment.score.COUNTS."""
    targets = decided.shape[1]
    kinds = np.zeros((2, targets, sources + 1), dtype=bool)  # sure, possible; the last column is what -1 points at
    for kind, links in enumerate((gold.sure, gold.possible)):
        if links:
            s, t = np.array(sorted(links)).T
            kinds[kind, t, s] = True
    hits = kinds[:, np.arange(targets), decided].sum(axis=2)  # [2, K]
    constant = np.ones(len(decided), dtype=np.int64)
    return np.stack(
        [(decided >= 0).sum(axis=1), len(gold.sure) * constant, len(gold.possible) * constant, hits[0], hits[1]], axis=1
    )


def _layers_of(choice: MethodSetting) -> Callable[[PairDecisions], np.ndarray]:
    return lambda pair: np.stack(pair.layers[choice])


def _heads_of(choice: MethodSetting) -> Callable[[PairDecisions], np.ndarray]:
    return lambda pair: np.concatenate(pair.heads[choice])


def _split(values: np.ndarray, sizes: Sequence[int]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(part.tolist()) for part in np.split(values, np.cumsum(sizes)[:-1]))


def _symmetrized(
    golds: Sequence[Gold], forward: _Measured, backward: _Measured, ways: Sequence[str], sampling: Sampling
) -> list[System]:
    """For every method the best layer and setting of each direction, combined."""
    systems = []
    for method in dict.fromkeys(method for method, _ in forward.choices):
        ahead, back = (_best_choice(side, method) for side in (forward, backward))
        layers = [side.best_layers(choice) for side, choice in ((forward, ahead), (backward, back))]
        for way in ways:
            counts = []
            for seed in range(len(forward.seeds)):
                sides = (forward, ahead, layers[0][seed]), (backward, back, layers[1][seed])
                combined = (
                    _agreed_links(seed, *sides, way)
                    if way in SOFT_SYMMETRIZATIONS
                    else _combined_links(seed, *sides, way)
                )
                counts.append(np.array([count_links(gold, links) for gold, links in zip(golds, combined, strict=True)]))
            name = f"{method} {ahead[1]}/{back[1]} {way}"
            systems.append(System(name, error_rate(counts, sampling), "both", method, layers=tuple(layers[0])))
    return systems


_Side = tuple[_Measured, MethodSetting, int]
"""A direction, with the choice and the layer that speak for it."""


def _combined_links(seed: int, ahead: _Side, back: _Side, way: str) -> list[list[Link]]:
    one, other = (side.links(choice, seed, layer) for side, choice, layer in (ahead, back))
    return [symmetrize(a, [(s, t) for t, s in b], way) for a, b in zip(one, other, strict=True)]


def _agreed_links(seed: int, ahead: _Side, back: _Side, way: str) -> list[list[Link]]:
    one, other = (side.shares(choice, seed, layer) for side, choice, layer in (ahead, back))
    return [
        [] if a is None or b is None else symmetrize_soft(agreement(a, b), way) for a, b in zip(one, other, strict=True)
    ]


def _best_choice(side: _Measured, method: str) -> MethodSetting:
    choices = [choice for choice in side.choices if choice[0] == method]
    return min(choices, key=lambda choice: float(side.aer_of_layers(choice).min(axis=1).mean()))


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Linear correlation of two arrays [K]; NaN where one does not vary."""
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum() / scale) if scale else float("nan")


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Rank correlation of two arrays [K]; ties share their mean rank."""
    return pearson(_ranks(x), _ranks(y))


def _ranks(values: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]

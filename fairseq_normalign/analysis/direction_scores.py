"""Error rates of each layer and head of the models of one direction, from what they decide. numpy only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..links.decide import Link, links_of_sources
from ..links.gold import Gold
from ..links.score import Counts, count_sources, gold_block, metrics_of
from .attention_tables import pearson, spearman
from .decisions import MethodSetting, PairDecisions
from .error_rates import ErrorRate, HeadRow, LayerRow, Sampling, System, error_rate


class DirectionScores:
    """The decisions of each seed in one direction, counted against gold: N sentences, L layers, H heads."""

    def __init__(
        self, golds: Sequence[Gold], seeds: Sequence[Sequence[PairDecisions | None]], sampling: Sampling
    ) -> None:
        self.gold = gold_block(golds)
        self.seeds = seeds
        self.sampling = sampling
        self.examples = [next(pair for pair in pairs if pair is not None) for pairs in seeds]
        self.choices: list[MethodSetting] = list(self.examples[0].layers)
        self.by_layer = {choice: [self._count(pairs, _layers_of(choice)) for pairs in seeds] for choice in self.choices}
        """Per seed: [L, N, 5]."""
        self.by_head = {
            choice: [self._count(pairs, _heads_of(choice)) for pairs in seeds]
            for choice in self.choices
            if self.examples[0].heads.get(choice)
        }
        """Per seed: [all heads of all layers, N, 5]."""

    def _count(self, pairs: Sequence[PairDecisions | None], decided: Callable[[PairDecisions], np.ndarray]) -> Counts:
        """Count what ``decided`` gives for a pair, [K, target words] -> [K, N, 5]."""
        found = [None if pair is None else decided(pair) for pair in pairs]
        width = next(len(one) for one in found if one is not None)
        nothing = np.full((width, 0), -1)
        whole = [nothing if one is None else one for one in found]
        return np.stack([count_sources(self.gold, [one[row] for one in whole]) for row in range(width)])

    def aer_of_layers(self, choice: MethodSetting) -> np.ndarray:
        """Return the AER of each layer: [seeds, L]."""
        return np.array([metrics_of(counts.sum(axis=1))["aer"] for counts in self.by_layer[choice]])

    def aer_of_heads(self, choice: MethodSetting) -> np.ndarray:
        """Return the AER of each head: [seeds, heads]."""
        return np.array([metrics_of(counts.sum(axis=1))["aer"] for counts in self.by_head[choice]])

    def means(self, method: str) -> np.ndarray:
        """Return the mean of what the method read: [seeds, L]."""
        return np.array([np.mean([p.means[method] for p in pairs if p is not None], axis=0) for pairs in self.seeds])

    def head_means(self) -> np.ndarray:
        """Return the mean norm of each head, [seeds, heads]; empty where norms were not read."""
        if not any(method == "norms" for method, _ in self.by_head):
            return np.zeros((len(self.seeds), 0))
        return np.array(
            [
                np.mean([np.concatenate(p.head_means["norms"]) for p in pairs if p is not None], axis=0)
                for pairs in self.seeds
            ]
        )

    def best_layers(self, choice: MethodSetting) -> list[int]:
        """Return the layer with the lowest AER, for each seed."""
        return self.aer_of_layers(choice).argmin(axis=1).tolist()

    def best_heads(self, choice: MethodSetting) -> list[tuple[int, int]]:
        """Return the layer and head with the lowest AER, for each seed."""
        return [self._layer_and_head(choice, place) for place in self.aer_of_heads(choice).argmin(axis=1).tolist()]

    def _layer_and_head(self, choice: MethodSetting, place: int) -> tuple[int, int]:
        sizes = [len(layer) for layer in self.examples[0].heads[choice]]
        return [(layer, head) for layer, size in enumerate(sizes) for head in range(size)][place]

    def best_choice(self, method: str) -> MethodSetting:
        """Return the method with the step in which its best layers have the lowest AER."""
        choices = [choice for choice in self.choices if choice[0] == method]
        return min(choices, key=lambda choice: float(self.aer_of_layers(choice).min(axis=1).mean()))

    def figure(self, choice: MethodSetting, layers: Sequence[int]) -> ErrorRate:
        """Return the error rate of these layers, one per seed."""
        counts = [counts[layer] for counts, layer in zip(self.by_layer[choice], layers, strict=True)]
        return error_rate(counts, self.sampling)

    def layer_rows(self) -> list[LayerRow]:
        """Return the error rates of each method and step, by layer."""
        rows = []
        for choice in self.choices:
            rates = self.aer_of_layers(choice)
            count = rates.shape[1]
            rows.append(
                LayerRow(
                    *choice,
                    layers=tuple(
                        replace(self.figure(choice, [layer] * len(self.seeds)), counts=None) for layer in range(count)
                    ),
                    mean=float(rates.mean()),
                    best=int(rates.mean(axis=0).argmin()),
                    mean_norm=tuple(self.means(choice[0]).mean(axis=0).tolist()),
                )
            )
        return rows

    def head_rows(self) -> list[HeadRow]:
        """Return the error rates of each method and step, by head; none where norms were not read."""
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
        """Return a system for each method and step at its best layer and, forward, at its best head.

        ``speeds`` are the pairs per second of each seed, by method.
        """
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
        method, step = choice
        speed = [one[method] for one in speeds if method in one]
        return System(
            name=" ".join(filter(None, [method, step, kind])),
            figure=self.figure(choice, layers),
            direction=direction,
            method=method,
            step=step,
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
        layer_and_head = [(layer, head) for layer, size in enumerate(sizes) for head in range(size)]
        return System(
            name=f"{choice[0]} {choice[1]} {kind}",
            figure=error_rate(counts, self.sampling),
            direction=direction,
            method=choice[0],
            step=choice[1],
            layers=tuple(layer_and_head[place][0] for place in places),
            heads=tuple(layer_and_head[place][1] for place in places),
        )

    def links(self, choice: MethodSetting, seed: int, layer: int) -> list[list[Link]]:
        """Return the links of each sentence, the source of this direction first."""
        return [[] if pair is None else links_of_sources(pair.layers[choice][layer]) for pair in self.seeds[seed]]

    def shares(self, choice: MethodSetting, seed: int, layer: int) -> list[np.ndarray | None]:
        """Return the soft alignment [target, source] of each sentence, zeros for target words that are unaligned."""
        return [
            None if pair is None else np.where(pair.layers[choice][layer][:, None] >= 0, pair.soft[choice][layer], 0)
            for pair in self.seeds[seed]
        ]


def _layers_of(choice: MethodSetting) -> Callable[[PairDecisions], np.ndarray]:
    return lambda pair: np.stack(pair.layers[choice])


def _heads_of(choice: MethodSetting) -> Callable[[PairDecisions], np.ndarray]:
    return lambda pair: np.concatenate(pair.heads[choice])


def _split(values: np.ndarray, sizes: Sequence[int]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(part.tolist()) for part in np.split(values, np.cumsum(sizes)[:-1]))

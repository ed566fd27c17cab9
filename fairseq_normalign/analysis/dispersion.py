"""How much ||f(x)|| and ||x|| vary (Kobayashi et al. 2020, Tables 1 and 4). numpy only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .attention_batch import PAD, Observed
from .streams import Moments
from .tables import Analysis, Cell, Table

COLUMNS = ("mean", "deviation", "cv", "max", "min")


class Dispersion(Analysis):
    """Mean, deviation, coefficient of variation, largest and smallest: of ||f(x)|| by head, of ||x|| by layer."""

    def __init__(self) -> None:
        self.transformed: list[Moments] = []
        """Per layer, with one stream per head."""
        self.inputs: list[Moments] = []
        """Per layer, one stream."""

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        real = observed.keys != PAD
        for number, layer in enumerate(observed.layers):
            if number == len(self.transformed):
                self.transformed.append(Moments(layer.lengths.shape[1]))
                self.inputs.append(Moments(1))
            self.transformed[number].add(layer.lengths.transpose(0, 2, 1)[real])
            self.inputs[number].add(layer.inputs[real][:, None])

    def tables(self) -> list[Table]:
        """Return tables of ||f(x)|| and of ||x||, for each first a summary and then everything."""
        return [
            *_short_and_whole("||f(x)||", ("layer", "head"), self.transformed),
            *_short_and_whole("||x||", ("layer",), self.inputs),
        ]


def _short_and_whole(name: str, places: tuple[str, ...], layers: Sequence[Moments]) -> list[Table]:
    rows: list[tuple[float, ...]] = [
        (*(layer + 1, head + 1)[: len(places)], *_figures(moments, head))
        for layer, moments in enumerate(layers)
        for head in range(len(moments.count))
    ]
    if not rows:
        return []
    variation = np.array([row[-3] for row in rows])
    named = [("max cv", int(variation.argmax())), ("min cv", int(variation.argmin()))]
    short: list[tuple[Cell, ...]] = [(label, *rows[row]) for label, row in named]
    means = np.array([row[len(places) : len(places) + 3] for row in rows]).mean(axis=0).tolist()
    blanks = (None,) * len(places)
    return [
        Table(f"dispersion of {name}", ("", *places, *COLUMNS), [*short, ("average", *blanks, *means, None, None)]),
        Table(f"{name} everywhere", (*places, *COLUMNS), rows, detail=True),
    ]


def _figures(moments: Moments, stream: int) -> tuple[float, ...]:
    every = (moments.mean, moments.deviation, moments.variation, moments.largest, moments.smallest)
    return tuple(float(figure[stream]) for figure in every)

"""Alignment error of each layer, head, method and step against gold, from decisions. numpy only.

A seed is one trained checkpoint (with its partner of the other direction, if there is one); error rates of several
seeds are means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import NormalignError
from ..links.decide import Link, decide
from ..links.experts import AGREEMENT_FLOOR
from ..links.gold import Gold
from ..links.read_pair import ReadPair
from ..links.score import count_links
from ..links.symmetrize import SOFT_SYMMETRIZATIONS, symmetrize
from .decisions import MethodSetting, PairDecisions, decisions_of
from .direction_scores import DirectionScores
from .error_rates import DEFAULT_SAMPLING, HeadRow, LayerRow, Sampling, System, error_rate, tested

DECIDED = "decided"
"""In the place of a direction: links that several readings or directions decided on together."""


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
    forward = DirectionScores(golds, [seed.forward for seed in seeds], sampling)
    systems = forward.systems("forward", [seed.speed for seed in seeds])
    if all(seed.backward is not None for seed in seeds):
        backward = DirectionScores(reversed_golds(golds), [seed.backward or [] for seed in seeds], sampling)
        systems += backward.systems("reverse", [])
        systems += _symmetrized(golds, forward, backward, symmetrizations, sampling)
    for name, direction in seeds[0].more:
        counts = [count_links(golds, seed.more[name, direction]) for seed in seeds if (name, direction) in seed.more]
        if len(counts) == len(seeds):
            systems.append(System(name, error_rate(counts, sampling), direction, "norms"))
    for name, links in (added or {}).items():
        systems.append(System(name, error_rate([count_links(golds, links)], sampling), direction="other"))
    systems = tested(systems, sampling)
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


def _symmetrized(
    golds: Sequence[Gold],
    forward: DirectionScores,
    backward: DirectionScores,
    methods: Sequence[str],
    sampling: Sampling,
) -> list[System]:
    """Return a system for each method of reading and of symmetrizing, at the best layer and step of each side."""
    systems = []
    for method in dict.fromkeys(method for method, _ in forward.choices):
        choices = forward.best_choice(method), backward.best_choice(method)
        layers = forward.best_layers(choices[0]), backward.best_layers(choices[1])
        for symmetrization in methods:
            counts = []
            for seed in range(len(forward.seeds)):
                sides = (forward, choices[0], layers[0][seed]), (backward, choices[1], layers[1][seed])
                counts.append(count_links(golds, _combined_links(seed, *sides, symmetrization)))
            name = f"{method} {choices[0][1]}/{choices[1][1]} {symmetrization}"
            systems.append(System(name, error_rate(counts, sampling), "both", method, layers=tuple(layers[0])))
    return systems


_Side = tuple[DirectionScores, MethodSetting, int]
"""A direction, with the method, step and layer it is read at."""


def _combined_links(seed: int, forward: _Side, backward: _Side, symmetrization: str) -> list[list[Link]]:
    if symmetrization in SOFT_SYMMETRIZATIONS:
        return _agreed_links(seed, forward, backward, symmetrization)
    one, other = (side.links(choice, seed, layer) for side, choice, layer in (forward, backward))
    return [symmetrize(a, [(s, t) for t, s in b], symmetrization) for a, b in zip(one, other, strict=True)]


def _agreed_links(seed: int, forward: _Side, backward: _Side, symmetrization: str) -> list[list[Link]]:
    one, other = (side.shares(choice, seed, layer) for side, choice, layer in (forward, backward))
    return [
        [] if a is None or b is None else decide(a, symmetrization, backward=b, floor=AGREEMENT_FLOOR)[0]
        for a, b in zip(one, other, strict=True)
    ]

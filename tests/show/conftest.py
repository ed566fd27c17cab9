"""Pairs made of nothing: random pieces, soft alignments, gold and links."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from fairseq_normalign.links.gold import Gold
from fairseq_normalign.links.pieces import Sentence, segment
from fairseq_normalign.links.read_pair import ReadPair
from fairseq_normalign.links.readings import MethodReading


def make_side(words: Sequence[str], rng: np.random.Generator, *, end: bool) -> Sentence:
    pieces: list[str] = []
    for word in words:
        cut = int(rng.integers(1, max(2, len(word)))) if len(word) > 2 and rng.random() < 0.4 else 0
        pieces += [word[:cut] + "@@", word[cut:]] if cut else [word]
    whole = (*pieces, *(["</s>"] if end else []))
    return Sentence.of(whole, segment(whole, "subword_nmt", specials={"</s>"}))


def make_pair(
    number: int,
    source: Sequence[str],
    target: Sequence[str],
    rng: np.random.Generator,
    *,
    methods: Sequence[str] = ("weights", "norms"),
    layers: int = 3,
    heads: int = 0,
    gold: bool = True,
    links: bool = False,
) -> ReadPair:
    """A pair in which method and layer matter: random soft alignments, sharp enough to have winners."""
    sides = make_side(source, rng, end=True), make_side(target, rng, end=False)
    shape = (len(sides[1].pieces) + 1, len(sides[0].pieces))
    readings = {
        name: MethodReading(
            steps=(rng.random((layers, *shape)) ** 4).astype(np.float32),
            heads=(rng.random((layers, heads, *shape)) ** 4).astype(np.float32) if heads else None,
        )
        for name in methods
    }
    every = [(s, t) for s in range(len(source)) for t in range(len(target))]
    some = {every[k] for k in rng.choice(len(every), size=min(len(every), len(target) + 2), replace=False)}
    sure = {link for link in some if rng.random() < 0.7}
    if links:
        readings["other"] = MethodReading(links=tuple(sorted(some)))
    return ReadPair(number, *sides, readings, Gold(frozenset(sure), frozenset(some)) if gold else None)


@pytest.fixture
def make() -> Callable[..., ReadPair]:
    return make_pair


@pytest.fixture
def pair() -> ReadPair:
    rng = np.random.default_rng(7)
    return make_pair(4, "wir glauben das nicht .".split(), "we do not believe this .".split(), rng, heads=2, links=True)

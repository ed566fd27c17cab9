"""Every layer and head of some methods: what they decide for given pairs, and what is drawn of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..alignment import Alignment
from ..analysis.decisions import PairDecisions
from ..hosts.protocol import Batch, Pair
from ..links.decide import best_sources, decide, normalized
from ..links.experts import BOTH, REVERSED, look_name, product_name
from ..links.pieces import Sentence
from ..links.read_pair import ReadPair
from ..links.readings import EACH, MethodReading, Place
from ..links.words import STEPS, to_words
from ..text.encoding import Line
from .aligner import Aligner
from .model import Model
from .reader import Found, Reader

WINDOW = 256
"""Pairs that are read together; bounds the memory."""


class Survey:
    """Reads every layer, and every head if wanted, of some methods, and decides by each of them."""

    def __init__(self, model: Model, methods: Sequence[str], *, heads: bool = True) -> None:
        self.model = model
        self.reader = Reader(model.models, check=model.options.self_test)
        self.methods = list(methods)
        self._places = [place for name in methods for place in self.reader.places(name, heads=heads)]

    def warm_up(self, encoded: Sequence[Pair | str]) -> None:
        """Read one pair and forget the time it took: whatever comes first pays for what is made only once."""
        first = next((pair for pair in encoded if not isinstance(pair, str)), None)
        for _, batch in self.model.batches([first] if first else []):
            self.reader.read(batch, self._places)
        self.reader.seconds.clear()

    def decide(
        self,
        encoded: Sequence[Pair | str],
        *,
        soft: bool = False,
        done: Callable[[int], object] = lambda count: None,
    ) -> list[PairDecisions | None]:
        """Return what every layer and head decides for each pair; None for a pair that cannot be aligned.

        ``soft`` keeps the soft alignments of the layers as well; ``done`` is told how many pairs each batch had.
        """
        results: list[PairDecisions | None] = [None] * len(encoded)
        for places, batch in self.model.batches(encoded):
            for place, pair in zip(places, self._decided(batch, soft), strict=True):
                results[place] = pair
            done(len(places))
        return results

    def _decided(self, batch: Batch, soft: bool) -> Iterator[PairDecisions]:
        for sides, found in zip(batch.sentences, self.reader.read(batch, self._places), strict=True):
            source, target = (side.at(self.model.level) for side in sides)
            pair = PairDecisions(source.words, target.words)
            for name in self.methods:
                layers, heads = by_layer(found, name, None), by_layer(found, name, EACH)
                pair.means[name] = [float(one.mean()) for one in layers]
                pair.head_means[name] = [one.mean(axis=(1, 2)).tolist() for one in heads]
                together = np.concatenate([np.stack(layers), *heads])
                for step in sorted(self.reader.method(name).steps, key=STEPS.index):
                    words, null = to_words(together, target, source, step)
                    best = best_sources(words, null, self.model.options.null)
                    pair.layers[name, step] = list(best[: len(layers)])
                    pair.heads[name, step] = _split(best[len(layers) :], [len(one) for one in heads])
                    if soft:
                        pair.soft[name, step] = list(normalized(words[: len(layers)]))
            yield pair


def _split(best: np.ndarray, counts: Sequence[int]) -> list[np.ndarray]:
    """Cut [heads of all layers, T] into one array per layer: a layer may have lost heads to pruning."""
    return np.split(best, np.cumsum(counts)[:-1]) if counts else []


def by_layer(found: Found, method: str, head: int | None) -> list[np.ndarray]:
    """Return the layers of a method, the bottom first."""
    places: list[Place] = [place for place in found if place.method == method and place.head == head]
    return [found[place] for place in sorted(places)]


def read_pairs(
    model: Model,
    lines: Iterable[tuple[int, str, str]],
    methods: Sequence[str],
    *,
    heads: bool = False,
    skipped: Callable[[int, str], object] = lambda number, why: None,
) -> Iterator[ReadPair]:
    """Read (id, source, target) lines by each method, in their order.

    ``skipped`` is called with the id of each line that is left out, and the reason.
    """
    for window in _windows(lines):
        encoded = model.encode([(source, target) for _, source, target in window])
        found = _every_layer(model, methods, encoded, [number for number, _, _ in window], heads=heads)
        for place, (number, _, _) in enumerate(window):
            if place in found:
                yield found[place]
            else:
                skipped(number, str(encoded[place]))


def read_looks(
    aligner: Aligner,
    lines: Iterable[tuple[int, str, str]],
    methods: Sequence[str] = (),
    *,
    heads: bool = False,
    skipped: Callable[[int, str], object] = lambda number, why: None,
) -> Iterator[ReadPair]:
    """Read (id, source, target) lines in their order: layers of ``methods``, looks, their product, both directions.

    The links of the product and of both directions are those that the aligner decides on. ``skipped`` is called with
    the id of each line that is left out, and the reason.
    """
    for window in _windows(lines):
        numbers = [number for number, _, _ in window]
        encoded = aligner.encode([(source, target) for _, source, target in window])
        found = _every_layer(aligner.forward, methods, encoded.forward, numbers, heads=heads) if methods else {}
        decided = aligner.align(encoded, soft=True, read=True, first=numbers[0])
        for place, (pair, number) in enumerate(zip(encoded.forward, numbers, strict=True)):
            if isinstance(pair, str):
                skipped(number, pair)
            else:
                read = found.get(place) or ReadPair(number, _as_written(pair[0]), _as_written(pair[1]), {})
                yield replace(read, readings={**read.readings, **_looks(aligner, decided[place])})


def _windows(lines: Iterable[tuple[int, str, str]]) -> Iterator[list[tuple[int, str, str]]]:
    waiting = iter(lines)
    while window := list(itertools.islice(waiting, WINDOW)):
        yield window


def _every_layer(
    model: Model, methods: Sequence[str], encoded: Sequence[Pair | str], numbers: Sequence[int], *, heads: bool
) -> dict[int, ReadPair]:
    """Return what was read, by the place of each pair in ``encoded``; ``numbers`` are the ids of the pairs."""
    reader = Reader(model.models)
    wanted = [place for name in methods for place in reader.places(name, heads=heads)]
    pairs: dict[int, ReadPair] = {}
    for places, batch in model.batches(encoded, names=lambda place: str(numbers[place] + 1)):
        for place, found in zip(places, reader.read(batch, wanted), strict=True):
            readings = {}
            for name in methods:
                each = by_layer(found, name, EACH)
                steps = tuple(step for step in STEPS if step in reader.method(name).steps)
                layers = np.stack(by_layer(found, name, None))
                readings[name] = MethodReading(layers, np.stack(each) if each else None, read_at=steps)
            pair = encoded[place]
            assert not isinstance(pair, str)
            pairs[place] = ReadPair(numbers[place], _as_written(pair[0]), _as_written(pair[1]), readings)
    return pairs


def _as_written(line: Line) -> Sentence:
    """Return the sentence with its words as they stand in the line, not as the model takes them (in lower case)."""
    sentence = line.sentence
    if not line.places:
        return sentence
    return replace(sentence, by_word=replace(sentence.by_word, words=line.given_words))


def _looks(aligner: Aligner, decided: Alignment) -> dict[str, MethodReading]:
    read = decided.read
    assert read is not None
    expert = read.expert
    looks = {look_name(reading): MethodReading(words=read.read(reading)[None]) for reading in expert.readings}
    found = {**looks, product_name(expert): MethodReading(words=read.soft()[None], links=tuple(read.links()))}
    if aligner.backward is not None:
        soft = decided.directions[1]  # [S, T]
        decision, floor = aligner.backward.options.decision_for(aligner.backward.expert)
        turned = sorted((source, target) for target, source in decide(soft, decision, floor=floor)[0])
        found[REVERSED] = MethodReading(words=soft.T[None], links=tuple(turned))
        words = None if decided.soft is None else decided.soft[None]
        found[BOTH] = MethodReading(words=words, links=tuple(decided.links))
    return found

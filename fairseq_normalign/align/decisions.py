"""What every layer and head decides for given pairs, by several methods and in both steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..analysis.decisions import PairDecisions
from ..hosts.protocol import Batch, Pair
from ..links.decide import best_sources, normalized
from ..links.readings import EACH, Place
from ..links.words import STEPS, to_words
from .directions import EncodedAligner
from .reader import Found, Reader


class Survey:
    """Reads every layer, and every head if wanted, of some methods, and decides by each of them."""

    def __init__(self, direction: EncodedAligner, methods: Sequence[str], *, heads: bool = True) -> None:
        self.direction = direction
        self.reader = Reader(direction.models, check=direction.aligner.options.self_test)
        self.methods = list(methods)
        self._places = [place for name in methods for place in self.reader.places(name, heads=heads)]

    def warm_up(self, encoded: Sequence[Pair | str]) -> None:
        """Read one pair and forget the time it took: whatever comes first pays for what is made only once."""
        first = next((pair for pair in encoded if not isinstance(pair, str)), None)
        for _, batch in self.direction.batches([first] if first else []):
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
        for places, batch in self.direction.batches(encoded):
            for place, pair in zip(places, self._decided(batch, soft), strict=True):
                results[place] = pair
            done(len(places))
        return results

    def _decided(self, batch: Batch, soft: bool) -> Iterator[PairDecisions]:
        for sides, found in zip(batch.sentences, self.reader.read(batch, self._places), strict=True):
            source, target = (side.at(self.direction.level) for side in sides)
            pair = PairDecisions(source.words, target.words)
            for name in self.methods:
                layers, heads = by_layer(found, name, None), by_layer(found, name, EACH)
                pair.means[name] = [float(one.mean()) for one in layers]
                pair.head_means[name] = [one.mean(axis=(1, 2)).tolist() for one in heads]
                together = np.concatenate([np.stack(layers), *heads])
                for step in sorted(self.reader.method(name).steps, key=STEPS.index):
                    words, null = to_words(together, target, source, step)
                    best = best_sources(words, null, self.direction.aligner.options.null)
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

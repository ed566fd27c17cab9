"""One loaded model with its text: encoded pairs in, soft alignments and links of one direction out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..analysis.decisions import PairDecisions, decisions_of
from ..errors import note
from ..hosts.protocol import EMPTY, NO_MEMORY, TOO_LONG, Batch, OutOfMemory, Pair
from ..hosts.reading import ReadModel, enough_memory
from ..jobs import Count, TextPair, nobody
from ..links.decide import Link, decide, normalized
from ..links.experts import Expert
from ..links.pieces import Sentence
from ..links.read_pair import ReadPair
from ..links.readings import EACH, MethodReading, Place, Reading
from ..links.words import STEPS, BatchOfWords, to_words, to_words_of_batch
from ..text.encoding import batches_by_length
from .options import AlignmentOptions
from .reader import Reader

T = TypeVar("T")


@dataclass(frozen=True)
class Read:
    """What was read of a sentence pair."""

    source: Sentence
    target: Sentence
    steps: Mapping[Place, np.ndarray]
    """[T + 1 decoder steps, S source positions] for each place that was read, [H, T + 1, S] for every head."""
    expert: Expert
    """The readings that decide."""
    options: AlignmentOptions

    def soft(self, level: str = "word") -> np.ndarray:
        """Return what decides, [target, source], at the level 'word' or 'piece'."""
        return self._combined(level)[0]

    def read(self, reading: Reading, level: str = "word") -> np.ndarray:
        """Return one reading by itself, [target, source]; its place must have been read."""
        return to_words(self.steps[reading.place], self.target.at(level), self.source.at(level), reading.step)[0]

    def links(self, level: str = "word") -> list[Link]:
        """Return the links that the expert decides on."""
        soft, null = self._combined(level)
        decision, floor = self.options.decision_for(self.expert)
        return decide(soft, decision, null=null, policy=self.options.null, floor=floor)[0]

    def _combined(self, level: str) -> tuple[np.ndarray, np.ndarray]:
        sides = self.target.at(level), self.source.at(level)
        return self.expert.combine([to_words(self.steps[one.place], *sides, one.step) for one in self.expert.readings])

    @property
    def layers(self) -> np.ndarray:
        """What the first reading's method read of every layer: [layers, T + 1, S]."""
        first = self.expert.readings[0]
        return np.stack(by_layer(self.steps, first.method, first.head if len(self.expert.readings) == 1 else None))

    @property
    def heads(self) -> np.ndarray:
        """What the first reading's method read of every head of every layer: [layers, H, T + 1, S]."""
        return np.stack(by_layer(self.steps, self.expert.readings[0].method, EACH))


def by_layer(found: Mapping[Place, np.ndarray], method: str, head: int | None) -> list[np.ndarray]:
    """Return what a method read of each layer, the bottom first."""
    return [found[place] for place in sorted(place for place in found if place.method == method and place.head == head)]


def in_batches(
    sizes: Sequence[tuple[int, int]],
    max_tokens: int,
    work: Callable[[list[int]], T],
    names: Sequence[str],
    done: Count = nobody,
) -> Iterator[tuple[list[int], T]]:
    """Do some work on batches of pairs of like length; yield the positions of each batch, and the result.

    Where memory runs out for a batch, its pairs are taken one by one; one that is too large alone is left out, with a
    note that has its name. ``sizes`` are the lengths of both sides; ``done`` is told how many pairs after each batch.
    """
    for batch in batches_by_length(sizes, max_tokens):
        waiting = [batch]
        while waiting:
            chosen = waiting.pop(0)
            try:
                with enough_memory([names[one] for one in chosen]):
                    result = work(chosen)
            except OutOfMemory as error:
                if len(chosen) > 1:
                    waiting += [[one] for one in chosen]
                    continue
                note(f"{error}; it is left out")
            else:
                yield chosen, result
            done(len(chosen))


def numbers_from(first: int) -> Callable[[int], str]:
    """Return how to call the pair at a place of a list in messages: by its number, the first one's being ``first``.

    >>> numbers_from(0)(2)
    '3'
    """
    return lambda place: str(first + place + 1)


class Decided(NamedTuple):
    """What one direction decides for a pair."""

    links: list[Link]
    """(source, target), 0-based, sorted."""
    confidence: list[float]
    """One number per link: the share of the source word in the row of the target word."""
    soft: np.ndarray | None
    """[target, source], rows adding up to one; None unless it was asked for."""
    read: Read | None
    """None unless it was asked for."""


class Model:
    """A model (or an ensemble) of one direction, and the readings by which it decides."""

    def __init__(self, host: Any, options: AlignmentOptions, *, max_tokens: int = 4000, level: str = "word") -> None:
        """``host``: a :class:`~fairseq_normalign.hosts.protocol.LoadedModel`, or its models and ``batch`` alone."""
        self.host = host
        self.options = options
        self.max_tokens = max_tokens
        self.level = level
        self.models: list[ReadModel] = list(host.models)
        self.reader = Reader(self.models, check=options.self_test)
        self.expert = options.expert(self.layers)
        sides = [model.max_positions for model in self.models]
        self.longest = min(side[0] for side in sides), min(side[1] for side in sides)
        """How many positions there are on the source and on the target side."""

    @property
    def layers(self) -> int:
        """How many decoder layers can be read."""
        return self.reader.layers

    def reading(self, expert: Expert | None) -> Model:
        """Return the same model that decides by other readings; None: by these."""
        if expert is None:
            return self
        other = copy.copy(self)
        other.expert = self.options.checked(expert, self.layers)
        return other

    def lines(self, pair: TextPair) -> Pair:
        """Return both sides of a pair as the model reads them."""
        return self.host.source(pair[0]), self.host.target(pair[1])

    def checked(self, pair: Pair) -> Pair | str:
        """Return the pair, or why it cannot be aligned."""
        if not all(line.sentence.by_word.words for line in pair):
            return EMPTY
        if len(pair[0]) > self.longest[0] or len(pair[1]) + 1 > self.longest[1]:
            return TOO_LONG
        return pair

    def encode(self, pairs: Sequence[TextPair]) -> list[Pair | str]:
        """Return each pair as the model reads it, or why it cannot be aligned."""
        return [self.checked(self.lines(pair)) for pair in pairs]

    def batches(
        self,
        encoded: Sequence[Pair | str],
        work: Callable[[Batch], T],
        *,
        names: Callable[[int], str] | None = None,
        max_tokens: int | None = None,
        done: Count = nobody,
    ) -> Iterator[tuple[list[int], T]]:
        """Do some work on what can be aligned, in batches by length; yield each result with the places of its pairs.

        ``names``: how the pair at a place is called in messages, otherwise by its number, from 1; the rest as in
        :func:`in_batches`.
        """
        places = [place for place, pair in enumerate(encoded) if not isinstance(pair, str)]
        pairs: list[Pair] = [pair for pair in encoded if not isinstance(pair, str)]
        sizes = [(len(source), len(target) + 1) for source, target in pairs]
        called = [(names or numbers_from(0))(place) for place in places]
        for chosen, result in in_batches(
            sizes,
            max_tokens or self.max_tokens,
            lambda chosen: work(self.host.batch([pairs[one] for one in chosen], [called[one] for one in chosen])),
            called,
            done,
        ):
            yield [places[one] for one in chosen], result

    def align(self, batch: Batch, *, every_layer: bool = False, heads: bool = False) -> list[Read]:
        """Read the targets of a batch, in their order; with ``every_layer`` the decoder runs to its top."""
        places = list(self.expert.places)
        first = self.expert.readings[0]
        if every_layer:
            head = first.head if len(self.expert.readings) == 1 else None
            places += [Place(place.method, place.layer, head) for place in self.reader.places(first.method)]
        if heads:
            places += self.reader.places(first.method, heads=True, whole=False)
        found = self.reader.read(batch, places)
        return [
            Read(source, target, steps, self.expert, self.options)
            for (source, target), steps in zip(batch.sentences, found, strict=True)
        ]

    def read_methods(self, batch: Batch, methods: Sequence[str], *, heads: bool = False) -> list[ReadPair]:
        """Read every layer, and with ``heads`` every head, of some methods from a batch; pairs in their order."""
        pairs = []
        places = [place for name in methods for place in self.reader.places(name, heads=heads)]
        for number, found in enumerate(self.reader.read(batch, places)):
            readings = {}
            for name in methods:
                each: Any = by_layer(found, name, EACH)
                if len({len(layer) for layer in each}) == 1:  # a layer may have lost heads to pruning
                    each = np.stack(each)
                steps = tuple(step for step in STEPS if step in self.reader.method(name).steps)
                layers = np.stack(by_layer(found, name, None))
                readings[name] = MethodReading(layers, each if len(each) else None, read_at=steps)
            pairs.append(ReadPair(number, *batch.sentences[number], readings))
        return pairs

    def decide(
        self,
        encoded: Sequence[Pair | str],
        *,
        soft: bool = False,
        read: bool = False,
        every_layer: bool = False,
        first: int = 0,
        decision: str | None = None,
        done: Count = nobody,
    ) -> list[Decided | str]:
        """Decide on the links of encoded pairs, in their order, the first of them number ``first`` of the bitext.

        ``soft``, ``read``, ``every_layer``: what is kept; ``decision``: how links are decided, if not as the options
        say; ``done`` is told how many pairs after each batch. A pair that cannot be aligned has the reason instead.
        """
        usual, floor = self.options.decision_for(self.expert)
        decision, null = decision or usual, self.options.null
        results: list[Decided | str] = [pair if isinstance(pair, str) else NO_MEMORY for pair in encoded]
        for places, reads in self.batches(
            encoded,
            lambda batch: self.align(batch, every_layer=every_layer),
            names=numbers_from(first),
            done=done,
        ):
            targets = [one.target.at(self.level) for one in reads]
            sources = [one.source.at(self.level) for one in reads]
            merged = [
                to_words_of_batch([one.steps[reading.place] for one in reads], targets, sources, reading.step)
                for reading in self.expert.readings
            ]
            words = BatchOfWords(*self.expert.combine([(one.soft, one.null) for one in merged]), merged[0].sizes)
            if decision == "argmax":  # for all pairs at once
                best = words.best(null)
                best_shares = words.confidence(best).tolist()
            for number, place in enumerate(places):
                matrix = words.of(number)
                if decision == "argmax":
                    chosen = enumerate(best[number].tolist())
                    links = sorted((source, target) for target, source in chosen if source >= 0)
                    confidence = [best_shares[number][target] for _, target in links]
                else:
                    nothing = words.null[number, : len(matrix)]
                    links, shares = decide(matrix, decision, null=nothing, policy=null, floor=floor)
                    confidence = [float(shares[target, source]) for source, target in links]
                kept = reads[number] if read or every_layer else None
                results[place] = Decided(links, confidence, normalized(matrix) if soft else None, kept)
        return results

    def decide_every_way(
        self, encoded: Sequence[Pair | str], methods: Sequence[str], *, soft: bool = False, done: Count = nobody
    ) -> list[PairDecisions | None]:
        """Return what every layer and head of some methods decides for each pair; None where it cannot be aligned.

        ``soft`` keeps the soft alignments of the layers as well; ``done`` is told how many pairs each batch had.
        """
        results: list[PairDecisions | None] = [None] * len(encoded)
        for places, pairs in self.batches(
            encoded, lambda batch: self.read_methods(batch, methods, heads=True), done=done
        ):
            for place, pair in zip(places, pairs, strict=True):
                results[place] = decisions_of(pair, null=self.options.null, soft=soft, level=self.level)
        return results

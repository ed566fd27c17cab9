"""One loaded model with its text: encoded pairs in, soft alignments and links of one direction out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import note
from ..hosts.protocol import EMPTY, NO_MEMORY, TOO_LONG, Batch, HostModel, OutOfMemory, Pair
from ..jobs import Count, TextPair, nobody
from ..links.decide import Link, decide, normalized
from ..links.experts import Expert
from ..links.pieces import Sentence
from ..links.readings import EACH, Place, Reading
from ..links.words import BatchOfWords, to_words, to_words_of_batch
from ..text.encoding import batches_by_length
from .options import AlignmentOptions
from .reader import Reader


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
        return self._at(reading, level)[0]

    def links(self, level: str = "word") -> list[Link]:
        """Return the links that the expert decides on."""
        soft, null = self._combined(level)
        decision, floor = self.options.decision_for(self.expert)
        return decide(soft, decision, null=null, policy=self.options.null, floor=floor)[0]

    @property
    def layers(self) -> np.ndarray:
        """What the first reading's method read of every layer: [layers, T + 1, S]."""
        first = self.expert.readings[0]
        return self._every(first.method, first.head if len(self.expert.readings) == 1 else None)

    @property
    def heads(self) -> np.ndarray:
        """What the first reading's method read of every head of every layer: [layers, H, T + 1, S]."""
        return self._every(self.expert.readings[0].method, EACH)

    def _every(self, method: str, head: int | None) -> np.ndarray:
        places = sorted(place for place in self.steps if place.method == method and place.head == head)
        return np.stack([self.steps[place] for place in places])

    def _combined(self, level: str) -> tuple[np.ndarray, np.ndarray]:
        return self.expert.combine([self._at(reading, level) for reading in self.expert.readings])

    def _at(self, reading: Reading, level: str) -> tuple[np.ndarray, np.ndarray]:
        return to_words(self.steps[reading.place], self.target.at(level), self.source.at(level), reading.step)


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


class Batches(Protocol):
    """Makes batches of encoded pairs: the part of :class:`fairseq_normalign.hosts.protocol.LoadedModel` needed here."""

    models: Any

    def batch(self, pairs: Sequence[Pair], names: Sequence[str] = ()) -> Batch:
        """Return encoded pairs as one batch, on the model's device."""
        ...


class Model:
    """A model (or an ensemble) of one direction, and the readings by which it decides."""

    def __init__(
        self, host: Batches, options: AlignmentOptions, *, max_tokens: int = 4000, level: str = "word"
    ) -> None:
        self.host: Any = host
        """A :class:`~fairseq_normalign.hosts.protocol.LoadedModel`; lines can only be encoded by one."""
        self.options = options
        self.max_tokens = max_tokens
        self.level = level
        self.models: list[HostModel] = list(host.models)
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
        self, encoded: Sequence[Pair | str], *, names: Callable[[int], str] | None = None, max_tokens: int | None = None
    ) -> Iterator[tuple[list[int], Batch]]:
        """Return what can be aligned in batches by length, each with the positions of its pairs.

        ``names``: how a pair is called in messages, by its position; otherwise by its number, from 1.
        """
        places = [place for place, pair in enumerate(encoded) if not isinstance(pair, str)]
        pairs: list[Pair] = [pair for pair in encoded if not isinstance(pair, str)]
        sizes = [(len(source), len(target) + 1) for source, target in pairs]
        for chosen in batches_by_length(sizes, max_tokens or self.max_tokens):
            called = [str(places[one] + 1) if names is None else names(places[one]) for one in chosen]
            yield [places[one] for one in chosen], self.host.batch([pairs[one] for one in chosen], called)

    def align(self, batch: Batch, *, every_layer: bool = False, heads: bool = False) -> Iterator[Read]:
        """Read the targets of a batch, in their order; with ``every_layer`` the decoder runs to its top."""
        places = list(self.expert.places)
        first = self.expert.readings[0]
        if every_layer:
            head = first.head if len(self.expert.readings) == 1 else None
            places += [Place(place.method, place.layer, head) for place in self.reader.places(first.method)]
        if heads:
            places += self.reader.places(first.method, heads=True, whole=False)
        for (source, target), steps in zip(batch.sentences, self.reader.read(batch, places), strict=True):
            yield Read(source, target, steps, self.expert, self.options)

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
        Where memory runs out for a batch, its pairs are read one by one; one that is too large alone is left unaligned.
        """
        usual, floor = self.options.decision_for(self.expert)
        results: list[Decided | str] = [pair if isinstance(pair, str) else NO_MEMORY for pair in encoded]
        for places, batch in self.batches(encoded, names=lambda place: str(first + place + 1)):
            try:
                reads = list(self.align(batch, every_layer=every_layer))
            except OutOfMemory as error:
                if len(places) == 1:
                    note(f"{error}; it is left unaligned")
                for place in places if len(places) > 1 else ():
                    alone = self.decide(
                        [encoded[place]],
                        soft=soft,
                        read=read,
                        every_layer=every_layer,
                        first=first + place,
                        decision=decision,
                    )
                    results[place] = alone[0]
                done(len(places))
                continue
            words = self.words(reads)
            decided = self._argmax(words) if (decision or usual) == "argmax" else None
            for number, place in enumerate(places):
                one, kept = words.of(number), reads[number] if read or every_layer else None
                if decided is not None:
                    links, confidence = next(decided)
                else:
                    null = words.null[number, : len(one)]
                    links, shares = decide(one, decision or usual, null=null, policy=self.options.null, floor=floor)
                    confidence = [float(shares[target, source]) for source, target in links]
                results[place] = Decided(links, confidence, normalized(one) if soft else None, kept)
            done(len(places))
        return results

    def words(self, reads: Sequence[Read]) -> BatchOfWords:
        """Return what decides for many pairs at once."""
        targets, sources = (
            [side.at(self.level) for side in sides]
            for sides in zip(*((one.target, one.source) for one in reads), strict=True)
        )
        found = [
            to_words_of_batch([one.steps[reading.place] for one in reads], targets, sources, reading.step)
            for reading in self.expert.readings
        ]
        soft, null = self.expert.combine([(one.soft, one.null) for one in found])
        return BatchOfWords(soft, null, found[0].sizes)

    def _argmax(self, words: BatchOfWords) -> Iterator[tuple[list[Link], list[float]]]:
        """The best source word of each target word, for all pairs at once."""
        best = words.best(self.options.null)
        for sources, shares in zip(best.tolist(), words.confidence(best).tolist(), strict=True):
            linked = sorted((source, target, shares[target]) for target, source in enumerate(sources) if source >= 0)
            yield [(source, target) for source, target, _ in linked], [share for _, _, share in linked]

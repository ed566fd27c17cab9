"""Batches in, aligned sentence pairs out: one way that serves fairseq's commands and ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..hosts.protocol import Batch, HostModel
from ..links.decide import Link, decide
from ..links.experts import Expert
from ..links.pieces import Sentence
from ..links.readings import EACH, Place, Reading
from ..links.words import BatchOfWords, to_words, to_words_of_batch
from .options import AlignmentOptions
from .reader import Reader


@dataclass(frozen=True)
class AlignedPair:
    """A sentence pair and what was read of it."""

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
        head = first.head if len(self.expert.readings) == 1 else None
        return np.stack([self.steps[place] for place in self._places(first.method, head)])

    @property
    def heads(self) -> np.ndarray:
        """What the first reading's method read of every head of every layer: [layers, H, T + 1, S]."""
        return np.stack([self.steps[place] for place in self._places(self.expert.readings[0].method, EACH)])

    def _places(self, method: str, head: int | None) -> list[Place]:
        return sorted(place for place in self.steps if place.method == method and place.head == head)

    def _combined(self, level: str) -> tuple[np.ndarray, np.ndarray]:
        return self.expert.combine([self._at(reading, level) for reading in self.expert.readings])

    def _at(self, reading: Reading, level: str) -> tuple[np.ndarray, np.ndarray]:
        return to_words(self.steps[reading.place], self.target.at(level), self.source.at(level), reading.step)


class Aligner:
    """Aligns batches with one model or an ensemble."""

    def __init__(self, models: Sequence[HostModel], options: AlignmentOptions) -> None:
        self.options = options
        self.reader = Reader(models, check=options.self_test)
        self.expert = options.expert(self.reader.layers)

    def read_with(self, expert: Expert) -> None:
        """From now on decide by these readings."""
        self.expert = expert

    def align(self, batch: Batch, *, every_layer: bool = False, heads: bool = False) -> Iterator[AlignedPair]:
        """Align the targets of a batch, in their order; with ``every_layer`` the decoder runs to its top."""
        places = list(self.expert.places)
        first = self.expert.readings[0]
        if every_layer:
            head = first.head if len(self.expert.readings) == 1 else None
            places += [Place(place.method, place.layer, head) for place in self.reader.places(first.method)]
        if heads:
            places += self.reader.places(first.method, heads=True, whole=False)
        for (source, target), steps in zip(batch.sentences, self.reader.read(batch, places), strict=True):
            yield AlignedPair(source, target, steps, self.expert, self.options)

    def words(self, batch: Batch, level: str = "word") -> BatchOfWords:
        """Return the soft alignments of a whole batch at the level 'word' or 'piece'."""
        return self.words_of(list(self.align(batch)), level)

    def words_of(self, pairs: Sequence[AlignedPair], level: str = "word") -> BatchOfWords:
        """Return what decides for many pairs at once."""
        targets, sources = (
            [side.at(level) for side in sides] for sides in zip(*((p.target, p.source) for p in pairs), strict=True)
        )
        found = [
            to_words_of_batch([pair.steps[reading.place] for pair in pairs], targets, sources, reading.step)
            for reading in self.expert.readings
        ]
        soft, null = self.expert.combine([(one.soft, one.null) for one in found])
        return BatchOfWords(soft, null, found[0].sizes)

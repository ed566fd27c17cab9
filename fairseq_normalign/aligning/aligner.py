"""Batches in, aligned sentence pairs out: one way that serves fairseq's commands and ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..alignment.decide import Link, argmax_links
from ..alignment.merge_batch import BatchOfWords, to_words_of_batch
from ..alignment.readings import EACH, Place, Reading
from ..alignment.steps_to_words import to_words
from ..hosts.protocol import Batch, HostModel
from ..text.vocabulary import Sentence
from .options import AlignmentOptions
from .reader import Reader


@dataclass(frozen=True)
class AlignedPair:
    """A sentence pair and what was read of it."""

    source: Sentence
    target: Sentence
    steps: Mapping[Place, np.ndarray]
    """[T + 1 decoder steps, S source positions] for each place that was read, [H, T + 1, S] for every head."""
    reading: Reading
    """The one that decides."""
    null: str

    def soft(self, level: str = "word", layer: int | None = None) -> np.ndarray:
        """Return [target, source] at the level 'word' or 'piece', of the reading that decides or of another layer."""
        return self._at(level, layer)[0]

    def links(self, level: str = "word", layer: int | None = None) -> list[Link]:
        """Return the links of the reading that decides, or of another layer that was read."""
        soft, nothing = self._at(level, layer)
        return argmax_links(soft, null=nothing, policy=self.null)

    @property
    def layers(self) -> np.ndarray:
        """What the method read of every layer: [layers, T + 1, S]."""
        return np.stack([self.steps[place] for place in self._places(self.reading.head)])

    @property
    def heads(self) -> np.ndarray:
        """What the method read of every head of every layer: [layers, H, T + 1, S]."""
        return np.stack([self.steps[place] for place in self._places(EACH)])

    def _places(self, head: int | None) -> list[Place]:
        return sorted(place for place in self.steps if place.head == head)

    def _at(self, level: str, layer: int | None) -> tuple[np.ndarray, np.ndarray]:
        place = self.reading.place if layer is None else replace(self.reading, layer=layer).place
        return to_words(self.steps[place], self.target.at(level), self.source.at(level), self.reading.setting)


class Aligner:
    """Aligns batches with one model or an ensemble."""

    def __init__(self, models: Sequence[HostModel], options: AlignmentOptions) -> None:
        self.options = options
        self.reader = Reader(models, check=options.check)
        self.reading = options.reading(self.reader.layers)

    def read_at(self, layer: int, setting: str) -> None:
        """From now on read this 0-based layer in this setting."""
        self.options = replace(self.options, layer=layer + 1, setting=setting)
        self.reading = self.options.reading(self.reader.layers)

    def align(self, batch: Batch, *, every_layer: bool = False, heads: bool = False) -> Iterator[AlignedPair]:
        """Align the targets of a batch, in their order; with ``every_layer`` the decoder runs to its top."""
        places = [self.reading.place]
        if every_layer:
            every = self.reader.places(self.reading.method)
            places += [replace(place, head=self.reading.head) for place in every]
        if heads:
            places += self.reader.places(self.reading.method, heads=True, whole=False)
        for (source, target), steps in zip(batch.sentences, self.reader.read(batch, places), strict=True):
            yield AlignedPair(source, target, steps, self.reading, self.options.null)

    def words(self, batch: Batch, level: str = "word") -> BatchOfWords:
        """Return the soft alignments of a whole batch at the level 'word' or 'piece'."""
        return self.words_of(list(self.align(batch)), level)

    def words_of(self, pairs: Sequence[AlignedPair], level: str = "word") -> BatchOfWords:
        """Return the soft alignments of the readings that decide, of many pairs at once."""
        return to_words_of_batch(
            [pair.steps[pair.reading.place] for pair in pairs],
            [pair.target.at(level) for pair in pairs],
            [pair.source.at(level) for pair in pairs],
            self.reading.setting,
        )

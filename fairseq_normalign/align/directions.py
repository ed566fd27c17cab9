"""A bitext through a model: lines in, word alignments out, a window at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..hosts.protocol import EMPTY, TOO_LONG, Batch, HostModel, LoadedModel, Pair
from ..jobs import TextPair
from ..links.decide import Link, decide, normalized
from ..links.pieces import Span
from ..links.words import BatchOfWords
from ..text.encoding import batches_by_length
from .aligner import AlignedPair, Aligner


@dataclass
class PairAlignment:
    """What a model says of one pair; without links where it was left unaligned."""

    links: list[Link] = field(default_factory=list)
    """(source, target), 0-based, sorted."""
    confidence: list[float] = field(default_factory=list)
    """One number per link: the share of the source word in the row of the target word."""
    soft: np.ndarray | None = None
    """[target, source], rows adding up to one; kept only where it is asked for."""
    skipped: str | None = None
    """EMPTY or TOO_LONG."""
    read: AlignedPair | None = None
    """Everything that was read, of every layer; kept only where it is asked for."""
    lines: Pair | None = None
    """Both sides as the forward model reads them, with the places of their words; None where they were skipped."""
    directions: tuple[np.ndarray, ...] = ()
    """The soft alignments that were combined, [target, source] and [source, target]; kept where ``soft`` is."""


@dataclass(frozen=True)
class Keep:
    """What is wanted beside links and their confidence."""

    soft: bool = False
    layers: bool = False
    """Every layer of every pair: costs the whole decoder, and memory."""
    read: bool = False
    """What was read of every pair."""


NOTHING = Keep()

Placed = tuple[str, Sequence[Span]]
"""A line and the places of its words."""

Votes = Sequence[Sequence[Link]]
"""The links of another aligner for one pair, (source, target): of one direction, or forward and backward."""


class Batches(Protocol):
    """Makes batches of encoded pairs: the part of :class:`fairseq_normalign.hosts.protocol.LoadedModel` needed here."""

    def batch(self, pairs: Sequence[Pair], names: Sequence[str] = ()) -> Batch:
        """Return encoded pairs as one batch, on the model's device."""
        ...


class EncodedAligner:
    """A model (or an ensemble) that aligns encoded pairs in batches by length."""

    def __init__(self, aligner: Aligner, host: Batches, *, max_tokens: int = 4000, level: str = "word") -> None:
        self.aligner = aligner
        self.host = host
        self.max_tokens = max_tokens
        self.level = level
        self.longest = _max_positions(aligner)

    @property
    def models(self) -> list[HostModel]:
        """The models of the ensemble."""
        return self.aligner.reader.models

    def checked(self, pair: Pair) -> Pair | str:
        """Return the pair, or why it cannot be aligned."""
        if not all(line.sentence.by_word.words for line in pair):
            return EMPTY
        if len(pair[0]) > self.longest[0] or len(pair[1]) + 1 > self.longest[1]:
            return TOO_LONG
        return pair

    def batches(self, encoded: Sequence[Pair | str], *, first: int = 0) -> Iterator[tuple[list[int], Batch]]:
        """Return what can be aligned in batches, each with the positions of its pairs; names count from ``first``."""
        places = [place for place, pair in enumerate(encoded) if not isinstance(pair, str)]
        pairs: list[Pair] = [pair for pair in encoded if not isinstance(pair, str)]
        for chosen in batches_by_length([(len(source), len(target) + 1) for source, target in pairs], self.max_tokens):
            names = [str(first + places[number] + 1) for number in chosen]
            yield [places[number] for number in chosen], self.host.batch([pairs[number] for number in chosen], names)

    def align(
        self,
        encoded: Sequence[Pair | str],
        *,
        keep: Keep = NOTHING,
        first: int = 0,
        decision: str | None = None,
        done: Callable[[int], object] = lambda count: None,
    ) -> list[PairAlignment]:
        """Align encoded pairs, in their order, the first of them number ``first`` of the bitext.

        ``decision``: how links are decided, if not as the options say. ``done`` is told how many after each batch.
        """
        results = [PairAlignment(skipped=pair if isinstance(pair, str) else None) for pair in encoded]
        for places, batch in self.batches(encoded, first=first):
            read = list(self.aligner.align(batch, every_layer=keep.layers)) if keep.layers or keep.read else []
            words = self.aligner.words_of(read, self.level) if read else self.aligner.words(batch, self.level)
            for place, result in zip(places, self._decide(words, keep.soft, decision), strict=True):
                results[place] = result
            for place, pair in zip(places, read, strict=False):
                results[place].read = pair
            done(len(places))
        return results

    def _decide(self, words: BatchOfWords, soft: bool, decision: str | None) -> Iterator[PairAlignment]:
        options = self.aligner.options
        usual, floor = options.decision_for(self.aligner.expert)
        if (decision or usual) == "argmax":
            yield from self._argmax(words, soft)
            return
        for number in range(len(words.sizes)):
            one = words.of(number)
            null = words.null[number, : len(one)]
            links, shares = decide(one, decision or usual, null=null, policy=options.null, floor=floor)
            confidence = [float(shares[target, source]) for source, target in links]
            yield PairAlignment(links, confidence, normalized(one) if soft else None)

    def _argmax(self, words: BatchOfWords, soft: bool) -> Iterator[PairAlignment]:
        best = words.best(self.aligner.options.null)
        share = words.confidence(best)
        for number, (sources, shares) in enumerate(zip(best.tolist(), share.tolist(), strict=True)):
            linked = sorted((source, target, shares[target]) for target, source in enumerate(sources) if source >= 0)
            yield PairAlignment(
                links=[(source, target) for source, target, _ in linked],
                confidence=[value for _, _, value in linked],
                soft=normalized(words.of(number)) if soft else None,
            )


class Direction(EncodedAligner):
    """A model with its text: aligns lines."""

    host: LoadedModel

    def __init__(self, aligner: Aligner, host: LoadedModel, *, max_tokens: int = 4000, level: str = "word") -> None:
        super().__init__(aligner, host, max_tokens=max_tokens, level=level)

    @contextlib.contextmanager
    def uncounted(self) -> Iterator[None]:
        """While this lasts, lines are encoded without being counted: they are looked at before or again."""
        before = [(side, side.seen, side.unknown) for side in (self.host.source, self.host.target)]
        try:
            yield
        finally:
            for side, seen, unknown in before:
                side.seen, side.unknown = seen, unknown

    def encode(self, pairs: Sequence[TextPair]) -> list[Pair | str]:
        """Return each pair as the model reads it, or why it cannot be aligned."""
        return [self.checked(self.lines(pair)) for pair in pairs]

    def lines(self, pair: TextPair) -> Pair:
        """Return both sides of a pair as the model reads them."""
        return self.host.source(pair[0]), self.host.target(pair[1])


def _max_positions(aligner: Aligner) -> tuple[int, int]:
    """Return how many positions every model of the ensemble has, on the source and on the target side."""
    sides = [model.max_positions for model in aligner.reader.models]
    return min(side[0] for side in sides), min(side[1] for side in sides)

"""A bitext through a model: lines in, word alignments out, a window at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..alignment.decide import Link
from ..alignment.decide_links import agreed_links, decide_agreed, decide_links, decided_by_rows
from ..alignment.experts import AGREEMENT_FLOOR, VOTE, agree, vote, with_posterior
from ..alignment.merge_batch import BatchOfWords
from ..alignment.pieces import Span
from ..alignment.steps_to_words import normalized
from ..alignment.symmetrize import SOFT_SYMMETRIZATIONS, symmetrize
from ..errors import NormalignError
from ..hosts.protocol import EMPTY, TOO_LONG, Batch, EncodedPair, HostModel, LoadedModel
from ..text.batching import batches_by_length
from .aligner import AlignedPair, Aligner
from .bitext import Pair


@dataclass
class PairAlignment:
    """What a model says of one pair; without links where it was left unaligned."""

    links: list[Link] = field(default_factory=list)
    """(source, target), 0-based, sorted."""
    confidence: list[float] = field(default_factory=list)
    """One number a link: the share of the source word in the row of the target word."""
    soft: np.ndarray | None = None
    """[target, source], rows adding up to one; kept only where it is asked for."""
    skipped: str | None = None
    """EMPTY or TOO_LONG."""
    read: AlignedPair | None = None
    """Everything that was read, of every layer; kept only where it is asked for."""
    lines: EncodedPair | None = None
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

Posteriors = Callable[[Sequence[str], Sequence[str]], tuple[np.ndarray, np.ndarray]]
"""Source and target words -> how probable each pair of words is in both directions: [T, S] and [S, T]."""

Placed = tuple[str, Sequence[Span]]
"""A line and the places of its words."""

Votes = Sequence[Sequence[Link]]
"""The links of another aligner for one pair, (source, target): of one direction, or forward and backward."""


class Batches(Protocol):
    """Makes batches of encoded pairs: the part of :class:`fairseq_normalign.hosts.protocol.LoadedModel` needed here."""

    def batch(self, pairs: Sequence[EncodedPair], names: Sequence[str] = ()) -> Batch:
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

    def checked(self, pair: EncodedPair) -> EncodedPair | str:
        """Return the pair, or why it cannot be aligned."""
        if not all(line.sentence.by_word.words for line in pair):
            return EMPTY
        if len(pair[0]) > self.longest[0] or len(pair[1]) + 1 > self.longest[1]:
            return TOO_LONG
        return pair

    def batches(self, encoded: Sequence[EncodedPair | str], *, first: int = 0) -> Iterator[tuple[list[int], Batch]]:
        """Return what can be aligned in batches, each with the positions of its pairs; names count from ``first``."""
        places = [place for place, pair in enumerate(encoded) if not isinstance(pair, str)]
        pairs: list[EncodedPair] = [pair for pair in encoded if not isinstance(pair, str)]
        for chosen in batches_by_length([(len(source), len(target) + 1) for source, target in pairs], self.max_tokens):
            names = [str(first + places[number] + 1) for number in chosen]
            yield [places[number] for number in chosen], self.host.batch([pairs[number] for number in chosen], names)

    def align(
        self,
        encoded: Sequence[EncodedPair | str],
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
            links = decide_links(one, decision or usual, null=null, policy=options.null, floor=floor)
            shares = normalized(one) if decided_by_rows(decision or usual) else agree(one)
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

    def encode(self, pairs: Sequence[Pair]) -> list[EncodedPair | str]:
        """Return each pair as the model reads it, or why it cannot be aligned."""
        return [self.checked(self.lines(pair)) for pair in pairs]

    def lines(self, pair: Pair) -> EncodedPair:
        """Return both sides of a pair as the model reads them."""
        return self.host.source(pair[0]), self.host.target(pair[1])


def _max_positions(aligner: Aligner) -> tuple[int, int]:
    """Return how many positions every model of the ensemble has, on the source and on the target side."""
    sides = [model.max_positions for model in aligner.reader.models]
    return min(side[0] for side in sides), min(side[1] for side in sides)


class BitextAligner:
    """Aligns windows in one direction, or in both with what they say combined."""

    def __init__(
        self,
        forward: Direction,
        backward: Direction | None = None,
        combine: str = "grow-diag",
        *,
        floor: float = AGREEMENT_FLOOR,
        vote: float = VOTE,
        posteriors: Posteriors | None = None,
    ) -> None:
        """``backward``: the model of the other direction; ``combine``: a name of :mod:`..alignment.symmetrize`.

        ``floor``: the agreement that a link must exceed where soft alignments are multiplied; ``vote``: how many times
        the share of a word counts that another aligner linked; ``posteriors``: a statistical aligner, asked for the
        words of each pair, as one more expert.
        """
        self.forward = forward
        self.backward = backward
        self.combine = combine
        self.floor = floor
        self.vote = vote
        self.posteriors = posteriors

    @property
    def _given_decision(self) -> str | None:
        """How links are decided where that was chosen: by what both directions agree on, or in each of them."""
        return self.forward.aligner.options.decision

    def align(
        self,
        pairs: Sequence[Pair],
        *,
        keep: Keep = NOTHING,
        first: int = 0,
        votes: Sequence[Votes] = (),
        done: Callable[[int], object] = lambda count: None,
    ) -> list[PairAlignment]:
        """Align the pairs of a window, in their order, the first of them number ``first`` of the bitext.

        ``votes``: for each pair the links of another aligner, of one direction or of both.
        """
        forward, backward = self.encode(pairs)
        return self.align_sides(forward, backward, keep=keep, first=first, votes=votes, done=done)

    def align_encoded(self, pairs: Sequence[EncodedPair], *, keep: Keep = NOTHING) -> list[PairAlignment]:
        """Align pairs as the forward model reads them; the backward model reads the same words of their text."""
        checked = [self.forward.checked(pair) for pair in pairs]
        if self.backward is None:
            return self.align_sides(checked, None, keep=keep)
        reads = self.backward.host.source, self.backward.host.target
        backward = [
            self.backward.checked((reads[0](target.text, target.places), reads[1](source.text, source.places)))
            for source, target in pairs
        ]
        for place, (one, other) in enumerate(zip(checked, backward, strict=True)):
            if _differ(one, other, self.forward.level):
                backward[place] = DIFFERENT
        return self.align_sides(*_both_or_none(checked, backward), keep=keep)

    def align_placed(self, pairs: Sequence[tuple[Placed, Placed]]) -> list[PairAlignment]:
        """Align pairs of lines of which the places of the words are known: links count those."""
        host = self.forward.host
        encoded = [(host.source(*source), host.target(*target)) for source, target in pairs]
        for given, made in zip(pairs, encoded, strict=True):
            for (text, places), line in zip(given, made, strict=True):
                if tuple(places) != line.places:
                    raise NormalignError(
                        f"'{text[:60]}' has {len(places)} words, and {len(line.places)} to the model; is it in pieces, "
                        "or does it begin with a language tag? Give natural text, and codes that make pieces of it"
                    )
        return self.align_encoded(encoded)

    def align_sides(
        self,
        forward_pairs: list[EncodedPair | str],
        backward_pairs: list[EncodedPair | str] | None,
        *,
        keep: Keep = NOTHING,
        first: int = 0,
        votes: Sequence[Votes] = (),
        done: Callable[[int], object] = lambda count: None,
    ) -> list[PairAlignment]:
        """Align pairs as :meth:`encode` returns them; the rest as in :meth:`align`."""
        is_soft = self.backward is None or self.combine in SOFT_SYMMETRIZATIONS
        if self.backward is None and self.posteriors is None and not votes:
            return _with_lines(self.forward.align(forward_pairs, keep=keep, first=first, done=done), forward_pairs)
        how: Any = {"first": first, "decision": "argmax" if is_soft else self._given_decision or "argmax"}
        soft = is_soft or keep.soft
        mine = Keep(soft=soft, layers=keep.layers, read=keep.read)
        found = self.forward.align(forward_pairs, keep=mine, done=done, **how)
        reverse: Sequence[PairAlignment | None] = [None] * len(found)
        if self.backward is not None and backward_pairs is not None:
            reverse = self.backward.align(backward_pairs, keep=Keep(soft=soft), **how)
        results = []
        for number, (pair, one, other) in enumerate(zip(forward_pairs, found, reverse, strict=True)):
            if one.skipped is not None:
                results.append(PairAlignment(skipped=one.skipped))
            elif is_soft:
                results.append(self._agreed(pair, one, other, votes[number] if votes else None, keep))
            else:
                assert other is not None
                results.append(self._combined(one, other))
            results[-1].read = one.read
            if keep.soft:
                results[-1].directions = tuple(side.soft for side in (one, other) if side and side.soft is not None)
        return _with_lines(results, forward_pairs)

    def encode(self, pairs: Sequence[Pair]) -> tuple[list[EncodedPair | str], list[EncodedPair | str] | None]:
        """Return the pairs as each direction reads them; what one of them cannot align, neither does."""
        forward = self.forward.encode(pairs)
        if self.backward is None:
            return forward, None
        backward = self.backward.encode([(target, source) for source, target in pairs])
        for one, other, (line, _) in zip(forward, backward, pairs, strict=True):
            if _differ(one, other, self.forward.level):
                raise NormalignError(
                    f"'{line[:60]}': the models of the two directions split this pair into different "
                    f"{self.forward.level}s, so their links cannot be combined; align each direction by itself"
                )
        return _both_or_none(forward, backward)

    def _agreed(
        self,
        pair: EncodedPair | str,
        forward: PairAlignment,
        backward: PairAlignment | None,
        votes: Votes | None,
        keep: Keep,
    ) -> PairAlignment:
        """The confidence of a link is the geometric mean of its shares in the two directions."""
        sides = [_of_linked(one) for one in (forward, backward) if one is not None]
        if self.posteriors is not None:
            assert not isinstance(pair, str)
            learned = self.posteriors(*(line.sentence.at(self.forward.level).words for line in pair))
            sides = [with_posterior(side, one) for side, one in zip(sides, learned, strict=False)]
        if votes is not None:
            links = votes[0], [(target, source) for source, target in votes[-1]]
            sides = [vote(side, one, self.vote) for side, one in zip(sides, links, strict=False)]
        if backward is None:
            decision, floor = self.forward.aligner.options.decision_for(self.forward.aligner.expert)
            soft = sides[0]
            found = decide_links(soft, decision, floor=floor)
            shares = normalized(soft) if decided_by_rows(decision) else agree(soft)
        elif self._given_decision is not None:
            soft = shares = agree(sides[0], sides[1])
            found = decide_agreed(shares, self._given_decision, self.floor)
        else:
            found, shares = agreed_links(sides[0], sides[1], self.combine, self.floor)
            soft = shares
        confidence = [float(shares[target, source]) for source, target in found]
        return PairAlignment(found, confidence, soft if keep.soft else None)

    def _combined(self, forward: PairAlignment, backward: PairAlignment) -> PairAlignment:
        """The confidence of a link is the mean of what the two directions give it, nothing where one lacks it."""
        reverse = [(source, target) for target, source in backward.links]
        links = symmetrize(forward.links, reverse, self.combine)
        first = dict(zip(forward.links, forward.confidence, strict=True))
        second = dict(zip(reverse, backward.confidence, strict=True))
        confidence = [(first.get(link, 0.0) + second.get(link, 0.0)) / 2 for link in links]
        return PairAlignment(links=links, confidence=confidence, skipped=forward.skipped)


DIFFERENT = "different words"
"""Why a translation is left unaligned: the model of the other direction splits it into other words."""


def _differ(one: EncodedPair | str, other: EncodedPair | str, level: str) -> bool:
    """Whether the two directions have other words or pieces of a pair."""
    if isinstance(one, str) or isinstance(other, str):
        return False
    return [len(line.sentence.at(level).words) for line in one] != [
        len(line.sentence.at(level).words) for line in reversed(other)
    ]


def _with_lines(results: list[PairAlignment], pairs: Sequence[EncodedPair | str]) -> list[PairAlignment]:
    for result, pair in zip(results, pairs, strict=True):
        result.lines = None if isinstance(pair, str) else pair
    return results


def _both_or_none(
    forward: list[EncodedPair | str], backward: list[EncodedPair | str]
) -> tuple[list[EncodedPair | str], list[EncodedPair | str]]:
    """What one direction cannot align, neither does."""
    for place, (one, other) in enumerate(zip(forward, backward, strict=True)):
        if isinstance(one, str) or isinstance(other, str):
            forward[place] = backward[place] = one if isinstance(one, str) else str(other)
    return forward, backward


def _of_linked(pair: PairAlignment) -> np.ndarray:
    """[target, source]: the soft alignment, with nothing for target words that the direction leaves unaligned."""
    assert pair.soft is not None
    linked = np.zeros((len(pair.soft), 1), dtype=bool)
    linked[[target for _, target in pair.links]] = True
    return np.where(linked, pair.soft, 0)

"""A bitext through the models of one direction or of both, with what they say combined."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..errors import NormalignError
from ..hosts.protocol import Pair
from ..jobs import TextPair
from ..links.decide import decide
from ..links.experts import AGREEMENT_FLOOR, VOTE, Expert, vote, with_posterior
from ..links.symmetrize import SOFT_SYMMETRIZATIONS, symmetrize
from .directions import NOTHING, Direction, Keep, PairAlignment, Placed, Votes


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
    ) -> None:
        """``backward``: the model of the other direction; ``combine``: a name of :mod:`..links.symmetrize`.

        ``floor``: the agreement that a link must exceed where soft alignments are multiplied; ``vote``: how many times
        the share of a word counts that another aligner linked.
        """
        self.forward = forward
        self.backward = backward
        self.combine = combine
        self.floor = floor
        self.vote = vote

    @property
    def _given_decision(self) -> str | None:
        """How links are decided where that was chosen: by what both directions agree on, or in each of them."""
        return self.forward.aligner.options.decision

    def align(
        self,
        pairs: Sequence[TextPair],
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

    def align_encoded(self, pairs: Sequence[Pair], *, keep: Keep = NOTHING) -> list[PairAlignment]:
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
        forward_pairs: list[Pair | str],
        backward_pairs: list[Pair | str] | None,
        *,
        keep: Keep = NOTHING,
        first: int = 0,
        votes: Sequence[Votes] = (),
        posteriors: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
        done: Callable[[int], object] = lambda count: None,
    ) -> list[PairAlignment]:
        """Align pairs as :meth:`encode` returns them; the rest as in :meth:`align`.

        ``posteriors``: of each pair, how probable a statistical aligner finds each pair of words: [T, S] and [S, T].
        """
        is_soft = self.backward is None or self.combine in SOFT_SYMMETRIZATIONS
        if self.backward is None and posteriors is None and not votes:
            return _with_lines(self.forward.align(forward_pairs, keep=keep, first=first, done=done), forward_pairs)
        decision = "argmax" if is_soft else self._given_decision or "argmax"
        soft = is_soft or keep.soft
        mine = Keep(soft=soft, layers=keep.layers, read=keep.read)
        found = self.forward.align(forward_pairs, keep=mine, first=first, decision=decision, done=done)
        reverse: Sequence[PairAlignment | None] = [None] * len(found)
        if self.backward is not None and backward_pairs is not None:
            reverse = self.backward.align(backward_pairs, keep=Keep(soft=soft), first=first, decision=decision)
        results = []
        for number, (one, other) in enumerate(zip(found, reverse, strict=True)):
            if one.skipped is not None:
                results.append(PairAlignment(skipped=one.skipped))
            elif is_soft:
                learned = posteriors[number] if posteriors is not None else None
                results.append(self._agreed(one, other, votes[number] if votes else None, learned, keep))
            else:
                assert other is not None
                results.append(self._combined(one, other))
            results[-1].read = one.read
            if keep.soft:
                results[-1].directions = tuple(side.soft for side in (one, other) if side and side.soft is not None)
        return _with_lines(results, forward_pairs)

    def read_with(self, experts: Sequence[Expert | None]) -> None:
        """Decide by these readings: of the forward model and, if there are two models, of the other one.

        None leaves a direction as it is.
        """
        for direction, expert in zip((self.forward, self.backward), experts, strict=False):
            if direction is not None and expert is not None:
                options = direction.aligner.options
                direction.aligner.read_with(options.checked(expert, direction.aligner.reader.layers))

    @contextlib.contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        """Count, while this lasts, the pieces of each side of the forward model, and those that it does not know."""
        counts: Counter[str] = Counter()
        sides = {"source": self.forward.host.source, "target": self.forward.host.target}
        before = {name: (side.seen, side.unknown) for name, side in sides.items()}
        yield counts
        for name, side in sides.items():
            counts[f"{name} pieces"] += side.seen - before[name][0]
            counts[f"unknown {name} pieces"] += side.unknown - before[name][1]

    @contextlib.contextmanager
    def uncounted(self) -> Iterator[None]:
        """While this lasts, neither direction counts the lines that it encodes."""
        with contextlib.ExitStack() as stack:
            for direction in filter(None, (self.forward, self.backward)):
                stack.enter_context(direction.uncounted())
            yield

    def encode(self, pairs: Sequence[TextPair]) -> tuple[list[Pair | str], list[Pair | str] | None]:
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
        forward: PairAlignment,
        backward: PairAlignment | None,
        votes: Votes | None,
        learned: tuple[np.ndarray, np.ndarray] | None,
        keep: Keep,
    ) -> PairAlignment:
        """The confidence of a link is the geometric mean of its shares in the two directions."""
        sides = [_of_linked(one) for one in (forward, backward) if one is not None]
        if learned is not None:
            sides = [with_posterior(side, one) for side, one in zip(sides, learned, strict=False)]
        if votes is not None:
            links = votes[0], [(target, source) for source, target in votes[-1]]
            sides = [vote(side, one, self.vote) for side, one in zip(sides, links, strict=False)]
        if backward is None:
            decision, floor = self.forward.aligner.options.decision_for(self.forward.aligner.expert)
            soft = sides[0]
            found, shares = decide(soft, decision, floor=floor)
        else:
            decision = self._given_decision or self.combine
            found, shares = decide(sides[0], decision, backward=sides[1], floor=self.floor)
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


def _differ(one: Pair | str, other: Pair | str, level: str) -> bool:
    """Whether the two directions have other words or pieces of a pair."""
    if isinstance(one, str) or isinstance(other, str):
        return False
    return [len(line.sentence.at(level).words) for line in one] != [
        len(line.sentence.at(level).words) for line in reversed(other)
    ]


def _with_lines(results: list[PairAlignment], pairs: Sequence[Pair | str]) -> list[PairAlignment]:
    for result, pair in zip(results, pairs, strict=True):
        result.lines = None if isinstance(pair, str) else pair
    return results


def _both_or_none(forward: list[Pair | str], backward: list[Pair | str]) -> tuple[list[Pair | str], list[Pair | str]]:
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

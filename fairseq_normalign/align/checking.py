"""Every pair of a bitext checked: whether its target translates its source, by what the models compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from ..analysis.translation_check import PairCheck, PairEvidence, SideLogProbs, check_pair
from ..hosts.protocol import Batch, HostModel, Pair
from ..jobs import Count, Part, TextPair, Window, nobody
from ..links.decide import agree
from ..links.experts import Expert
from ..methods.rollout import Rollout
from .both_directions import BitextAligner
from .directions import Direction, EncodedAligner, Keep, PairAlignment

LOGITS_AT_ONCE = 2**26
"""Numbers in the output layer's result [N, T + 1, V] that exist at the same time."""

Checked = PairCheck | str
"""What was found of a pair, or why it was skipped."""

Lines = Callable[[int, Checked], str]
"""The number of a pair, from 0, and what was found of it -> one line of the output."""


class Checker:
    """Checks pairs with the models of one direction or of both."""

    def __init__(self, aligner: BitextAligner, *, full: bool = False) -> None:
        """``full``: also follow how much of every target word comes from the source, which costs several times more."""
        self.aligner = aligner
        self.full = full

    def check(
        self, pairs: Sequence[TextPair], *, first: int = 0, done: Callable[[int], object] = lambda count: None
    ) -> list[Checked]:
        """Check pairs, in their order, the first of them number ``first`` of the bitext; -> or why one was skipped."""
        return self.check_sides(*self.aligner.encode(pairs), first=first, done=done)

    def check_sides(
        self,
        forward: list[Pair | str],
        backward: list[Pair | str] | None,
        *,
        first: int = 0,
        done: Callable[[int], object] = lambda count: None,
    ) -> list[Checked]:
        """Check pairs as each direction reads them; the rest as in :meth:`check`."""
        found = self.aligner.align_sides(forward, backward, keep=Keep(soft=True), first=first, done=done)
        gains = _log_probs(self.aligner.forward, forward, first)
        other = None if self.aligner.backward is None else _log_probs(self.aligner.backward, backward or [], first)
        shares = source_shares(self.aligner.forward, forward, first) if self.full else {}
        results: list[Checked] = []
        for number, (pair, result) in enumerate(zip(forward, found, strict=True)):
            if isinstance(pair, str) or result.skipped is not None:
                results.append(result.skipped or str(pair))
                continue
            evidence = PairEvidence(
                source=pair[0].given_words,
                target=pair[1].given_words,
                agreed=_agreed(result, both=other is not None),
                links=result.links,
                forward=gains[number],
                backward=None if other is None else other[number],
                source_shares=shares.get(number),
            )
            results.append(check_pair(evidence))
        return results


def _agreed(result: PairAlignment, *, both: bool) -> np.ndarray:
    """[T, S]: how much the directions agree, however links are decided; of one, its rows and columns."""
    if both and result.soft is not None:
        return result.soft
    return agree(*result.directions) if both else agree(result.soft)  # type: ignore[arg-type]


def check_window(
    aligner: BitextAligner,
    window: Window,
    readings: Sequence[Expert | None],
    full: bool,
    line: Lines,
    *,
    done: Count = nobody,
) -> Part:
    """Check a window with these readings; ``record`` holds the score of each pair as ``line`` writes it."""
    aligner.read_with(readings)
    with aligner.counting() as counts:
        encoded = aligner.encode(window.pairs)
    found = Checker(aligner, full=full).check_sides(*encoded, first=window.first, done=done)
    counts.update(one for one in found if isinstance(one, str))
    lines = [line(number, one) for number, one in enumerate(found, start=window.first)]
    return Part(["".join(lines)], counts, record=[None if isinstance(one, str) else one.score for one in found])


def _log_probs(direction: Direction, encoded: Sequence[Pair | str], first: int) -> dict[int, SideLogProbs]:
    """Return how probable the target of each pair that can be read is for a model: with its source and without one."""
    given, blind = (
        piece_log_probs(direction, pairs, first) for pairs in (encoded, with_empty_source(direction, encoded))
    )
    found: dict[int, SideLogProbs] = {}
    for place, steps in given.items():
        spans = encoded[place][1].sentence.by_word.spans  # type: ignore[union-attr]
        words, words_alone = (
            np.array([one[start:stop].sum() for start, stop in spans]) for one in (steps, blind[place])
        )
        found[place] = SideLogProbs(words, words_alone, float(steps.sum()), float(blind[place].sum()), len(steps))
    return found


def with_empty_source(direction: Direction, encoded: Sequence[Pair | str]) -> list[Pair | str]:
    """Return the pairs with nothing on the source side: what the model expects of a target before it sees a source."""
    empty = direction.host.source("")
    return [pair if isinstance(pair, str) else (empty, pair[1]) for pair in encoded]


def piece_log_probs(direction: Direction, encoded: Sequence[Pair | str], first: int) -> dict[int, np.ndarray]:
    """Return [T + 1] log-probabilities of pieces and end for each pair that can be read; the mean of an ensemble's."""
    found: dict[int, np.ndarray] = {}
    pieces = len(direction.host.inventories()[1].symbols)
    at_once = max(1, min(direction.max_tokens, LOGITS_AT_ONCE // pieces))
    smaller = EncodedAligner(direction.aligner, direction.host, max_tokens=at_once)
    for places, batch in smaller.batches(encoded, first=first):
        steps = np.mean([_steps(model, batch) for model in direction.models], axis=0)
        for row, place in enumerate(places):
            found[place] = steps[row, : len(batch.targets[row]) + 1]
    return found


def _steps(model: HostModel, batch: Batch) -> np.ndarray:
    """[N, T + 1]: the log-probability of what each step has to output."""
    with torch.no_grad(), model.view(batch) as view:
        steps = view.log_probs(view.features(view.source_embeddings))
    found: np.ndarray = steps[:, batch.first_step :].double().cpu().numpy()
    return found


def source_shares(direction: Direction, encoded: Sequence[Pair | str], first: int) -> dict[int, np.ndarray]:
    """Return for each target word the share of the source in what the model computed before it said the word."""
    found: dict[int, np.ndarray] = {}
    for places, batch in direction.batches(encoded, first=first):
        shares = np.mean([_reach(model, batch) for model in direction.models], axis=0)
        for row, place in enumerate(places):
            spans = batch.sentences[row][1].by_word.spans
            found[place] = np.array([shares[row, start:stop].mean() for start, stop in spans])
    return found


def _reach(model: HostModel, batch: Batch) -> np.ndarray:
    """[N, T + 1]: the source's part of the top layer, by rollout; the rest is the target prefix's."""
    with torch.no_grad(), model.view(batch) as view:
        reach = Rollout().reach(view.record()).source[-1].sum(-1)
    found: np.ndarray = reach[:, batch.first_step :].double().cpu().numpy()
    return found

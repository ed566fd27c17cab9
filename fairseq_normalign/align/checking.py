"""Every pair of a bitext checked: whether its target translates its source, by what the models compute."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..analysis.translation_check import PairCheck, PairEvidence, SideLogProbs, check_pair
from ..errors import NormalignError
from ..files import open_output
from ..hosts.protocol import NO_MEMORY, Batch, Pair
from ..jobs import Bitext, Count, Part, Window, nobody
from ..links.decide import agree
from ..links.experts import Expert
from ..links.pieces import Sentence
from ..methods.records import ModelView
from ..methods.rollout import Rollout
from .aligner import Aligner, Encoded
from .model import Model, numbers_from

LOGITS_AT_ONCE = 2**26
"""Numbers in the output layer's result [N, T + 1, V] that exist at the same time."""

Checked = PairCheck | str
"""What was found of a pair, or why it was skipped."""

Lines = Callable[[int, Checked], str]
"""The number of a pair, from 0, and what was found of it -> one line of the output."""


def check(
    aligner: Aligner, encoded: Encoded, *, full: bool = False, first: int = 0, done: Count = nobody
) -> list[Checked]:
    """Check pairs, in their order, the first of them number ``first`` of the bitext.

    ``full``: also follow how much of every target word comes from the source, which costs several times more.
    """
    found = aligner.align(encoded, soft=True, first=first, done=done)
    gains = _log_probs(aligner.forward, encoded.forward, first)
    other = None if aligner.backward is None else _log_probs(aligner.backward, encoded.backward or [], first)
    shares = source_shares(aligner.forward, encoded.forward, first) if full else {}
    results: list[Checked] = []
    for number, (pair, result) in enumerate(zip(encoded.lines, found, strict=True)):
        lacks = number not in gains or (other is not None and number not in other) or (full and number not in shares)
        if result.skipped is not None or lacks:
            results.append(result.skipped or NO_MEMORY)
            continue
        agreed = result.soft if other is not None and result.soft is not None else agree(*result.directions)
        evidence = PairEvidence(
            source=pair[0].given_words,
            target=pair[1].given_words,
            agreed=agreed,
            links=result.links,
            forward=gains[number],
            backward=None if other is None else other[number],
            source_shares=shares.get(number),
        )
        results.append(check_pair(evidence))
    return results


def check_window(
    aligner: Aligner,
    window: Window,
    readings: Sequence[Expert | None],
    full: bool,
    line: Lines,
    *,
    done: Count = nobody,
) -> Part:
    """Check a window with these readings; ``record`` holds the score of each pair as ``line`` writes it."""
    with aligner.counting() as counts:
        encoded = aligner.encode(window.pairs)
    found = check(aligner.reading(readings), encoded, full=full, first=window.first, done=done)
    counts.update(one for one in found if isinstance(one, str))
    lines = [line(number, one) for number, one in enumerate(found, start=window.first)]
    return Part(["".join(lines)], counts, record=[None if isinstance(one, str) else one.score for one in found])


def _log_probs(direction: Model, encoded: Sequence[Pair | str], first: int) -> dict[int, SideLogProbs]:
    """Return how probable the target of each pair that can be read is for a model: with its source and without one."""
    given, alone = (
        piece_log_probs(direction, pairs, first) for pairs in (encoded, with_empty_source(direction, encoded))
    )
    found: dict[int, SideLogProbs] = {}
    for place, pair in enumerate(encoded):
        if not isinstance(pair, str) and place in given and place in alone:
            spans, both = pair[1].sentence.by_word.spans, (given[place], alone[place])
            words, words_alone = (np.array([steps[start:stop].sum() for start, stop in spans]) for steps in both)
            total, total_alone = (float(steps.sum()) for steps in both)
            found[place] = SideLogProbs(words, words_alone, total, total_alone, len(given[place]))
    return found


def with_empty_source(direction: Model, encoded: Sequence[Pair | str]) -> list[Pair | str]:
    """Return the pairs with nothing on the source side: what the model expects of a target before it sees a source."""
    empty = direction.host.source("")
    return [pair if isinstance(pair, str) else (empty, pair[1]) for pair in encoded]


def piece_log_probs(direction: Model, encoded: Sequence[Pair | str], first: int) -> dict[int, np.ndarray]:
    """Return [T + 1] log-probabilities of pieces and end for each pair that can be read; the mean of an ensemble's."""

    def log_probs(view: ModelView) -> Tensor:
        return view.log_probs(view.features(view.source_embeddings))

    pieces = len(direction.host.inventories()[1].symbols)
    at_once = max(1, min(direction.max_tokens, LOGITS_AT_ONCE // pieces))
    return {place: steps for place, steps, _ in _of_steps(direction, encoded, first, log_probs, at_once)}


def source_shares(direction: Model, encoded: Sequence[Pair | str], first: int) -> dict[int, np.ndarray]:
    """Return for each target word the share of the source in what the model computed before it said the word.

    It is the source's part of the top layer, by rollout; the rest is the target prefix's.
    """
    found: dict[int, np.ndarray] = {}
    for place, shares, target in _of_steps(
        direction, encoded, first, lambda view: Rollout().reach(view.record()).source[-1].sum(-1)
    ):
        found[place] = np.array([shares[start:stop].mean() for start, stop in target.by_word.spans])
    return found


def _of_steps(
    direction: Model,
    encoded: Sequence[Pair | str],
    first: int,
    look: Callable[[ModelView], Tensor],
    max_tokens: int | None = None,
) -> Iterator[tuple[int, np.ndarray, Sentence]]:
    """Look at each pair that can be read; yield its place, [T + 1] numbers and its target.

    ``look`` returns a number for each decoder step of a batch, [N, start + T]; those of an ensemble are averaged.
    """

    def run(batch: Batch) -> tuple[np.ndarray, Batch]:
        steps = []
        for model in direction.models:
            with torch.no_grad(), model.view(batch) as view:
                steps.append(look(view)[:, batch.first_step :].double().cpu().numpy())
        return np.mean(steps, axis=0), batch

    for places, (steps, batch) in direction.batches(encoded, run, names=numbers_from(first), max_tokens=max_tokens):
        for row, (place, (_, target)) in enumerate(zip(places, batch.sentences, strict=True)):
            yield place, steps[row, : len(batch.targets[row]) + 1], target


def best_pairs(scores: Sequence[float | None], *, share: float | None = None, least: float | None = None) -> list[bool]:
    """Return for each pair whether it is kept: those with a score of at least ``least``, or the best ``share`` of all.

    A pair without a score is never kept; of equal scores the earlier pair comes first.

    >>> best_pairs([0.2, None, 0.9, 0.2], share=0.5)
    [True, False, True, False]
    >>> best_pairs([0.2, None, 0.9, 0.2], least=0.5)
    [False, False, True, False]
    """
    known = [(-value, number) for number, value in enumerate(scores) if value is not None]
    if least is not None:
        chosen = {number for value, number in known if -value >= least}
    else:
        assert share is not None
        chosen = {number for _, number in sorted(known)[: math.floor(share * len(scores) + 1e-9)]}
    return [number in chosen for number in range(len(scores))]


def write_kept(bitext: Bitext, kept: Sequence[bool], source: str | Path, target: str | Path) -> int:
    """Write the lines of the pairs that are kept to two files; return how many there are."""
    with open_output(source) as sources, open_output(target) as targets:
        count = 0
        for number, (one, other) in enumerate(bitext.pairs()):
            if number >= len(kept):
                raise NormalignError(f"{bitext.source}: has grown since its pairs were checked; check them again")
            if kept[number]:
                sources.write(f"{one}\n")
                targets.write(f"{other}\n")
                count += 1
    return count

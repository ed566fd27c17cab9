"""Which layer and step to read, without gold. numpy only.

Two criteria decide. With one model, support by a lexicon (:mod:`.lexicon`) of the very text that is aligned: the mean
share it gives to the source words that a layer links. With models of both directions, supported agreement: the links
that both find, each counted by what the lexicon gives it, as a share of all links. Two models rarely make the same
errors, but they can: layers that only follow positions agree perfectly without aligning, and only the lexicon shows
it. The other criteria are printed beside them; on real models each of them prefers some layer that aligns badly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import NormalignError
from ..links.steps_to_words import STEPS
from .decisions import PairDecisions
from .lexicon import word_shares

RESAMPLINGS = 1000
SURE = 0.95
"""A choice is sure when at least this share of resamplings of the sentences makes it."""
FEW = 30
"""With fewer sentence pairs no choice is sure."""


@dataclass(frozen=True)
class Candidate:
    """A method, step and layer that may be chosen. The layer counts from 0."""

    method: str
    step: str
    layer: int

    def __str__(self) -> str:
        return f"{self.method} {self.step} layer {self.layer + 1}"


@dataclass(frozen=True)
class Criteria:
    """The value of each criterion for a candidate."""

    candidate: Candidate
    lexicon: float
    """Mean share that the lexicon gives to the linked source words."""
    agreement: float | None
    """2 x common links / all links with the other direction's best partner; None with one model."""
    supported: float | None
    """Agreement, each common link counted by the share that the lexicon gives it."""
    mean: float
    """Mean of what the method read, over steps and source positions."""
    peak: float
    """Mean share of the linked source word in its row."""
    coverage: float
    """Linked source words, as a share of those that could be."""


@dataclass(frozen=True)
class LayerChoice:
    """The candidate chosen, and how far to trust it."""

    candidate: Candidate
    criterion: str
    """'supported' (agreement) or 'lexicon'."""
    stability: float
    """The share of resamplings of the sentences that make the same choice."""
    sentences: int
    runner_up: Candidate | None
    doubts: tuple[str, ...]
    """Why the choice is unsure; empty when it is not."""

    @property
    def is_sure(self) -> bool:
        """Whether there is no doubt."""
        return not self.doubts


@dataclass(frozen=True)
class Verdict:
    """Each criterion of each candidate, and the choice; with two models also those of the other direction."""

    criteria: list[Criteria]
    choice: LayerChoice
    reverse_criteria: list[Criteria]
    reverse_choice: LayerChoice | None


def judge_layers(
    forward: Sequence[PairDecisions],
    backward: Sequence[PairDecisions] | None = None,
    *,
    methods: Sequence[str],
    steps: Sequence[str] = STEPS,
    seed: int = 12345,
) -> Verdict:
    """Compare each layer of ``methods`` and ``steps`` by the decisions on some pairs, and choose one.

    ``backward``: the decisions of the other direction's model on the same pairs. The choice is among all candidates.
    """
    if not forward:
        raise NormalignError("there is no sentence pair to choose a layer by")
    sides = [_Side(forward, methods, steps)]
    draws = _draws(len(forward), seed)
    if backward is None:
        choice = _choice(sides[0], _Scores(sides[0].support, sides[0].words), "lexicon", draws)
        return Verdict(sides[0].criteria(), choice, [], None)
    sides.append(_Side(backward, methods, steps))
    plain, supported = _agreement(*sides)
    choices = [_choice(side, supported, "supported", draws, axis=axis) for axis, side in enumerate(sides)]
    criteria = [side.criteria((plain.best(axis), supported.best(axis))) for axis, side in enumerate(sides)]
    return Verdict(criteria[0], choices[0], criteria[1], choices[1])


def sentence_of(choice: LayerChoice, criteria: Sequence[Criteria], option: str = "") -> str:
    """Return a sentence that says what was chosen and why, then the doubts; ``option``: how option names begin."""
    values = {one.candidate: getattr(one, choice.criterion) for one in criteria}
    chosen = choice.candidate
    by = "supported agreement of the two directions" if choice.criterion == "supported" else "support by the lexicon"
    rest = f", next {choice.runner_up} with {values[choice.runner_up]:.3f}" if choice.runner_up else ""
    chosen_by = (
        f"chosen: {option}method {chosen.method} {option}layer {chosen.layer + 1} {option}step {chosen.step}, "
        f"by {by} ({values[chosen]:.3f}{rest}); {100 * choice.stability:.0f}% of {RESAMPLINGS} resamplings of "
        f"{choice.sentences} pairs choose it"
    )
    return "\n".join([chosen_by, *(f"unsure: {doubt}" for doubt in choice.doubts)])


class _Side:
    """The candidates of one direction: K of them, N sentence pairs."""

    def __init__(self, pairs: Sequence[PairDecisions], methods: Sequence[str], steps: Sequence[str]) -> None:
        self.pairs = pairs
        self.candidates = [
            Candidate(method, step, layer)
            for method in methods
            for step in steps
            for layer in range(len(pairs[0].layers.get((method, step), ())))
        ]
        self.decided = [np.stack([pair.layers[c.method, c.step][c.layer] for c in self.candidates]) for pair in pairs]
        """N arrays [K, target words]."""
        self.shares = word_shares([(pair.source, pair.target) for pair in pairs])
        """N arrays [target words, source words]: what the lexicon says."""
        self.words = np.array([[len(pair.target)] for pair in pairs], dtype=float)
        self.support = np.array(
            [_at(share, decided).sum(axis=1) for share, decided in zip(self.shares, self.decided, strict=True)]
        )
        """[N, K]: what the lexicon gives to the links of each."""

    def criteria(self, agreement: tuple[np.ndarray, np.ndarray] | None = None) -> list[Criteria]:
        support = self.support.sum(axis=0) / self.words.sum()
        coverage = np.mean(
            [
                [len(np.unique(row[row >= 0])) / max(1, min(len(pair.source), len(pair.target))) for row in decided]
                for pair, decided in zip(self.pairs, self.decided, strict=True)
            ],
            axis=0,
        )
        return [
            Criteria(
                candidate=c,
                lexicon=float(support[k]),
                agreement=None if agreement is None else float(agreement[0][k]),
                supported=None if agreement is None else float(agreement[1][k]),
                mean=float(np.mean([pair.means[c.method][c.layer] for pair in self.pairs])),
                peak=float(np.mean([pair.peaks[c.method, c.step][c.layer] for pair in self.pairs])),
                coverage=float(coverage[k]),
            )
            for k, c in enumerate(self.candidates)
        ]


def _at(share: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """share [T, S], decided [K, T] -> [K, T]: the share of the source word that was decided for; 0 for none."""
    if not share.shape[1]:
        return np.zeros(decided.shape)
    found = share[np.arange(share.shape[0])[None, :], np.maximum(decided, 0)]
    return np.where(decided >= 0, found, 0.0)


def _agreement(forward: _Side, backward: _Side) -> tuple[_Scores, _Scores]:
    """Return the agreement of each candidate with each of the other side: plain, and supported by the lexicon."""
    found: list[tuple[np.ndarray, ...]] = []
    for one, other, share, other_share in zip(
        forward.decided, backward.decided, forward.shares, backward.shares, strict=True
    ):
        target = np.arange(one.shape[1])
        common = ((other[:, np.maximum(one, 0)] == target) & (one >= 0)).transpose(1, 0, 2)  # [forward, backward, T]
        worth = (_at(share, one) + _at(other_share.T, one)) / 2  # [K forward, T]
        links = (one >= 0).sum(axis=1)[:, None] + (other >= 0).sum(axis=1)[None, :]
        found.append((2 * common.sum(axis=2), 2 * (common * worth[:, None, :]).sum(axis=2), links))
    plain, supported, whole = (np.array(part, dtype=float) for part in zip(*found, strict=True))
    shape = plain.shape[1:]
    flat = len(found), -1
    return (
        _Scores(plain.reshape(flat), whole.reshape(flat), shape),
        _Scores(supported.reshape(flat), whole.reshape(flat), shape),
    )


@dataclass(frozen=True)
class _Scores:
    """Ratios of sums over sentences: parts and wholes, [N, K] or [N, 1]."""

    part: np.ndarray
    whole: np.ndarray
    shape: tuple[int, ...] = ()
    """Where K stands for pairs of candidates: how many of each direction."""

    def best(self, axis: int) -> np.ndarray:
        """The score of every candidate of one direction with its best partner; all scores where there are no pairs."""
        return self.ratio().reshape(self.shape).max(axis=1 - axis) if self.shape else self.ratio()

    def own(self, index: np.ndarray, axis: int) -> np.ndarray:
        """The candidates of one direction that stand at these places of K."""
        return np.unravel_index(index, self.shape)[axis] if self.shape else index

    def ratio(self, draws: np.ndarray | None = None) -> np.ndarray:
        """[K], or [R, K] for draws [R, N]: how often each sentence counts."""
        weights = np.ones(len(self.part)) if draws is None else draws
        return (weights @ self.part) / np.maximum(weights @ self.whole, 1e-12)


def _draws(sentences: int, seed: int) -> np.ndarray:
    """[RESAMPLINGS, N]: how often each sentence is drawn."""
    return np.random.default_rng(seed).multinomial(sentences, np.full(sentences, 1 / sentences), size=RESAMPLINGS)


def _choice(side: _Side, scores: _Scores, criterion: str, draws: np.ndarray, *, axis: int = 0) -> LayerChoice:
    """The best candidate of a side: the first or, where pairs are scored, that of the direction ``axis``."""
    best = int(scores.own(np.asarray(scores.ratio().argmax()), axis))
    winners = scores.own(scores.ratio(draws).argmax(axis=1), axis)
    order = [int(k) for k in np.argsort(-scores.best(axis), kind="stable") if k != best]
    stability = float(np.mean(winners == best))
    runner_up = side.candidates[order[0]] if order else None
    return LayerChoice(
        candidate=side.candidates[best],
        criterion=criterion,
        stability=stability,
        sentences=len(side.pairs),
        runner_up=runner_up,
        doubts=_doubts(side, best, criterion, stability, runner_up),
    )


def _doubts(side: _Side, best: int, criterion: str, stability: float, runner_up: Candidate | None) -> tuple[str, ...]:
    doubts = []
    if len(side.pairs) < FEW:
        doubts.append(f"only {len(side.pairs)} sentence pairs to judge by")
    if stability < SURE:
        doubts.append(f"{runner_up} is close: {100 * stability:.0f}% of resamplings of the sentences choose the same")
    by_lexicon = side.candidates[int(side.support.sum(axis=0).argmax())]
    chosen = side.candidates[best]
    if criterion == "supported" and (by_lexicon.step, by_lexicon.layer) != (chosen.step, chosen.layer):
        doubts.append(f"the lexicon speaks for {by_lexicon}")
    return tuple(doubts)

"""Whether the target of a pair translates its source: numbers about one pair, and one score. numpy only.

The models tell how much they agree on which word translates which, and how much more probable each word is when the
other side is known than when it is empty: its *gain*. The words themselves tell which are said twice in a row, which
stand on both sides (models copy names, so they find a copied sentence probable), and whether numbers and addresses
differ. Damage is mostly a part of a sentence, so the worst run of adjacent words counts next to means over all words.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..links.decide import Link

LITTLE_SOURCE = 0.1
"""A target word in which the source has a smaller share was hardly made from the source."""
LEAST_GAIN = 0.5
"""Words that gain less from the other side, in nats and together with their neighbours, have nothing there."""
LEAST_AGREEMENT = 0.4
"""Words whose best agreement is lower count as missing in the worst run of source words."""
NEIGHBOURS = 5
"""Words over which gains are averaged before a word is called one without a source."""
EXPLAINED, REPEATED, CHANGED, COPIED = 5.0, 3.0, 5.0, 12.0
"""How much the explained share, repeated words, changed numbers and copied words count; each worst run counts once."""
COPIED_NAMES = 0.1
"""A share of copied words that may be names."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ADDRESS = re.compile(r"://|www\.|.@.")


@dataclass(frozen=True)
class SideLogProbs:
    """How probable one side is for the model that translates into it, in nats: with the other side and without."""

    words: np.ndarray
    """[words]: log-probability of each word, the sum over its pieces."""
    words_alone: np.ndarray
    """[words]: log-probability of each word when the other side is empty."""
    total: float
    """Log-probability of all pieces and the end of the sentence."""
    total_alone: float
    """Log-probability of all pieces and the end when the other side is empty."""
    pieces: int
    """How many pieces there are, the end of the sentence included."""

    @property
    def gains(self) -> np.ndarray:
        """[words]: how much more probable each word is with the other side than without."""
        found: np.ndarray = self.words - self.words_alone
        return found

    @property
    def mean(self) -> float:
        """Log-probability per piece, the end included."""
        return self.total / self.pieces

    @property
    def gain(self) -> float:
        """Gain per piece, the end included."""
        return (self.total - self.total_alone) / self.pieces

    @property
    def explained(self) -> float:
        """The share of what is improbable about this side that the other side explains: at most 1, 0 for none."""
        return 1 - self.total / min(self.total_alone, -1e-9)


@dataclass(frozen=True)
class PairEvidence:
    """What the models say of one pair: S source words, T target words."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    agreed: np.ndarray
    """[T, S]: how much the two directions agree on each pair of words."""
    links: Sequence[Link]
    forward: SideLogProbs
    """How probable the target is."""
    backward: SideLogProbs | None = None
    """How probable the source is, where there is a model of the other direction."""
    source_shares: np.ndarray | None = None
    """[T]: the share of the source in each target word, where it was computed."""


@dataclass(frozen=True)
class PairCheck:
    """Numbers about one pair; ``evidence`` is what they were made from."""

    evidence: PairEvidence
    numbers: dict[str, float]
    """Name of the column -> number; numbers that were not computed are left out."""
    without_source: list[int]
    """Positions of target words that have no source."""
    without_target: list[int]
    """Positions of source words that have no target."""

    @property
    def score(self) -> float:
        """The combined number: higher is better."""
        return self.numbers["score"]


def check_pair(evidence: PairEvidence) -> PairCheck:
    """Return the numbers of one pair."""
    best_of_targets, best_of_sources = evidence.agreed.max(axis=1), evidence.agreed.max(axis=0)
    said_again = repeated_words(evidence.target) if len(evidence.target) > 1 else []
    surplus = max(0, len(said_again) - len(repeated_words(evidence.source)))
    lost_targets, lost_sources = _unlinked(evidence)
    targets = sorted({*weak_words(evidence.forward.gains), *(said_again if surplus else ())})
    sources = lost_sources if evidence.backward is None else weak_words(evidence.backward.gains)
    numbers = {
        "agreement": float(np.concatenate([best_of_targets, best_of_sources]).mean()),
        "target_unlinked": len(lost_targets) / len(evidence.target),
        "source_unlinked": len(lost_sources) / len(evidence.source),
        "target_alone": len(targets) / len(evidence.target),
        "source_alone": len(sources) / len(evidence.source),
        "logprob": evidence.forward.mean,
        "gain": evidence.forward.gain,
        "target_gap": worst_run(LEAST_GAIN - evidence.forward.gains),
        "source_unseen": worst_run(LEAST_AGREEMENT - best_of_sources),
        "repeated": float(surplus),
        "copied": copied_share(evidence.source, evidence.target),
        "changed": float(changed_marks(evidence.source, evidence.target)),
    }
    if evidence.backward is not None:
        numbers["reverse_logprob"] = evidence.backward.mean
        numbers["reverse_gain"] = evidence.backward.gain
        numbers["source_gap"] = worst_run(LEAST_GAIN - evidence.backward.gains)
    if evidence.source_shares is not None:
        numbers["source_share"] = float(evidence.source_shares.mean())
        numbers["source_share_min"] = float(evidence.source_shares.min())
        numbers["source_share_low"] = float((evidence.source_shares < LITTLE_SOURCE).mean())
    return PairCheck(evidence, {"score": combined_score(evidence, numbers), **numbers}, targets, sources)


def combined_score(evidence: PairEvidence, numbers: dict[str, float]) -> float:
    """Return one number from those of a pair, higher for better translations.

    Five times the explained share (the mean of both directions), minus the logarithm of one plus each worst run, three
    times that of the repeated words, five times that of the changed numbers, and twelve times the share of copied words
    above a tenth. Nothing is learned from the text; the constants were chosen on damaged pairs
    (``recipes/check``).
    """
    sides = [side.explained for side in (evidence.forward, evidence.backward) if side is not None]
    runs = [numbers[name] for name in ("target_gap", "source_gap", "source_unseen") if name in numbers]
    penalty = float(np.log1p(runs).sum() + REPEATED * np.log1p(numbers["repeated"]))
    penalty += CHANGED * float(np.log1p(numbers["changed"])) + COPIED * max(0.0, numbers["copied"] - COPIED_NAMES)
    return EXPLAINED * float(np.mean(sides)) - penalty


def worst_run(lacks: np.ndarray) -> float:
    """Return the largest sum over words beside each other, at least 0: ``lacks`` [words], positive where one lacks.

    >>> worst_run(np.array([1.0, -3.0, 2.0, -0.5, 1.0]))
    2.5
    """
    worst = so_far = 0.0
    for lack in lacks.tolist():
        so_far = max(0.0, so_far + lack)
        worst = max(worst, so_far)
    return worst


def weak_words(gains: np.ndarray) -> list[int]:
    """Return the positions of words that gain little from the other side, together with two words on either side.

    >>> weak_words(np.array([4.0, 5.0, 3.0, 6.0, 2.0, 0.1, -1.0, 0.2, -2.0, 0.3]))
    [6, 7, 8, 9]
    """
    window = np.ones(min(NEIGHBOURS, len(gains) | 1))
    sums = np.convolve(gains, window)
    counts = np.convolve(np.ones(len(gains)), window)
    half = len(window) // 2
    means = (sums / counts)[half : half + len(gains)]
    return [int(place) for place in np.flatnonzero(means < LEAST_GAIN)]


def repeated_words(words: Sequence[str]) -> list[int]:
    """Return the positions of phrases of two or more words that stand right after the same phrase, whatever the case.

    >>> repeated_words("it is a good idea a good idea".split())
    [5, 6, 7]
    >>> repeated_words("very very good".split())
    []
    """
    numbers: dict[str, int] = {}
    text = np.array([numbers.setdefault(word.lower(), len(numbers)) for word in words])
    again = np.zeros(len(words), dtype=bool)
    for length in range(2, len(words) // 2 + 1):
        same = text[length:] == text[:-length]
        if same.sum() < length:
            continue
        counts = np.concatenate([[0], np.cumsum(same)])
        for start in np.flatnonzero(counts[length:] - counts[:-length] == length):
            again[start + length : start + 2 * length] = True
    return [int(place) for place in np.flatnonzero(again)]


def copied_share(source: Sequence[str], target: Sequence[str]) -> float:
    """Return the share of the words of both sides that stand on the other side too, next to the same word.

    Only words with letters count, whatever their case.

    >>> copied_share("das ist die Grande Nation".split(), "this is la grande nation !".split())
    0.4
    """
    sides = [[word.casefold() for word in side if any(map(str.isalpha, word))] for side in (source, target)]
    couples = [list(itertools.pairwise(side)) for side in sides]
    found = 0
    for side, other in zip(couples, (set(couples[1]), set(couples[0])), strict=True):
        common = [False, *(couple in other for couple in side), False]
        found += sum(map(any, itertools.pairwise(common)))
    return found / max(1, len(sides[0]) + len(sides[1]))


def changed_marks(source: Sequence[str], target: Sequence[str]) -> int:
    """Return how many numbers and addresses (web, mail) of one side became others on the other side.

    Only the digits of a number count. One that is missing on one side alone may be written in letters.

    >>> changed_marks("1.000 Euro in 2005 : www.a.de".split(), "1,000 euros in 2006 : www.b.de".split())
    2
    """
    marks: list[Counter[str]] = [Counter(), Counter()]
    for side, words in zip(marks, (source, target), strict=True):
        for word in words:
            numbers = (re.sub(r"\D", "", number) for number in _NUMBER.findall(word))
            side.update([word.casefold()] if _ADDRESS.search(word) else numbers)
    return min((marks[0] - marks[1]).total(), (marks[1] - marks[0]).total())


def _unlinked(evidence: PairEvidence) -> tuple[list[int], list[int]]:
    """Return the positions of target and of source words that no link touches."""
    sources, targets = ({link[side] for link in evidence.links} for side in (0, 1))
    return (
        [place for place in range(len(evidence.target)) if place not in targets],
        [place for place in range(len(evidence.source)) if place not in sources],
    )

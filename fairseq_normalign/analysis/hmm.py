"""A hidden Markov model of word alignment, learned from the user's own bitext. numpy only.

Each word of one side is translated by one word of the other side, or by none. Which word that is depends on a lexicon
and on how far it is from the word that was used last (Vogel et al. 1996). Both directions are learned together and
count a link only as far as both believe it (Liang et al. 2006). The model knows nothing of a translation model, so its
errors are different ones, and the product of the two is better than either. Where the shares that a translation model
gives to the words of each pair are learned from as well, they multiply the lexicon: what the two agree on is counted.

Sentence pairs of the same two lengths are computed together, so nothing is padded. Names of shapes: B pairs, T target
words, S source words; a *cell* is one target word beside one source word of its pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import NormalignError
from .hmm_text import MAX_CELLS, SHARE_STEPS, STEM, Group, Pair, WordNumbers, Words, blocks, grouped, number_cells

IBM_ROUNDS = 4
"""Rounds of learning with the lexicon alone, before distances count."""
HMM_ROUNDS = 4
NO_WORD = 0.2
"""The probability that a word is translated by no word of the other side."""
LONGEST_JUMP = 12
"""Jumps farther than this share one probability."""
UNSEEN = 1e-9
"""The probability of a word given another that it was never seen with."""
SHARE_FLOOR = 0.03
"""Added to every share of another aligner: none of them rules a word out."""
PRIOR = 0.01
"""The Dirichlet prior of each translation in the lexicon (variational Bayes): keeps rare words from taking over."""


@dataclass
class _Side:
    """What is learned in one direction: words of one side (the given ones) explain those of the other."""

    given: np.ndarray
    """[word pairs]: which given word each pair of words has."""
    lexicon: np.ndarray
    """[word pairs]: the probability of the other word given the given one."""
    no_word: np.ndarray
    """[other words]: their probability where no given word explains them."""
    jumps: np.ndarray
    """[2 LONGEST_JUMP + 1]: how probable each distance is, before it is normalized over a sentence."""

    def learn(self, counts: np.ndarray, no_word: np.ndarray, jumps: np.ndarray) -> None:
        """Set all parameters from expected counts."""
        totals = np.bincount(self.given, weights=counts)
        support = np.bincount(self.given)
        whole = _exp_digamma(totals + PRIOR * support)
        lexicon = _exp_digamma(counts + PRIOR) / whole[self.given]
        self.lexicon = np.maximum(lexicon, UNSEEN).astype(np.float32)
        self.no_word = ((no_word + PRIOR) / (no_word + PRIOR).sum()).astype(np.float32)
        if jumps.any():
            self.jumps = (jumps + 1e-3 * jumps.sum() / len(jumps)) / jumps.sum()


def _exp_digamma(x: np.ndarray) -> np.ndarray:
    """The exponential of the digamma function for x > 0: about x - 0.5, and almost nothing below 0.1."""
    shifted = x + 6
    series = np.log(shifted) - 1 / (2 * shifted) - 1 / (12 * shifted**2) + 1 / (120 * shifted**4)
    for step in range(6):
        series -= 1 / (x + step)
    return np.exp(series)


class HmmAligner:
    """A trained model of both directions.

    >>> text = [("das haus".split(), "the house".split()), ("das buch".split(), "the book".split())] * 20
    >>> model = HmmAligner.train(text)
    >>> forward, backward = model.posteriors("das haus".split(), "the house".split())
    >>> forward.argmax(axis=1).tolist(), backward.argmax(axis=1).tolist()
    ([0, 1], [0, 1])
    """

    def __init__(self, source: WordNumbers, target: WordNumbers, keys: np.ndarray, sides: tuple[_Side, _Side]) -> None:
        self._words = source, target
        self._keys = keys
        self._sides = sides

    @classmethod
    def train(
        cls,
        pairs: Iterable[Pair],
        *,
        ibm_rounds: int = IBM_ROUNDS,
        hmm_rounds: int = HMM_ROUNDS,
        stem: int | None = STEM,
        max_cells: int = MAX_CELLS,
    ) -> HmmAligner:
        """Learn from (source words, target words) pairs; pairs with an empty side are left out.

        A third item of a pair is what another aligner gives to its words: shares ``[T, S]`` and ``[S, T]``, or None.
        ``stem``: how many letters of a word count (None: all); ``max_cells``: where to stop, to bound the memory.
        """
        source, target = WordNumbers(stem), WordNumbers(stem)
        groups = grouped(pairs, source, target, max_cells)
        if not groups:
            raise NormalignError("there is no sentence pair with words on both sides to learn an HMM from")
        keys = number_cells(groups, len(source.numbers), len(target.numbers))
        width = len(target.numbers)
        sides = (
            _new_side(keys // width, width),
            _new_side(keys % width, len(source.numbers)),
        )
        model = cls(source, target, keys, sides)
        for number in range(ibm_rounds + hmm_rounds):
            _learn_once(groups, sides, distances=number >= ibm_rounds)
        return model

    def posteriors(self, source: Words, target: Words) -> tuple[np.ndarray, np.ndarray]:
        """-> ``[T, S]`` and ``[S, T]``: the probability that a word is translated by each word of the other side.

        Rows add up to one or less; the rest belongs to no word.
        """
        if not len(source) or not len(target):
            return np.zeros((len(target), len(source))), np.zeros((len(source), len(target)))
        sources, targets = self._words[0].find(source), self._words[1].find(target)
        places = self._find(sources[None, :], targets[:, None])
        found = []
        for side, others, cells in ((self._sides[0], targets, places), (self._sides[1], sources, places.T)):
            lexicon = np.where(cells >= 0, side.lexicon[cells], UNSEEN).astype(np.float32)
            no_word = np.where(others >= 0, side.no_word[others], UNSEEN).astype(np.float32)
            found.append(_forward_backward(lexicon[:, None, :], no_word[:, None], side.jumps)[0][:, 0])
        return found[0], found[1]

    def _find(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Numbers of words that broadcast to ``[T, S]`` -> the number of each pair of words, -1 for an unseen one."""
        keys = source * len(self._words[1].numbers) + target
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        seen = (self._keys[places] == keys) & (source >= 0) & (target >= 0)
        return np.where(seen, places, -1)


def _new_side(given: np.ndarray, others: int) -> _Side:
    even = np.full(2 * LONGEST_JUMP + 1, 1.0)
    lexicon = np.full(len(given), 1.0, dtype=np.float32)
    return _Side(given.astype(np.int32), lexicon, np.full(others, 1.0, dtype=np.float32), even)


class _Counts:
    """How often everything in one direction is expected to have happened."""

    def __init__(self, side: _Side) -> None:
        self.links = np.zeros(len(side.lexicon))
        self.no_word = np.zeros(len(side.no_word))
        self.jumps = np.zeros(len(side.jumps))


def _learn_once(groups: Sequence[Group], sides: tuple[_Side, _Side], *, distances: bool) -> None:
    """One round of expectation and maximization over all pairs, in both directions."""
    counts = [_Counts(side) for side in sides]
    for block in blocks(groups):
        numbers = np.concatenate([group.cells.ravel() for group in block])
        expected = zip(*(_expected_links(group, sides, counts, distances) for group in block), strict=True)
        for count, links in zip(counts, expected, strict=True):
            count.links += np.bincount(numbers, weights=np.concatenate(links), minlength=len(count.links))
    for side, count in zip(sides, counts, strict=True):
        side.learn(count.links, count.no_word, count.jumps)


def _expected_links(
    group: Group, sides: tuple[_Side, _Side], counts: Sequence[_Counts], distances: bool
) -> list[np.ndarray]:
    """-> for each direction ``[cells]``: how far each link is believed; adds words without one, and jumps, to counts.

    Where distances count, a link is believed as far as both directions believe it.
    """
    turned = np.ascontiguousarray(group.cells.transpose(2, 1, 0))
    found = []
    texts = (group.target.T, group.source.T)
    given = group.shares or (None, None)
    for side, count, words, cells, shares in zip(sides, counts, texts, (group.cells, turned), given, strict=True):
        lexicon = side.lexicon[cells] if shares is None else _weighed(side.lexicon[cells], shares)
        if distances:
            links, nothing, jumps = _forward_backward(lexicon, side.no_word[words], side.jumps)
            count.jumps += jumps
        else:
            links, nothing = _lexicon_alone(lexicon, side.no_word[words])
        count.no_word += np.bincount(words.ravel(), weights=nothing.ravel(), minlength=len(count.no_word))
        found.append(links)
    forward, backward = found[0], found[1].transpose(2, 1, 0)
    if distances:
        return [(forward * backward).ravel()] * 2
    return [forward.ravel(), backward.ravel()]


def _weighed(lexicon: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """lexicon ``[T, B, S]``, shares of the same shape in steps -> their product; even shares change nothing."""
    weights = shares.astype(np.float32) / SHARE_STEPS + SHARE_FLOOR
    weights *= weights.shape[2] / weights.sum(axis=2, keepdims=True)
    weights *= lexicon
    return weights


def _lexicon_alone(lexicon: np.ndarray, no_word: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """lexicon ``[T, B, S]``, no_word ``[T, B]`` -> posteriors of the same shapes, without distances."""
    links = lexicon * ((1 - NO_WORD) / lexicon.shape[2])
    nothing = no_word * NO_WORD
    total = links.sum(axis=2) + nothing
    return links / total[..., None], nothing / total


def _forward_backward(
    lexicon: np.ndarray, no_word: np.ndarray, jumps: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """lexicon ``[T, B, S]``, no_word ``[T, B]`` -> posteriors of the same shapes, and the expected counts of jumps.

    A word that is translated by no word leaves the position where it is, so that the next jump starts there.
    """
    height, _, width = lexicon.shape
    matrix, start = _jump_matrix(jumps, width)
    links, before, scale = np.empty_like(lexicon), np.empty_like(lexicon), np.empty(lexicon.shape[:2], lexicon.dtype)
    nothing = no_word * NO_WORD
    emitted = lexicon * (1 - NO_WORD)
    for t in range(height):
        links[t] = emitted[t] * (before[t] @ matrix if t else start)
        at = links[t] + nothing[t][:, None] * (before[t] if t else start)
        scale[t] = at.sum(axis=1)
        links[t] /= scale[t][:, None]
        if t + 1 < height:
            before[t + 1] = at / scale[t][:, None]
    before[0] = start
    after = np.ones(lexicon.shape[1:], dtype=lexicon.dtype)
    empty = np.empty_like(no_word)
    for t in reversed(range(height)):
        links[t] *= after
        onward = emitted[t] * after / scale[t][:, None]
        stay = nothing[t][:, None] / scale[t][:, None] * after
        empty[t] = (stay * before[t]).sum(axis=1)
        emitted[t] = onward
        after = onward @ matrix.T + stay
    moved = before[1:].reshape(-1, width).T @ emitted[1:].reshape(-1, width) * matrix
    return links, empty, _by_distance(moved, len(jumps))


def _distances(width: int) -> np.ndarray:
    """``[S, S]``: the number of the jump from each position to each position."""
    distance = np.arange(width)[None, :] - np.arange(width)[:, None]
    return np.clip(distance, -LONGEST_JUMP, LONGEST_JUMP) + LONGEST_JUMP


def _jump_matrix(jumps: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """-> ``[S, S]``: the probability of the next position given this one; ``[S]``: that of the first position."""
    matrix = jumps[_distances(width)]
    start = jumps[np.minimum(np.arange(1, width + 1), LONGEST_JUMP) + LONGEST_JUMP]
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    return matrix.astype(np.float32), (start / start.sum()).astype(np.float32)


def _by_distance(moved: np.ndarray, count: int) -> np.ndarray:
    """``[S, S]`` -> ``[count]``: expected counts of each jump."""
    return np.bincount(_distances(len(moved)).ravel(), weights=moved.ravel(), minlength=count)

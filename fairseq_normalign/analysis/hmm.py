"""A hidden Markov model of word alignment, learned from the user's own bitext. numpy only.

Each word of one side is translated by one word of the other side, or by none. Which word that is depends on a lexicon
and on how far it is from the word that was used last (Vogel et al. 1996). Both directions are learned together and
count a link only as far as both believe it (Liang et al. 2006). The model knows nothing of a translation model, so its
errors are different ones, and the product of the two is better than either. Where the shares that a translation model
gives to the words of each pair are learned from as well, they multiply the lexicon: what the two agree on is counted.

Sentence pairs of the same two lengths are computed together, so nothing is padded. Names of shapes: B pairs, T target
words, S source words; a *cell* is one target word with one source word of its pair.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import NormalignError

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
MAX_CELLS = 100_000_000
"""Pairs beyond this many cells are not learned from: each cell takes 4 bytes of memory, 6 with shares."""
BLOCK = 8_000_000
"""Cells computed before their counts are added up."""
AT_ONCE = 200_000
"""Cells of one group: so many stay in the cache of a processor."""
STEM = 5
"""Letters at the beginning of a word that it is known by: the forms of a word mostly share them."""
SHARE_STEPS = 255
"""Shares are kept as whole numbers up to this one, in one byte."""

Words = Sequence[str]
Shares = tuple[np.ndarray, np.ndarray]
"""What another aligner gives to each pair of words, ``[T, S]`` and ``[S, T]``, rows adding up to one or less."""
Pair = tuple[Words, Words] | tuple[Words, Words, Shares | None]
"""Source and target words, and shares where there are some."""


class WordNumbers:
    """Numbers for the beginnings of words (``stem`` letters; None: all), from 0 on in the order in which they come."""

    def __init__(self, stem: int | None = STEM) -> None:
        self.numbers: dict[str, int] = {}
        self.stem = stem

    def add(self, words: Words) -> np.ndarray:
        """``[words]``: the number of each word; a new word gets the next one."""
        numbers = self.numbers
        return np.array([numbers.setdefault(word[: self.stem], len(numbers)) for word in words], dtype=np.int32)

    def find(self, words: Words) -> np.ndarray:
        """``[words]``: the number of each word, -1 for one that is not known."""
        return np.array([self.numbers.get(word[: self.stem], -1) for word in words], dtype=np.int64)


@dataclass
class Group:
    """Sentence pairs that all have the same two lengths."""

    source: np.ndarray
    """[B, S] numbers of words."""
    target: np.ndarray
    """[B, T]."""
    cells: np.ndarray
    """[T, B, S]: the number of the pair of words in each cell."""
    shares: Shares | None = None
    """[T, B, S] and [S, B, T]: SHARE_STEPS times the shares of another aligner, in whole numbers."""


def _grouped(pairs: Iterable[Pair], source: WordNumbers, target: WordNumbers, max_cells: int) -> list[Group]:
    """Return the pairs by their lengths, up to ``max_cells``; the cells are numbered later."""
    by_size: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray, Shares | None]]] = {}
    cells = 0
    for left, right, *given in pairs:
        cells += len(left) * len(right)
        if cells > max_cells:
            break
        if left and right:
            kept = None
            if given and given[0] is not None:  # in one byte a cell
                forward, backward = (np.rint(SHARE_STEPS * np.clip(one, 0, 1)).astype(np.uint8) for one in given[0])
                kept = forward, backward
            by_size.setdefault((len(right), len(left)), []).append((source.add(left), target.add(right), kept))
    groups = []
    for (height, width), members in sorted(by_size.items()):
        at_once = max(1, AT_ONCE // (height * width))
        even = np.full((height, width), SHARE_STEPS // width), np.full((width, height), SHARE_STEPS // height)
        for start in range(0, len(members), at_once):
            sources, targets, shares = zip(*members[start : start + at_once], strict=True)
            stacked = None
            if any(one is not None for one in shares):  # even shares for a pair without
                both = zip(*(even if one is None else one for one in shares), strict=True)
                forward, backward = (np.stack(one, axis=1).astype(np.uint8) for one in both)
                stacked = forward, backward
            cells_of_group = np.empty((height, len(sources), width), dtype=np.int32)
            groups.append(Group(np.stack(sources), np.stack(targets), cells_of_group, stacked))
    return groups


def _number_cells(groups: Sequence[Group], sources: int, targets: int) -> np.ndarray:
    """Number all pairs of words that meet in a sentence pair, and write the numbers into the groups.

    -> sorted ``[word pairs]``: source word * number of target words + target word. A part of the source words is done
    at a time, so that only a part of all cells is sorted at once.
    """
    weight = np.zeros(sources)
    for group in groups:
        weight += np.bincount(group.source.ravel(), minlength=sources) * group.target.shape[1]
    part_of_word = (np.cumsum(weight) - 1) // BLOCK
    keys, first = [], 0
    for part in range(int(part_of_word[-1]) + 1):
        inside = [part_of_word[group.source] == part for group in groups]  # [B, S]
        found = []
        for group, mask in zip(groups, inside, strict=True):
            row, column = np.nonzero(mask)
            words = group.source[row, column].astype(np.int64)
            found.append((words * targets + group.target.T[:, row]).ravel())
        unique, numbers = np.unique(np.concatenate(found), return_inverse=True)
        start = 0
        for group, mask, some in zip(groups, inside, found, strict=True):
            group.cells[:, mask] = (first + numbers[start : start + len(some)]).reshape(len(group.cells), -1)
            start += len(some)
        keys.append(unique)
        first += len(unique)
    return np.concatenate(keys)


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

    @classmethod
    def even(cls, given: np.ndarray, others: int) -> _Side:
        """Return a side that has learned nothing yet."""
        lexicon, no_word = (np.full(size, 1.0, dtype=np.float32) for size in (len(given), others))
        return cls(given.astype(np.int32), lexicon, no_word, np.full(2 * LONGEST_JUMP + 1, 1.0))

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
        groups = _grouped(pairs, source, target, max_cells)
        if not groups:
            raise NormalignError("there is no sentence pair with words on both sides to learn an HMM from")
        keys = _number_cells(groups, len(source.numbers), len(target.numbers))
        width = len(target.numbers)
        sides = _Side.even(keys // width, width), _Side.even(keys % width, len(source.numbers))
        ends = np.cumsum([group.cells.size for group in groups])
        for number in range(ibm_rounds + hmm_rounds):
            counts = [[np.zeros(len(part)) for part in (one.lexicon, one.no_word, one.jumps)] for one in sides]
            numbered = zip(((ends - 1) // BLOCK).tolist(), groups, strict=True)
            for _, block in itertools.groupby(numbered, key=lambda one: one[0]):  # counts are added up block by block
                some = [group for _, group in block]
                cells = np.concatenate([group.cells.ravel() for group in some])
                found = [_expected_links(group, sides, counts, distances=number >= ibm_rounds) for group in some]
                for count, links in zip(counts, zip(*found, strict=True), strict=True):
                    count[0] += np.bincount(cells, weights=np.concatenate(links), minlength=len(count[0]))
            for one, count in zip(sides, counts, strict=True):
                one.learn(*count)
        return cls(source, target, keys, sides)

    def posteriors(self, source: Words, target: Words) -> tuple[np.ndarray, np.ndarray]:
        """-> ``[T, S]`` and ``[S, T]``: the probability that a word is translated by each word of the other side.

        Rows add up to one or less; the rest belongs to no word.
        """
        if not len(source) or not len(target):
            return np.zeros((len(target), len(source))), np.zeros((len(source), len(target)))
        sources, targets = self._words[0].find(source), self._words[1].find(target)
        keys = sources[None, :] * len(self._words[1].numbers) + targets[:, None]
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        seen = (self._keys[places] == keys) & (sources >= 0) & (targets[:, None] >= 0)
        places = np.where(seen, places, -1)
        found = []
        for side, others, cells in ((self._sides[0], targets, places), (self._sides[1], sources, places.T)):
            lexicon = np.where(cells >= 0, side.lexicon[cells], UNSEEN).astype(np.float32)
            no_word = np.where(others >= 0, side.no_word[others], UNSEEN).astype(np.float32)
            found.append(_forward_backward(lexicon[:, None, :], no_word[:, None], side.jumps)[0][:, 0])
        return found[0], found[1]


def _expected_links(
    group: Group, sides: tuple[_Side, _Side], counts: Sequence[Sequence[np.ndarray]], *, distances: bool
) -> list[np.ndarray]:
    """-> for each direction ``[cells]``: how far each link is believed; adds words without one, and jumps, to counts.

    ``counts``: of each direction those of the links, of words without one, and of jumps. Where distances count, a link
    is believed as far as both directions believe it.
    """
    turned = np.ascontiguousarray(group.cells.transpose(2, 1, 0))
    found = []
    texts = (group.target.T, group.source.T)
    given = group.shares or (None, None)
    for side, count, words, cells, shares in zip(sides, counts, texts, (group.cells, turned), given, strict=True):
        lexicon = side.lexicon[cells]
        if shares is not None:  # even shares change nothing
            weights = shares.astype(np.float32) / SHARE_STEPS + SHARE_FLOOR
            weights *= weights.shape[2] / weights.sum(axis=2, keepdims=True)
            lexicon = weights * lexicon
        if distances:
            links, nothing, jumps = _forward_backward(lexicon, side.no_word[words], side.jumps)
            count[2][:] += jumps
        else:
            links, nothing = lexicon * ((1 - NO_WORD) / lexicon.shape[2]), side.no_word[words] * NO_WORD
            total = links.sum(axis=2) + nothing
            links, nothing = links / total[..., None], nothing / total
        count[1][:] += np.bincount(words.ravel(), weights=nothing.ravel(), minlength=len(count[1]))
        found.append(links)
    forward, backward = found[0], found[1].transpose(2, 1, 0)
    if distances:
        return [(forward * backward).ravel()] * 2
    return [forward.ravel(), backward.ravel()]


def _forward_backward(
    lexicon: np.ndarray, no_word: np.ndarray, jumps: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """lexicon ``[T, B, S]``, no_word ``[T, B]`` -> posteriors of the same shapes, and the expected counts of jumps.

    A word that is translated by no word leaves the position where it is, so that the next jump starts there.
    """
    height, _, width = lexicon.shape
    distance = np.arange(width)[None, :] - np.arange(width)[:, None]
    distance = np.clip(distance, -LONGEST_JUMP, LONGEST_JUMP) + LONGEST_JUMP  # [S, S]: the number of each jump
    matrix = jumps[distance]
    matrix = (matrix / matrix.sum(axis=1, keepdims=True)).astype(np.float32)
    start = jumps[np.minimum(np.arange(1, width + 1), LONGEST_JUMP) + LONGEST_JUMP]
    start = (start / start.sum()).astype(np.float32)  # the first position
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
    return links, empty, np.bincount(distance.ravel(), weights=moved.ravel(), minlength=len(jumps))

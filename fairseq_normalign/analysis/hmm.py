"""A hidden Markov model of word alignment, learned from the user's own bitext. numpy only.

Each word of one side is translated by one word of the other side, or by none. Which word that is depends on a lexicon
and on how far it is from the word that was used last (Vogel et al. 1996). Both directions are learned together and
count a link only as far as both believe it (Liang et al. 2006). The model knows nothing of a translation model, so its
errors are different ones, and the product of the two is better than either.

Sentence pairs of the same two lengths are computed together, so nothing is padded. Names of shapes: B pairs, T target
words, S source words; a *cell* is one target word beside one source word of its pair.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
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
MAX_CELLS = 100_000_000
"""Pairs beyond this many cells are not learned from: each cell takes 4 bytes of memory."""
BLOCK = 8_000_000
"""Cells computed before their counts are added up."""
AT_ONCE = 200_000
"""Cells of one group: so many stay in the cache of a processor."""
UNSEEN = 1e-9
"""The probability of a word given another that it was never seen with."""
PRIOR = 0.01
"""The Dirichlet prior of each translation in the lexicon (variational Bayes): keeps rare words from taking over."""

STEM = 5
"""Letters at the beginning of a word that it is known by: the forms of a word mostly share them."""

Words = Sequence[str]
Pair = tuple[Words, Words]


class WordNumbers:
    """Numbers for the beginnings of words, from 0 on in the order in which they come."""

    def __init__(self, stem: int | None = STEM) -> None:
        """``stem``: how many letters count; None: all."""
        self.numbers: dict[str, int] = {}
        self.stem = stem

    def add(self, words: Words) -> np.ndarray:
        """``[words]``: the number of each word; a new word gets the next one."""
        return np.array(
            [self.numbers.setdefault(word[: self.stem], len(self.numbers)) for word in words], dtype=np.int32
        )

    def find(self, words: Words) -> np.ndarray:
        """``[words]``: the number of each word, -1 for one that is not known."""
        return np.array([self.numbers.get(word[: self.stem], -1) for word in words], dtype=np.int64)


@dataclass
class _Group:
    """Sentence pairs that all have the same two lengths."""

    source: np.ndarray
    """[B, S] numbers of words."""
    target: np.ndarray
    """[B, T]."""
    cells: np.ndarray
    """[T, B, S]: the number of the pair of words in each cell."""


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

        ``stem``: how many letters of a word count (None: all); ``max_cells``: where to stop, to bound the memory.
        """
        source, target = WordNumbers(stem), WordNumbers(stem)
        groups = _grouped(pairs, source, target, max_cells)
        if not groups:
            raise NormalignError("there is no sentence pair with words on both sides to learn an HMM from")
        keys = _number_cells(groups, len(source.numbers), len(target.numbers))
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


def _grouped(pairs: Iterable[Pair], source: WordNumbers, target: WordNumbers, max_cells: int) -> list[_Group]:
    """The pairs by their lengths, up to ``max_cells``; the cells are numbered later."""
    by_size: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
    cells = 0
    for left, right in pairs:
        cells += len(left) * len(right)
        if cells > max_cells:
            break
        if left and right:
            by_size.setdefault((len(right), len(left)), []).append((source.add(left), target.add(right)))
    groups = []
    for (height, width), members in sorted(by_size.items()):
        at_once = max(1, AT_ONCE // (height * width))
        for start in range(0, len(members), at_once):
            sides = zip(*members[start : start + at_once], strict=True)
            sources, targets = (np.stack(side) for side in sides)
            groups.append(_Group(sources, targets, np.empty((height, len(sources), width), dtype=np.int32)))
    return groups


def _number_cells(groups: Sequence[_Group], sources: int, targets: int) -> np.ndarray:
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


class _Counts:
    """How often everything in one direction is expected to have happened."""

    def __init__(self, side: _Side) -> None:
        self.links = np.zeros(len(side.lexicon))
        self.no_word = np.zeros(len(side.no_word))
        self.jumps = np.zeros(len(side.jumps))


def _learn_once(groups: Sequence[_Group], sides: tuple[_Side, _Side], *, distances: bool) -> None:
    """One round of expectation and maximization over all pairs, in both directions."""
    counts = [_Counts(side) for side in sides]
    for block in _blocks(groups):
        numbers = np.concatenate([group.cells.ravel() for group in block])
        expected = zip(*(_expected_links(group, sides, counts, distances) for group in block), strict=True)
        for count, links in zip(counts, expected, strict=True):
            count.links += np.bincount(numbers, weights=np.concatenate(links), minlength=len(count.links))
    for side, count in zip(sides, counts, strict=True):
        side.learn(count.links, count.no_word, count.jumps)


def _expected_links(
    group: _Group, sides: tuple[_Side, _Side], counts: Sequence[_Counts], distances: bool
) -> list[np.ndarray]:
    """-> for each direction ``[cells]``: how far each link is believed; adds words without one, and jumps, to counts.

    Where distances count, a link is believed as far as both directions believe it.
    """
    turned = np.ascontiguousarray(group.cells.transpose(2, 1, 0))
    found = []
    for side, count, words, cells in zip(
        sides, counts, (group.target.T, group.source.T), (group.cells, turned), strict=True
    ):
        if distances:
            links, nothing, jumps = _forward_backward(side.lexicon[cells], side.no_word[words], side.jumps)
            count.jumps += jumps
        else:
            links, nothing = _lexicon_alone(side.lexicon[cells], side.no_word[words])
        count.no_word += np.bincount(words.ravel(), weights=nothing.ravel(), minlength=len(count.no_word))
        found.append(links)
    forward, backward = found[0], found[1].transpose(2, 1, 0)
    if distances:
        return [(forward * backward).ravel()] * 2
    return [forward.ravel(), backward.ravel()]


def _blocks(groups: Sequence[_Group]) -> Iterator[list[_Group]]:
    """Groups of about BLOCK cells together."""
    sizes = np.cumsum([group.cells.size for group in groups])
    numbered = zip(((sizes - 1) // BLOCK).tolist(), groups, strict=True)
    for _, some in itertools.groupby(numbered, key=lambda one: one[0]):
        yield [group for _, group in some]


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

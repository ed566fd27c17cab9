"""A statistical aligner learned from the user's own text, as one more expert beside the readings of the models."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..analysis.hmm import HmmAligner
from ..analysis.hmm_text import Shares, Words
from ..files import read_parallel
from ..links.decide import normalized
from .bitext import WINDOW, Bitext, TextPair
from .both_directions import BitextAligner
from .directions import Keep, PairAlignment, Posteriors


def learned_posteriors(
    aligner: BitextAligner,
    bitext: Bitext,
    more: Sequence[str | Path] | None = None,
    *,
    looks: bool = False,
    done: Callable[[int], object] = lambda count: None,
) -> Posteriors:
    """Learn an HMM from the words of a bitext, and of a second one (``more``: its source and target files).

    ``looks``: learn from what the models give to the words of each pair as well. It is better, and takes as long as
    aligning all of the text; ``done`` is told how many pairs that was done for.
    """
    pairs = itertools.chain(bitext.pairs(), read_parallel(*more) if more else iter(()))
    with aligner.uncounted():
        return HmmAligner.train(_with_shares(aligner, pairs, done) if looks else _words(aligner, pairs)).posteriors


def _words(aligner: BitextAligner, pairs: Iterator[TextPair]) -> Iterator[tuple[Words, Words]]:
    """The words of each pair as the forward model's text makes them: tokenized and lower-cased where asked."""
    host = aligner.forward.host
    for source, target in pairs:
        yield host.source(source).sentence.by_word.words, host.target(target).sentence.by_word.words


def _with_shares(
    aligner: BitextAligner, pairs: Iterator[TextPair], done: Callable[[int], object]
) -> Iterator[tuple[Words, Words, Shares]]:
    """The words of each pair that can be aligned, and their shares in both directions."""
    while window := list(itertools.islice(pairs, WINDOW)):
        forward, backward = aligner.encode(window)
        sides = [(aligner.forward, forward)]
        if aligner.backward is not None and backward is not None:
            sides.append((aligner.backward, backward))
        found = [side.align(encoded, keep=Keep(soft=True), decision="argmax") for side, encoded in sides]
        for pair, *read in zip(forward, *found, strict=True):
            if not isinstance(pair, str):
                source, target = (line.sentence.by_word.words for line in pair)
                yield source, target, _shares(read)
        done(len(window))


def _shares(read: Sequence[PairAlignment]) -> Shares:
    """``[T, S]`` and ``[S, T]``: those of both models; of one model, its rows and its columns."""
    soft = [one.soft for one in read if one.soft is not None]
    return soft[0], normalized(soft[0].T) if len(soft) == 1 else soft[1]

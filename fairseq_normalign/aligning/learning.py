"""A statistical aligner learned from the user's own text, as one more expert beside the readings of the models."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..analysis.hmm import HmmAligner
from ..files import read_parallel
from .bitext import Bitext, Pair
from .both_directions import BitextAligner
from .directions import Posteriors

Words = tuple[Sequence[str], Sequence[str]]


def learned_posteriors(aligner: BitextAligner, bitext: Bitext, more: Sequence[str | Path] | None = None) -> Posteriors:
    """Learn an HMM from the words of a bitext, and of a second one (``more``: its source and target files)."""
    extra = read_parallel(*more) if more else iter(())
    return HmmAligner.train(_words(aligner, itertools.chain(bitext.pairs(), extra))).posteriors


def _words(aligner: BitextAligner, pairs: Iterator[Pair]) -> Iterator[Words]:
    """The words of each pair as the forward model's text makes them: tokenized and lower-cased where asked."""
    host = aligner.forward.host
    for source, target in pairs:
        yield host.source(source).sentence.by_word.words, host.target(target).sentence.by_word.words

"""The Python interface: ``fairseq_normalign.load("checkpoint.pt").align("ein Haus", "a house")``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from .align.aligner import AlignedPair
from .align.both_directions import BitextAligner
from .align.build import load_aligner
from .align.checking import Checker
from .align.choose import MANY, SAMPLE, choose_readings, sentence_of_choice
from .align.directions import Keep, PairAlignment
from .align.options import LoadOptions
from .align.translating import why_untranslated
from .aligned_pair import Alignment, TranslationCheck
from .analysis.translation_check import PairCheck
from .errors import NormalignError
from .hosts.protocol import Pair
from .links.experts import Expert
from .links.readings import Reading
from .methods import METHODS
from .options import keywords_of

WINDOW = SAMPLE
"""Pairs that :meth:`AlignmentModel.align_many` takes together, unless told otherwise."""


@keywords_of(LoadOptions)
def load(options: LoadOptions) -> AlignmentModel:
    """Load a translation model for aligning and translating; with ``reverse`` the models of both directions.

    The arguments are the options of the command line, and have the same defaults. Where several pairs are aligned
    together and there are enough of them, the readings are chosen by their text unless they are given. ``reverse`` is
    ``path`` itself for a multilingual model.

    A wrong argument is a :class:`fairseq_normalign.NormalignError`. The model may be used from several threads: calls
    take turns.
    """
    return AlignmentModel(load_aligner(options), chooses=options.chooses_readings())


class AlignmentModel:
    """A loaded model, or the models of both directions: aligns and checks given pairs, translates with alignments."""

    def __init__(self, aligner: BitextAligner, *, chooses: bool = False) -> None:
        """``chooses``: choose the readings by the first pairs that are aligned together."""
        self.aligner = aligner
        self._chooses = chooses

    @property
    def expert(self) -> Expert:
        """The readings of the forward model that decide."""
        return self.aligner.forward.aligner.expert

    def choose(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """Choose the readings of each direction by these pairs, without gold; return a line that explains each choice.

        Fewer than 100 pairs are too few to choose by: then the default is used.
        """
        self._chooses = False
        return [sentence_of_choice(choice) for choice in choose_readings(self.aligner, pairs)]

    def align(self, source: str, target: str, *, score: bool = False, every_layer: bool = False) -> Alignment:
        """Align one pair of sentences.

        ``score`` adds the log-probability of the target; ``every_layer`` adds every layer of the forward model to
        ``readings``.
        """
        return next(self.align_many([(source, target)], score=score, every_layer=every_layer))

    def align_many(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        score: bool = False,
        every_layer: bool = False,
        progress: Callable[[int], object] | None = None,
        window: int = WINDOW,
    ) -> Iterator[Alignment]:
        """Align pairs in batches and yield their alignments in order.

        ``progress`` is called with the number of pairs after each batch; ``window`` pairs are read ahead.
        """
        keep = Keep(soft=True, layers=every_layer, read=True)
        for first, taken in self._windows(pairs, window):
            found = self.aligner.align(taken, keep=keep, first=first, done=progress or (lambda count: None))
            scores = self._scores(taken, found) if score else [None] * len(taken)
            for pair, result, value in zip(taken, found, scores, strict=True):
                yield self._alignment(pair, result, value)

    def _windows(
        self, pairs: Iterable[tuple[str, str]], window: int
    ) -> Iterator[tuple[int, Sequence[tuple[str, str]]]]:
        """Give the pairs of each window and the number of its first; a large window chooses the readings."""
        waiting = iter(pairs)
        first = 0
        while taken := [_checked_pair(pair) for pair in itertools.islice(waiting, window)]:
            if self._chooses and len(taken) >= MANY:
                self.choose(taken)
            yield first, taken
            first += len(taken)

    def check(self, source: str, target: str, *, full: bool = False) -> TranslationCheck:
        """Check whether a target translates its source; with the models of both directions more surely.

        ``full`` adds the share of the source in what the model computed, which takes several times longer.
        """
        return next(self.check_many([(source, target)], full=full))

    def check_many(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        full: bool = False,
        progress: Callable[[int], object] | None = None,
        window: int = WINDOW,
    ) -> Iterator[TranslationCheck]:
        """Check pairs in batches and yield what was found in order; the rest as in :meth:`align_many`."""
        if self.aligner.forward.level != "word":
            raise NormalignError("a check is about words; load the model with level='word'")
        checker = Checker(self.aligner, full=full)
        for first, taken in self._windows(pairs, window):
            found = checker.check(taken, first=first, done=progress or (lambda count: None))
            yield from map(self._check, taken, found)

    def _check(self, pair: tuple[str, str], found: PairCheck | str) -> TranslationCheck:
        if isinstance(found, str):
            source, target = (line.sentence.by_word.words for line in self.aligner.forward.lines(pair))
            return TranslationCheck(source, target, [], skipped=found)
        evidence, numbers = found.evidence, found.numbers
        links = sorted(evidence.links)
        places = found.without_source, found.without_target
        return TranslationCheck(evidence.source, evidence.target, links, found.score, numbers, *places)

    def translate(
        self, source: str | Sequence[str], *, beam: int = 5, nbest: int = 1
    ) -> list[Alignment] | list[list[Alignment]]:
        """Translate a sentence, or several, by beam search.

        Returns the best ``nbest`` translations of a sentence with their alignments, the best first; for several
        sentences a list of such lists. A sentence that is empty, or longer than the model's positions, has none.
        """
        if isinstance(source, str):
            return self._translations([source], beam, nbest)[0]
        return self._translations(list(source), beam, nbest)

    def _translations(self, lines: list[str], beam: int, nbest: int) -> list[list[Alignment]]:
        host = self.aligner.forward.host
        sources = [host.source(line) for line in lines]
        good = [number for number, source in enumerate(sources) if why_untranslated(self.aligner, source) is None]
        found = host.translate([lines[number] for number in good], beam=beam, nbest=nbest) if good else []
        translated: list[list[Alignment]] = [[] for _ in lines]
        for number, hypotheses in zip(good, found, strict=True):
            pairs: list[Pair] = [(sources[number], hypothesis.target) for hypothesis in hypotheses]
            results = self.aligner.align_encoded(pairs, keep=Keep(soft=True, read=True))
            translated[number] = [
                _alignment(result, hypothesis.score, pair)
                for result, hypothesis, pair in zip(results, hypotheses, pairs, strict=True)
            ]
        return translated

    def _scores(self, pairs: Sequence[tuple[str, str]], found: Sequence[PairAlignment]) -> list[float | None]:
        host = self.aligner.forward.host
        kept = [number for number, result in enumerate(found) if result.skipped is None]
        encoded = [(host.source(pairs[number][0]), host.target(pairs[number][1])) for number in kept]
        scores: list[float | None] = [None] * len(pairs)
        for number, value in zip(kept, host.scores(encoded) if encoded else [], strict=True):
            scores[number] = value
        return scores

    def _alignment(self, pair: tuple[str, str], result: PairAlignment, score: float | None) -> Alignment:
        return _alignment(result, score, result.lines or self.aligner.forward.lines(pair))


def _checked_pair(pair: object) -> tuple[str, str]:
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(side, str) for side in pair)):
        raise NormalignError(f"a pair is two strings, source and target, not {str(pair)[:60]!r}")
    return pair[0], pair[1]


def _alignment(result: PairAlignment, score: float | None, encoded: Pair) -> Alignment:
    source, target = (line.sentence.by_word.words for line in encoded)
    return Alignment(
        source,
        target,
        result.links,
        result.confidence,
        result.soft,
        {} if result.read is None else _readings(result.read),
        score,
        result.skipped,
        source_text=encoded[0].text,
        target_text=encoded[1].text,
        source_spans=encoded[0].places,
        target_spans=encoded[1].places,
    )


def _readings(read: AlignedPair) -> dict[Reading, np.ndarray]:
    """Every reading that decided, and every layer that was read."""
    found = list(read.expert.readings)
    for place in read.steps:
        found += [Reading(place.method, place.layer, place.head, first.step) for first in read.expert.readings[:1]]
    return {reading: read.read(reading) for reading in dict.fromkeys(found)}


def list_methods() -> dict[str, str]:
    """Return the methods that soft alignments can be read by, each with a line that tells what it reads.

    >>> sorted(list_methods())[:3]
    ['attention-rollout', 'block', 'erasure']
    """
    return {name: method.summary() for name, method in sorted(METHODS.items())}

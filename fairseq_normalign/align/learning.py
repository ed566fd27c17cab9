"""A statistical aligner learned from the user's own text, as one more expert beside the readings of the models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..analysis.hmm import HmmAligner, Shares, Words
from ..jobs import Count, Part, Window, nobody
from ..links.decide import normalized
from ..links.experts import Expert
from .aligner import Aligner, Posteriors


def words_of_window(
    aligner: Aligner,
    window: Window,
    readings: Sequence[Expert | None] = (),
    looks: bool = False,
    *,
    done: Count = nobody,
) -> Part:
    """Return what is learned from in a window: the words of each pair that can be aligned.

    ``looks``: also what the models give to them when they use these readings, [T, S] and [S, T]; of one model, its rows
    and its columns. It is better, and takes as long as aligning.
    """
    if not looks:
        host = aligner.forward.host
        lines = [(host.source(source), host.target(target)) for source, target in window.pairs]
        return Part(record=[[line.sentence.by_word.words for line in pair] for pair in lines])
    aligner = aligner.reading(readings)
    encoded = aligner.encode(window.pairs)
    sides = zip(aligner.directions, (encoded.forward, encoded.backward or []), strict=False)
    found = [model.decide(side, soft=True, decision="argmax") for model, side in sides]
    part = Part(record=[])
    for pair, *read in zip(encoded.forward, *found, strict=True):
        if not any(isinstance(one, str) for one in (pair, *read)):
            soft = [one.soft for one in read if not isinstance(one, str) and one.soft is not None]
            part.arrays[f"{len(part.record)} forward"] = soft[0]
            part.arrays[f"{len(part.record)} backward"] = normalized(soft[0].T) if len(soft) == 1 else soft[1]
            part.record.append([line.sentence.by_word.words for line in pair])
    done(len(window.pairs))
    return part


def learned(parts: Iterable[Part]) -> HmmAligner:
    """Learn an HMM from what :func:`words_of_window` returned."""

    def pairs() -> Iterator[tuple[Words, Words] | tuple[Words, Words, Shares]]:
        for part in parts:
            for number, (source, target) in enumerate(part.record):
                if part.arrays:
                    yield source, target, (part.arrays[f"{number} forward"], part.arrays[f"{number} backward"])
                else:
                    yield source, target

    return HmmAligner.train(pairs())


def posteriors_of(hmm: HmmAligner, part: Part) -> Posteriors:
    """Return what an HMM says of each pair of a window; ``part``: the words of the window."""
    return [hmm.posteriors(tuple(source), tuple(target)) for source, target in part.record]

"""Lines in, translations and their word alignments out, a window at a time: the same for every host."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..hosts.protocol import EMPTY, TOO_LONG, Hypothesis, Pair
from ..links.decide import Link
from ..text.encoding import Line, batches_by_length
from .both_directions import BitextAligner

WINDOW = 512
"""Lines that are read ahead, so that lines of like length are translated together."""


@dataclass(frozen=True)
class Translation:
    """One translation of a line in words, with its links."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: list[Link]
    """(source, target), 0-based positions of words, sorted."""
    confidence: list[float]
    """One number from 0 to 1 per link."""
    score: float
    """Mean log-probability of the target's pieces and its end, natural logarithm."""
    lines: Pair
    """Source and translation with their texts and the places of their words."""
    unaligned: str | None = None
    """Why it has no links, if it could not be aligned."""


@dataclass(frozen=True)
class TranslatedLine:
    """What a line was translated to, the best first."""

    number: int
    """The number of the line, from 0."""
    translations: list[Translation] = field(default_factory=list)
    skipped: str | None = None
    """Why there is none: 'empty' or 'too long'."""


def translate_lines(
    aligner: BitextAligner,
    lines: Iterable[str],
    *,
    beam: int = 5,
    nbest: int = 1,
    done: Callable[[int], object] = lambda count: None,
) -> Iterator[TranslatedLine]:
    """Translate lines by beam search and align each translation; results are in the order of the lines.

    ``done`` is told how many lines after each batch.
    """
    numbered = enumerate(lines)
    while window := list(itertools.islice(numbered, WINDOW)):
        yield from _translate_window(aligner, window, beam, nbest, done)


def _translate_window(
    aligner: BitextAligner, window: Sequence[tuple[int, str]], beam: int, nbest: int, done: Callable[[int], object]
) -> list[TranslatedLine]:
    host = aligner.forward.host
    results: dict[int, TranslatedLine] = {}
    sizes: dict[int, int] = {}
    for place, (number, line) in enumerate(window):
        encoded = host.source(line)
        why = why_untranslated(aligner, encoded)
        if why:
            results[place] = TranslatedLine(number, skipped=why)
        else:
            sizes[place] = len(encoded)
    done(len(results))
    places = list(sizes)
    max_tokens = max(1, aligner.forward.max_tokens // max(beam, nbest))
    for batch in batches_by_length([(sizes[place], sizes[place]) for place in places], max_tokens):
        chosen = [places[position] for position in batch]
        found = host.translate([window[place][1] for place in chosen], beam=beam, nbest=nbest)
        for place, hypotheses in zip(chosen, found, strict=True):
            number, line = window[place]
            results[place] = TranslatedLine(number, _aligned(aligner, line, hypotheses))
        done(len(chosen))
    return [results[place] for place in range(len(window))]


def why_untranslated(aligner: BitextAligner, source: Line) -> str | None:
    """Return why a line cannot be translated, EMPTY or TOO_LONG; None when it can."""
    if not source.sentence.by_word.words:
        return EMPTY
    return TOO_LONG if len(source) > aligner.forward.longest[0] else None


def _aligned(aligner: BitextAligner, line: str, hypotheses: Sequence[Hypothesis]) -> list[Translation]:
    source = aligner.forward.host.source(line)
    pairs: list[Pair] = [(source, hypothesis.target) for hypothesis in hypotheses]
    return [
        Translation(
            source.sentence.by_word.words,
            hypothesis.target.sentence.by_word.words,
            result.links,
            result.confidence,
            hypothesis.score,
            (source, hypothesis.target),
            result.skipped,
        )
        for hypothesis, result in zip(hypotheses, aligner.align_encoded(pairs), strict=True)
    ]

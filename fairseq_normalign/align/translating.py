"""Lines translated and their translations aligned, a window at a time: the same for every host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..alignment import Alignment
from ..hosts.protocol import EMPTY, NO_MEMORY, TOO_LONG, Pair
from ..jobs import Count, nobody
from ..text.encoding import Line
from .aligner import Aligner
from .model import in_batches, numbers_from

LINES = 512
"""Lines that are translated together."""


def translate(
    aligner: Aligner,
    lines: Sequence[str],
    *,
    beam: int = 5,
    nbest: int = 1,
    read: bool = False,
    first: int = 0,
    done: Count = nobody,
) -> list[list[Alignment] | str]:
    """Translate lines by beam search and align each translation; return the best ones first, or why there are none.

    ``read``: keep soft alignments and readings; ``first`` is the number of the first line, from 0; ``done`` is told how
    many lines after each batch.
    """
    model = aligner.forward
    sources: list[Line] = [model.host.source(line) for line in lines]
    results: list[list[Alignment] | str] = [
        EMPTY if not source.sentence.by_word.words else TOO_LONG if len(source) > model.longest[0] else NO_MEMORY
        for source in sources
    ]
    places = [place for place, result in enumerate(results) if result == NO_MEMORY]
    done(len(lines) - len(places))
    for chosen, found in in_batches(
        [(len(sources[place]), len(sources[place])) for place in places],
        max(1, model.max_tokens // max(beam, nbest)),
        lambda chosen: model.host.translate([lines[places[one]] for one in chosen], beam=beam, nbest=nbest),
        [numbers_from(first)(place) for place in places],
        done,
    ):
        for one, hypotheses in zip(chosen, found, strict=True):
            pairs: list[Pair] = [(sources[places[one]], hypothesis.target) for hypothesis in hypotheses]
            alignments = aligner.align(aligner.encode_lines(pairs), soft=read, read=read, first=first + places[one])
            results[places[one]] = [
                replace(alignment, score=hypothesis.score)
                for alignment, hypothesis in zip(alignments, hypotheses, strict=True)
            ]
    return results

"""Lines translated and their translations aligned, a window at a time: the same for every host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..alignment import Alignment
from ..hosts.protocol import EMPTY, TOO_LONG, Pair
from ..jobs import Count, nobody
from ..text.encoding import Line, batches_by_length
from .aligner import Aligner

LINES = 512
"""Lines that are translated together."""


def translate(
    aligner: Aligner,
    lines: Sequence[str],
    *,
    beam: int = 5,
    nbest: int = 1,
    read: bool = False,
    done: Count = nobody,
) -> list[list[Alignment] | str]:
    """Translate lines by beam search and align each translation; return the best ones first, or why there are none.

    ``read``: keep soft alignments and readings; ``done`` is told how many lines after each batch.
    """
    model = aligner.forward
    sources: list[Line] = [model.host.source(line) for line in lines]
    results: list[list[Alignment] | str] = [
        EMPTY if not source.sentence.by_word.words else TOO_LONG if len(source) > model.longest[0] else []
        for source in sources
    ]
    places = [place for place, result in enumerate(results) if not isinstance(result, str)]
    done(len(lines) - len(places))
    sizes = [(len(sources[place]), len(sources[place])) for place in places]
    for batch in batches_by_length(sizes, max(1, model.max_tokens // max(beam, nbest))):
        chosen = [places[position] for position in batch]
        found = model.host.translate([lines[place] for place in chosen], beam=beam, nbest=nbest)
        for place, hypotheses in zip(chosen, found, strict=True):
            pairs: list[Pair] = [(sources[place], hypothesis.target) for hypothesis in hypotheses]
            alignments = aligner.align(aligner.encode_lines(pairs), soft=read, read=read)
            results[place] = [
                replace(one, score=hypothesis.score) for one, hypothesis in zip(alignments, hypotheses, strict=True)
            ]
        done(len(chosen))
    return results

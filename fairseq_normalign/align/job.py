"""A window of a bitext aligned, and what is written about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

from ..errors import NormalignError
from ..files import words_of
from ..jobs import Count, Part, TextPair, Window, nobody
from ..links.decide import Link
from ..links.dump import DumpWriter
from ..links.experts import Expert
from ..links.formats import pharaoh
from ..links.formats.json_lines import AlignedPair, to_json
from ..links.pieces import Segmentation
from .both_directions import BitextAligner
from .choose import choose_readings, sentences_of_choices
from .directions import Keep, PairAlignment
from .doubts import SAMPLE, doubts_of_both


@dataclass(frozen=True)
class Outputs:
    """What is written about every pair: links always, and one line in each of the other files that are asked for."""

    scores: bool = False
    soft: bool = False
    layers: bool = False
    json: bool = False
    """Links as JSON lines, with both texts and the places of their words."""
    words: bool = False
    """The words that links count, of each side."""

    def texts(self, results: Sequence[PairAlignment]) -> list[str]:
        """Return one text per file."""
        lines = [[_json_line(result) if self.json else pharaoh(result.links) for result in results]]
        if self.scores:
            lines.append([" ".join(f"{value:.4f}" for value in result.confidence) for result in results])
        if self.soft:
            lines.append([_soft_line(result) for result in results])
        if self.words:
            sides = [result.lines for result in results if result.lines is not None]
            lines += [[" ".join(line.given_words) for line in side] for side in zip(*sides, strict=True)]
        return ["".join(f"{line}\n" for line in file) for file in lines]


def _json_line(result: PairAlignment) -> str:
    assert result.lines is not None
    source, target = result.lines
    links = [(*link, True) for link in result.links]
    known = dict(zip(result.links, result.confidence, strict=True))
    return to_json(AlignedPair(source.text, target.text, source.places, target.places, links, known))


def _soft_line(result: PairAlignment) -> str:
    rows = [] if result.soft is None else result.soft.tolist()
    return " ".join(",".join(f"{value:.6f}" for value in row) for row in rows)


def look_at(
    aligner: BitextAligner, pairs: Sequence[TextPair], choose: bool, *, done: Count = nobody
) -> dict[str, list[Any]]:
    """Look at the first pairs: which readings suit each direction, and what in the text does not suit the models."""
    choices = choose_readings(aligner, pairs) if choose else []
    return {
        "readings": [str(choice.expert) for choice in choices],
        "said": sentences_of_choices(choices),
        "doubts": [asdict(doubt) for doubt in doubts_of_both(aligner, pairs[:SAMPLE])],
    }


def align_window(
    aligner: BitextAligner,
    window: Window,
    readings: Sequence[Expert],
    outputs: Outputs,
    posteriors: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
    *,
    done: Count = nobody,
) -> Part:
    """Align a window with these readings; ``posteriors``: those of a statistical aligner for each pair."""
    aligner.read_with(readings)
    votes = [[_links(line) for line in lines] for lines in window.beside]
    keep = Keep(soft=outputs.soft, layers=outputs.layers)
    with aligner.counting() as counts:
        encoded = aligner.encode(window.pairs)
    results = aligner.align_sides(
        *encoded, keep=keep, first=window.first, votes=votes, posteriors=posteriors, done=done
    )
    for pair, result in zip(window.pairs, results, strict=True):
        result.lines = result.lines or aligner.forward.lines(pair)
    counts.update(Counter(result.skipped for result in results if result.skipped))
    counts["links"] += sum(len(result.links) for result in results)
    part = Part(outputs.texts(results), counts)
    if outputs.layers:
        part.record = []
        for number, read in enumerate((result.read for result in results), start=window.first):
            if read is not None:
                sides = read.source, read.target
                part.record.append([number, [side.pieces for side in sides], [astuple(side.by_word) for side in sides]])
                part.arrays[str(number)] = read.layers
    return part


def _links(line: str) -> list[Link]:
    """The links of a line in Pharaoh format, 0-based."""
    found = []
    for word in words_of(line):
        match = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", word)
        if match is None:
            raise NormalignError(f"'{word[:60]}' among the links to vote is not i-j, two positions counted from 0")
        found.append((int(match[1]), int(match[2])))
    return found


def add_to_dump(dump: DumpWriter, part: Part) -> None:
    """Add the layers of a window to a dump."""
    for number, (source_pieces, target_pieces), sides in part.record:
        source, target = (
            Segmentation(tuple(words), tuple(map(tuple, spans)), tuple(specials)) for words, spans, specials in sides
        )
        dump.add(
            number,
            source_pieces=source_pieces,
            target_pieces=target_pieces,
            source=source,
            target=target,
            layers=part.arrays[str(number)],
        )

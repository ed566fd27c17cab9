"""Alignments as JSON lines: both texts, the place of every word, and links with their confidence.

One object per sentence pair; version 1 of the schema (docs/formats.md has it in full):

    {"normalign": 1, "source": "das Haus", "target": "the house",
     "source_words": [[0, 3], [4, 8]], "target_words": [[0, 3], [4, 9]],
     "links": [{"source": 0, "target": 0, "confidence": 0.93}, {"source": 1, "target": 1, "sure": false}]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import NormalignError
from ..decide import Link
from ..pieces import Span

VERSION = 1


@dataclass(frozen=True)
class AlignedPair:
    """One sentence pair as JSON lines have it; links are 0-based (source, target, sure)."""

    source: str
    target: str
    source_words: Sequence[Span]
    target_words: Sequence[Span]
    links: Sequence[tuple[int, int, bool]]
    confidences: Mapping[Link, float] = field(default_factory=dict)


def to_json(pair: AlignedPair) -> str:
    """The line of a pair, without its end.

    >>> to_json(AlignedPair("ja", "yes", [(0, 2)], [(0, 3)], [(0, 0, True)], {(0, 0): 0.5}))[:60]
    '{"normalign": 1, "source": "ja", "target": "yes", "source_wo'
    """
    links = []
    for source, target, sure in pair.links:
        link: dict[str, object] = {"source": source, "target": target}
        if (source, target) in pair.confidences:
            link["confidence"] = round(pair.confidences[source, target], 6)
        links.append(link if sure else {**link, "sure": False})
    record = {
        "normalign": VERSION,
        "source": pair.source,
        "target": pair.target,
        "source_words": [list(span) for span in pair.source_words],
        "target_words": [list(span) for span in pair.target_words],
        "links": links,
    }
    return json.dumps(record, ensure_ascii=False)


def from_json(line: str, place: str) -> AlignedPair:
    """Return the pair of a line; ``place``, a file and line, opens the message when it is not one.

    >>> pair = AlignedPair("ja", "yes", [(0, 2)], [(0, 3)], [(0, 0, True)], {(0, 0): 0.5})
    >>> from_json(to_json(pair), "file:1").links
    [(0, 0, True)]
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise NormalignError(f"{place}: {line[:60]!a} is not a line of JSON") from None
    if not isinstance(record, dict) or record.get("normalign") != VERSION:
        found = record.get("normalign") if isinstance(record, dict) else None
        raise NormalignError(f"{place}: 'normalign' is {found!a}; version {VERSION} of the format is wanted")
    sides: list[tuple[Any, Any]] = [(record.get(side), record.get(f"{side}_words")) for side in ("source", "target")]
    if not all(isinstance(text, str) for text, _ in sides):
        raise NormalignError(f"{place}: 'source' and 'target' have to be texts")
    for key in ("source_words", "target_words", "links"):
        if not isinstance(record.get(key), list):
            raise NormalignError(f"{place}: '{key}' has to be a list")
    for side, (text, spans) in zip(("source", "target"), sides, strict=True):
        last = 0
        for span in spans:
            sound = isinstance(span, list) and len(span) == 2 and all(type(number) is int for number in span)
            if not sound or not last <= span[0] <= span[1] <= len(text):
                found = f"{str(span)[:40]!a} in '{side}_words' is no range of characters behind the last one"
                raise NormalignError(f"{place}: {found}")
            last = span[1]
    links: dict[Link, bool] = {}
    confidences: dict[Link, float] = {}
    for link in record["links"]:
        shown = f"{str(link)[:60]!a}"
        if not isinstance(link, dict) or type(link.get("source")) is not int or type(link.get("target")) is not int:
            raise NormalignError(f"{place}: {shown} is not a link with 'source' and 'target'")
        ends = source, target = link["source"], link["target"]
        if not (0 <= source < len(sides[0][1]) and 0 <= target < len(sides[1][1])):
            has = f"{len(sides[0][1])} and {len(sides[1][1])} words"
            raise NormalignError(f"{place}: link {source}-{target} is out of range: {has}")
        confidence, sure = link.get("confidence"), link.get("sure", True)
        is_share = isinstance(confidence, (int, float)) and not isinstance(confidence, bool) and 0 <= confidence <= 1
        if type(sure) is not bool or not (confidence is None or is_share):
            raise NormalignError(f"{place}: {shown}: 'confidence' is from 0 to 1, 'sure' true or false")
        links[ends] = sure or links.get(ends, False)
        if confidence is not None:
            confidences[ends] = confidence
    (source_text, source_words), (target_text, target_words) = (
        (text, [(start, end) for start, end in spans]) for text, spans in sides
    )
    marked = [(*link, links[link]) for link in sorted(links)]
    return AlignedPair(source_text, target_text, source_words, target_words, marked, confidences)

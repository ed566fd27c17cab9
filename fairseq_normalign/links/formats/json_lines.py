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

import numpy as np

from ...errors import NormalignError
from ...files import decode_line
from ..decide import Link
from ..pieces import Span
from .blocks import Block
from .lines import LineReader

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
    texts = [text for text in (record.get("source"), record.get("target")) if isinstance(text, str)]
    if len(texts) < 2:
        raise NormalignError(f"{place}: 'source' and 'target' have to be texts")
    words = [
        _spans(record, f"{side}_words", text, place) for side, text in zip(("source", "target"), texts, strict=True)
    ]
    links: dict[Link, bool] = {}
    confidences: dict[Link, float] = {}
    for link in _list(record, "links", place):
        source, target, confidence, sure = _link(link, (len(words[0]), len(words[1])), place)
        links[source, target] = sure or links.get((source, target), False)
        if confidence is not None:
            confidences[source, target] = confidence
    found_links = [(*link, links[link]) for link in sorted(links)]
    return AlignedPair(texts[0], texts[1], words[0], words[1], found_links, confidences)


def _list(record: Mapping[str, object], key: str, place: str) -> list[object]:
    value = record.get(key)
    if not isinstance(value, list):
        raise NormalignError(f"{place}: '{key}' has to be a list")
    return value


def _spans(record: Mapping[str, object], key: str, text: str, place: str) -> list[Span]:
    found: list[Span] = []
    last = 0
    for span in _list(record, key, place):
        if not (
            isinstance(span, list)
            and len(span) == 2
            and all(type(number) is int for number in span)
            and last <= span[0] <= span[1] <= len(text)
        ):
            raise NormalignError(
                f"{place}: {str(span)[:40]!a} in '{key}' is no range of characters behind the last one"
            )
        found.append((span[0], span[1]))
        last = span[1]
    return found


def _link(link: object, lengths: tuple[int, int], place: str) -> tuple[int, int, float | None, bool]:
    """-> source, target, confidence or None, sure."""
    if not isinstance(link, dict) or type(link.get("source")) is not int or type(link.get("target")) is not int:
        raise NormalignError(f"{place}: {str(link)[:60]!a} is not a link with 'source' and 'target'")
    source, target = link["source"], link["target"]
    if not (0 <= source < lengths[0] and 0 <= target < lengths[1]):
        raise NormalignError(f"{place}: link {source}-{target} is out of range: {lengths[0]} and {lengths[1]} words")
    confidence, sure = link.get("confidence"), link.get("sure", True)
    is_number = isinstance(confidence, (int, float)) and not isinstance(confidence, bool)
    if not isinstance(sure, bool) or not (confidence is None or (is_number and 0 <= confidence <= 1)):
        raise NormalignError(f"{place}: {str(link)[:60]!a}: 'confidence' is from 0 to 1, 'sure' true or false")
    return source, target, confidence, sure


class JsonLines(LineReader):
    """Sentences of a file of JSON lines, for :func:`~fairseq_normalign.links.formats.open_alignment`."""

    pairs: list[AlignedPair]
    """The pairs of the lines that were taken last."""

    def parse(self, lines: list[bytes], numbers: np.ndarray) -> Block:
        """Return the links of lines with these numbers."""
        name = self.lines.name
        self.pairs = [
            from_json(decode_line(raw, name, number), f"{name}:{number}")
            for raw, number in zip(lines, numbers.tolist(), strict=True)
        ]
        return Block.of([pair.links for pair in self.pairs])

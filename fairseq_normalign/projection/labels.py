"""Labelled spans carried to the other language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..links.pieces import Span
from .spans import LinkedPair, project_span

LOST, GUESSED, LEFT_OUT, OVERLAP = "lost", "guessed", "words left out", "overlap"


@dataclass(frozen=True)
class Label:
    """A labelled range of words; ``number`` counts the labels of the sentence from 0."""

    words: Span
    name: str
    number: int = 0
    confidence: float = 1.0
    part: int = 0
    """Which part of a split span it is, from 0."""


@dataclass(frozen=True)
class LabelSpan:
    """The range of characters that a label covers in its file."""

    start: int
    end: int
    label: str
    record: Mapping[str, object] = field(default_factory=dict)
    """Every key of its JSON object, where it comes from one."""


@dataclass(frozen=True)
class LabelNote:
    """What became of a label, when it is not simply there."""

    label: Label
    what: str
    details: str


def project_labels(
    pair: LinkedPair, labels: Iterable[Label], *, gaps: str = "close", guess: bool = False
) -> tuple[list[Label], list[LabelNote]]:
    """The labels on the target side, and what a reader should know of them.

    A label whose words have no link is lost, unless ``guess``: it then takes the unlinked words between its
    neighbours' targets, with confidence 0. ``gaps``: see :mod:`fairseq_normalign.projection.spans`.

        >>> pair = LinkedPair(3, 3, [(0, 1), (1, 2)])
        >>> [(label.words, label.name) for label in project_labels(pair, [Label((0, 2), "PER")])[0]]
        [((1, 3), 'PER')]
    """
    found: list[Label] = []
    notes: list[LabelNote] = []
    for label in labels:
        projected = project_span(pair, label.words, gaps=gaps)
        if not projected.ranges or (projected.guessed and not guess):
            notes.append(LabelNote(label, LOST, "none of its words has a link"))
            continue
        if projected.guessed:
            notes.append(LabelNote(label, GUESSED, "its words have no link: put between their neighbours' words"))
        if projected.left_out:
            notes.append(LabelNote(label, LEFT_OUT, f"{projected.left_out} linked words are outside"))
        found += [
            Label(words, label.name, label.number, projected.confidence, part)
            for part, words in enumerate(projected.ranges)
        ]
    return sorted(found, key=lambda label: (label.words, label.number)), notes


def to_bio(length: int, labels: Sequence[Label]) -> tuple[list[str], list[LabelNote]]:
    """One BIO label per word; where labels overlap, the surer one keeps the words, then the longer, then the first.

    >>> to_bio(4, [Label((1, 3), "LOC"), Label((3, 4), "PER")])[0]
    ['O', 'B-LOC', 'I-LOC', 'B-PER']
    """
    columns = ["O"] * length
    notes = []
    order = sorted(labels, key=lambda label: (-label.confidence, label.words[0] - label.words[1], label.words))
    for label in order:
        start, end = label.words
        if any(columns[word] != "O" for word in range(start, end)):
            notes.append(LabelNote(label, OVERLAP, "another label has one of its words"))
            continue
        columns[start:end] = [f"B-{label.name}"] + [f"I-{label.name}"] * (end - start - 1)
    return columns, notes


def from_bio(columns: Sequence[str]) -> list[Label]:
    """The labels of BIO, IOB1, BIOES or BILOU columns.

    >>> [(label.words, label.name) for label in from_bio(["B-PER", "I-PER", "O", "I-LOC", "S-LOC"])]
    [((0, 2), 'PER'), ((3, 4), 'LOC'), ((4, 5), 'LOC')]
    """
    found: list[Label] = []
    continues = False
    for word, column in enumerate([*columns, "O"]):
        mark, _, name = column.partition("-")
        if mark in ("O", "_", ""):
            continues = False
            continue
        same = continues and found and found[-1].name == name and mark in ("I", "E", "L", "M")
        if same:
            found[-1] = Label((found[-1].words[0], word + 1), name, len(found) - 1)
        else:
            found.append(Label((word, word + 1), name, len(found)))
        continues = mark not in ("E", "L", "S", "U")
    return found

"""Labelled spans carried to the other language, and files of labels: JSON lines with character spans, CoNLL columns."""

from __future__ import annotations

import bisect
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TextIO

from ..errors import NormalignError
from ..files import display_name, read_lines, words_of
from ..links.pieces import Span
from ..text.words import WordFinder
from .pairs import Side
from .spans import LinkedPair, confidence_of, project_span

LABEL_FORMATS = ("jsonl", "conll")
_MARKS = frozenset("BIESLUMO_")
_WANTED = "expected an object with a list 'spans' of start, end and label"
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
    characters: Span = (0, 0)
    """What it covers in the file of the source."""
    record: Mapping[str, object] = field(default_factory=dict, compare=False)
    """Every key of its JSON object, where it comes from one."""


class LabelNote(NamedTuple):
    """What became of a label, when it is not simply there."""

    label: Label
    what: str
    details: str


def project_labels(
    pair: LinkedPair, labels: Iterable[Label], *, gaps: str = "main", guess: bool = False
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
        confidence = 0.0 if projected.guessed else confidence_of(pair, label.words, projected.ranges)
        found += [
            replace(label, words=words, confidence=confidence, part=part) for part, words in enumerate(projected.ranges)
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


def read_json_labels(path: str | Path, texts: Iterator[str] | None, find: WordFinder) -> Iterator[Side]:
    """Lines like ``{"text": "Anna sings", "spans": [{"start": 0, "end": 4, "label": "PER"}]}``, as sides of pairs.

    ``texts`` are the lines themselves where they are in a file of their own; "text" may then be left out, or must be
    the same.
    """
    number, known = 0, False
    for number, line in enumerate(read_lines(path), start=1):
        place = f"{display_name(path)}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise NormalignError(f"{place}: {line[:60]!a} is not a line of JSON") from None
        if not isinstance(record, dict) or not isinstance(record.get("spans", []), list):
            raise NormalignError(f"{place}: {_WANTED}")
        text = next(texts, None) if texts is not None else record.get("text")
        if not isinstance(text, str):
            raise NormalignError(
                f"{place}: no 'text', and no line of a source file to go with it" if texts is None else
                f"{place}: there are more lines here than in the source file"
            )  # fmt: skip
        if record.get("text", text) != text:
            raise NormalignError(f"{place}: 'text' is not the line of the source file")
        known = known or "spans" in record
        words = find(text)
        starts, ends = [start for start, _ in words], [end for _, end in words]
        labels = []
        for count, span in enumerate(record.get("spans", [])):
            fields = span if isinstance(span, dict) and isinstance(span.get("label"), str) else {}
            start, end = fields.get("start"), fields.get("end")
            if type(start) is not int or type(end) is not int:
                raise NormalignError(f"{place}: {str(span)[:60]!a} is not a span with start, end and label")
            if not 0 <= start <= end <= len(text):
                raise NormalignError(
                    f"{place}: span {start}-{end} is outside the line, which has {len(text)} characters"
                )
            first = bisect.bisect_right(ends, start)
            touched = first, max(first, bisect.bisect_left(starts, end))
            labels.append(Label(touched, fields["label"], count, characters=(start, end), record=fields))
        yield Side(text, words, labels)
    if texts is not None and next(texts, None) is not None:
        raise NormalignError(f"{display_name(path)}: fewer lines than in the source file")
    if number and not known:
        raise NormalignError(f"{display_name(path)}: no line has 'spans', a list of start, end and label")


def write_json_labels(handle: TextIO, target: Side, labels: Sequence[Label], notes: Sequence[LabelNote]) -> None:
    """One line: the target's text and spans; each keeps the keys of its source span."""
    found = [
        {
            **label.record,
            "start": target.words[label.words[0]][0],
            "end": target.words[label.words[1] - 1][1],
            "confidence": round(label.confidence, 4),
            "source": label.characters,
        }
        for label in labels
    ]
    lost = [note.label.record for note in notes if note.what == LOST]
    record = {"text": target.text, "spans": found, **({"lost": lost} if lost else {})}
    print(json.dumps(record, ensure_ascii=False), file=handle)


def read_conll(path: str | Path, *, word_column: int = 1, label_column: int = -1) -> Iterator[Side]:
    """Sentences of a CoNLL file: a line per word, columns between tabs or spaces, a blank line after each sentence.

    Columns are counted from 1; -1 is the last one. Lines that begin with ``#`` and a space are comments.
    """
    needed = max(2, word_column, label_column, -label_column)
    rows: list[tuple[str, str]] = []
    for number, line in enumerate(itertools.chain(read_lines(path), [""]), start=1):  # the last sentence ends, too
        if line.startswith("# "):
            continue
        if not line.strip():
            if rows:
                ends = list(itertools.accumulate(len(word) + 1 for word, _ in rows))
                words = [(end - len(word) - 1, end - 1) for end, (word, _) in zip(ends, rows, strict=True)]
                found = from_bio([label for _, label in rows])
                spans = [(words[label.words[0]][0], words[label.words[1] - 1][1]) for label in found]
                labels = [replace(label, characters=span) for label, span in zip(found, spans, strict=True)]
                yield Side(" ".join(word for word, _ in rows), words, labels)
            rows = []
            continue
        place = f"{display_name(path)}:{number}"
        columns = line.split("\t") if "\t" in line else words_of(line)
        if len(columns) < needed:
            raise NormalignError(f"{place}: {len(columns)} columns; expected a word and a label in {needed} or more")
        word, label = columns[word_column - 1], columns[label_column if label_column < 0 else label_column - 1]
        mark, _, name = label.partition("-")
        if mark not in _MARKS or bool(name) == (mark in "O_"):
            raise NormalignError(
                f"{place}: '{label[:40]}' is no label: O, or B-, I-, E-, S-, L-, U- and a name are allowed"
            )
        if not word or " " in word:
            raise NormalignError(f"{place}: '{word[:40]}' is not one word")
        rows.append((word, label))


def write_conll(handle: TextIO, target: Side, labels: Sequence[Label]) -> list[LabelNote]:
    """A line per target word, word and label with a tab between, and a blank line; -> labels that had no room."""
    columns, notes = to_bio(len(target.words), labels)
    for (start, end), column in zip(target.words, columns, strict=True):
        print(target.text[start:end], column, sep="\t", file=handle)
    print(file=handle)
    return notes

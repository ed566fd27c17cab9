"""Files of labels: JSON lines with character spans, and CoNLL columns."""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from ..errors import NormalignError
from ..files import display_name, read_lines, words_of
from ..links.pieces import Span
from ..text.words import WordFinder
from .labels import Label, LabelNote, LabelSpan, from_bio, to_bio
from .pairs import Side

LABEL_FORMATS = ("jsonl", "conll")
_MARKS = frozenset("BIESLUMO_")
_WANTED = "wanted is an object with a list 'spans' of start, end and label"


def read_json_labels(path: str | Path, texts: Iterator[str] | None, find: WordFinder) -> Iterator[Side]:
    """Lines like ``{"text": "Anna sings", "spans": [{"start": 0, "end": 4, "label": "PER"}]}``, as sides of pairs.

    ``texts`` are the lines themselves where they are in a file of their own; "text" may then be left out, or must be
    the same.
    """
    number, known = 0, False
    for number, line in enumerate(read_lines(path), start=1):
        place = f"{display_name(path)}:{number}"
        record = _record(line, place)
        given = _spans(record, place)
        text = next(texts, None) if texts is not None else record.get("text")
        if not isinstance(text, str):
            raise NormalignError(
                f"{place}: no 'text', and no line of a source file to go with it" if texts is None else
                f"{place}: there are more lines here than in the source file"
            )  # fmt: skip
        if record.get("text", text) != text:
            raise NormalignError(f"{place}: 'text' is not the line of the source file")
        known = known or "spans" in record
        spans = [_checked(span, text, place) for span in given]
        words = find(text)
        labels = [Label(_words_in(words, span), span.label, count) for count, span in enumerate(spans)]
        yield Side(text, words, labels, spans)
    if texts is not None and next(texts, None) is not None:
        raise NormalignError(f"{display_name(path)}: fewer lines than in the source file")
    if number and not known:
        raise NormalignError(f"{display_name(path)}: no line has 'spans', a list of start, end and label")


def _record(line: str, place: str) -> dict[str, object]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise NormalignError(f"{place}: {line[:60]!a} is not a line of JSON") from None
    if not isinstance(record, dict):
        raise NormalignError(f"{place}: {_WANTED}")
    return record


def _spans(record: Mapping[str, object], place: str) -> list[object]:
    spans = record.get("spans", [])
    if not isinstance(spans, list):
        raise NormalignError(f"{place}: {_WANTED}")
    return spans


def _checked(span: object, text: str, place: str) -> LabelSpan:
    fields = span if isinstance(span, dict) and isinstance(span.get("label"), str) else {}
    start, end = fields.get("start"), fields.get("end")
    if type(start) is not int or type(end) is not int:
        raise NormalignError(f"{place}: {str(span)[:60]!a} is not a span with start, end and label")
    if not 0 <= start <= end <= len(text):
        raise NormalignError(f"{place}: span {start}-{end} is outside the line, which has {len(text)} characters")
    return LabelSpan(start, end, fields["label"], fields)


def _words_in(words: Sequence[Span], span: LabelSpan) -> Span:
    """The words that a range of characters touches."""
    first = bisect.bisect_right([end for _, end in words], span.start)
    return first, max(first, bisect.bisect_left([start for start, _ in words], span.end))


def write_json_labels(
    handle: TextIO, target: Side, source: Side, labels: Sequence[Label], notes: Sequence[LabelNote]
) -> None:
    """One line: the target's text and spans; each keeps the keys of its source span."""
    spans = source.spans
    found = [
        {
            **spans[label.number].record,
            "start": target.words[label.words[0]][0],
            "end": target.words[label.words[1] - 1][1],
            "confidence": round(label.confidence, 4),
            "source": [spans[label.number].start, spans[label.number].end],
        }
        for label in labels
    ]
    lost = [spans[note.label.number].record for note in notes if note.what == "lost"]
    record = {"text": target.text, "spans": found, **({"lost": lost} if lost else {})}
    print(json.dumps(record, ensure_ascii=False), file=handle)


def read_conll(path: str | Path, *, word_column: int = 1, label_column: int = -1) -> Iterator[Side]:
    """Sentences of a CoNLL file: a line per word, columns between tabs or spaces, a blank line after each sentence.

    Columns are counted from 1; -1 is the last one. Lines that begin with ``#`` and a space are comments.
    """
    rows: list[tuple[str, str]] = []
    number = 0
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t") if "\t" in line else words_of(line)
        if line.startswith("# "):
            continue
        if not line.strip():
            if rows:
                yield _conll_side(rows)
            rows = []
            continue
        rows.append(_row(columns, word_column, label_column, f"{display_name(path)}:{number}"))
    if rows:
        yield _conll_side(rows)


def _row(columns: list[str], word_column: int, label_column: int, place: str) -> tuple[str, str]:
    needed = max(word_column, label_column, -label_column)
    if len(columns) < max(2, needed):
        raise NormalignError(
            f"{place}: {len(columns)} columns; a word and a label are wanted (columns {needed} or more)"
        )
    word, label = columns[word_column - 1], columns[label_column if label_column < 0 else label_column - 1]
    mark, _, name = label.partition("-")
    if mark not in _MARKS or bool(name) == (mark in "O_"):
        raise NormalignError(
            f"{place}: '{label[:40]}' is no label: O, or B-, I-, E-, S-, L-, U- and a name are allowed"
        )
    if not word or " " in word:
        raise NormalignError(f"{place}: '{word[:40]}' is not one word")
    return word, label


def _conll_side(rows: Sequence[tuple[str, str]]) -> Side:
    words: list[Span] = []
    place = 0
    for word, _ in rows:
        words.append((place, place + len(word)))
        place += len(word) + 1
    text = " ".join(word for word, _ in rows)
    labels = from_bio([label for _, label in rows])
    spans = [LabelSpan(words[label.words[0]][0], words[label.words[1] - 1][1], label.name) for label in labels]
    return Side(text, words, labels, spans)


def write_conll(handle: TextIO, target: Side, labels: Sequence[Label]) -> list[LabelNote]:
    """A line per target word, word and label with a tab between, and a blank line; -> labels that had no room."""
    columns, notes = to_bio(len(target.words), labels)
    for (start, end), column in zip(target.words, columns, strict=True):
        print(target.text[start:end], column, sep="\t", file=handle)
    print(file=handle)
    return notes

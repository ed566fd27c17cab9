"""The target line written with its tags: nested validly, each tag once, the text as it was."""

from __future__ import annotations

import bisect
import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..alignment.pieces import Span
from .markup import OPEN, PLACEHOLDER, Marked, Tag
from .placing import Placed, in_nesting_order, place_tags
from .spans import LinkedPair


@dataclass(frozen=True)
class Note:
    """Something that a reader of the result should know."""

    tag: str
    what: str
    """unaligned, guessed, gap, cut, lost, widened, unmatched or already there."""
    details: str


@dataclass(frozen=True)
class MarkedTarget:
    """The target line with the tags of the source line."""

    line: str
    tags: int
    """How many tags and placeholders there are."""
    notes: list[Note]
    confidences: list[float]
    """Of every pair around words, in source order."""


def project_markup(
    marked: Marked,
    source: Sequence[Span],
    target_line: str,
    target: Sequence[Span],
    pair: LinkedPair,
    *,
    gaps: str = "close",
    entities: bool = False,
) -> MarkedTarget:
    """Put the tags of ``marked`` into ``target_line``.

    ``source`` and ``target`` are the words of ``marked.text`` and ``target_line``; ``pair`` has their links. With
    ``entities`` the characters ``<``, ``>`` and ``&`` of the target line are written as entities.

        >>> from .markup import parse_markup
        >>> from ..text.words import space_words
        >>> marked = parse_markup("das <b>blaue <i>Haus</i></b> dort")
        >>> target = "that house is blue"
        >>> pair = LinkedPair(4, 4, [(0, 0), (1, 3), (2, 1)])
        >>> project_markup(marked, space_words(marked.text), target, space_words(target), pair).line
        'that <b><i>house</i> is blue</b>'
    """
    marked, already = _without_those_there(marked, target_line)
    placed = place_tags(marked, source, pair, gaps=gaps)
    notes = [*already, *_notes(marked, placed)]
    confidences = [placed.elements[tag].confidence for tag in sorted(placed.elements)]
    writer = _Writer(marked, source, target_line, target, entities)
    writer.write(placed)
    return MarkedTarget(writer.line(), len(marked.tags) + len(already), notes, confidences)


def _without_those_there(marked: Marked, target_line: str) -> tuple[Marked, list[Note]]:
    """Leave out the placeholders that the translation has kept as words."""
    names = [tag.raw.strip(" ") for tag in marked.tags if tag.kind == PLACEHOLDER]
    there = {name for name, count in Counter(names).items() if target_line.count(name) >= count}
    if not there:
        return marked, []
    kept = [n for n, tag in enumerate(marked.tags) if tag.kind != PLACEHOLDER or tag.raw.strip(" ") not in there]
    moved = {old: new for new, old in enumerate(kept)} | {-1: -1}
    tags = [marked.tags[old] for old in kept]
    renumbered = [
        Tag(tag.raw, tag.at, tag.kind, tag.name, moved[tag.partner], moved[tag.parent], tag.unmatched) for tag in tags
    ]
    notes = [Note(name, "already there", "the translation has it") for name in names if name in there]
    return Marked(marked.text, renumbered), notes


def _notes(marked: Marked, placed: Placed) -> list[Note]:
    notes = [Note(marked.tags[tag].raw, what, details) for tag, what, details in placed.notes]
    unmatched = [tag for tag in marked.tags if tag.unmatched]
    return notes + [Note(tag.raw, "unmatched", "no partner: placed as a tag that stands alone") for tag in unmatched]


class _Writer:
    """Writes the tags into the spaces between the target's words.

    A tag keeps its offset within the white space where that is the same on both sides; else an opening tag touches the
    word behind it and a closing tag the word before it.
    """

    def __init__(
        self, marked: Marked, source: Sequence[Span], line: str, target: Sequence[Span], entities: bool
    ) -> None:
        self._marked = marked
        self._line = line
        self._entities = entities
        self._source_ends = [end for _, end in source]
        self._source_gaps = _gaps(marked.text, source)
        self._gaps = _gaps(line, target)
        self._written: list[str] = []
        self._at = 0

    def write(self, placed: Placed) -> None:
        """Write everything, in the order that nesting asks for."""
        points = sorted(placed.points, key=lambda tag: (placed.points[tag], tag))
        open_elements: list[tuple[int, int]] = []  # (end, opening tag)
        waiting = in_nesting_order(placed.elements.values())
        events = sorted({end for element in waiting for end in element.range} | set(placed.points.values()))
        for place in events:
            while True:
                inner = open_elements[-1][1] if open_elements else -1
                mine = [tag for tag in points if placed.points[tag] == place and self._home(placed, tag) == inner]
                for tag in mine:
                    self._point(tag, place)
                    points.remove(tag)
                if not open_elements or open_elements[-1][0] > place:
                    break
                self._tag(self._marked.tags[open_elements.pop()[1]].partner, place, to_left=True)
            while waiting and waiting[0].range[0] == place:
                element = waiting.pop(0)
                open_elements.append((element.range[1], element.tag))
                self._tag(element.tag, place, to_left=False)
                for tag in [t for t in points if placed.points[t] == place and self._home(placed, t) == element.tag]:
                    self._point(tag, place)
                    points.remove(tag)
        for tag in points:  # a pair that is nowhere open at its place; cannot happen, but nothing may be lost
            self._point(tag, placed.points[tag])

    def line(self) -> str:
        """The line as far as it is written, and the rest of the text."""
        return "".join([*self._written, self._text(self._line[self._at :])])

    def _home(self, placed: Placed, tag: int) -> int:
        return self._marked.tags[tag].parent

    def _point(self, tag: int, place: int) -> None:
        """A lone tag, or an empty pair with everything in it."""
        tags = self._marked.tags
        last = tags[tag].partner if tags[tag].kind == OPEN else tag
        if tags[tag].kind == PLACEHOLDER:
            self._placeholder(tag, place)
            return
        glued = tags[tag].at == self._source_gaps[self._gap_of(tags[tag])][0]
        self._tag(tag, place, to_left=glued)
        has_words = self._gap_of(tags[tag]) != self._gap_of(tags[last])
        for inner in range(tag + 1, last + 1):
            if tags[inner].kind == PLACEHOLDER:
                self._placeholder(inner, place, as_in_source=not has_words)
            elif has_words:
                self._written.append(tags[inner].raw)
            else:
                self._tag(inner, place, to_left=True)

    def _placeholder(self, tag: int, place: int, *, as_in_source: bool = True) -> None:
        """A placeholder, with a space where it would else touch a word that it did not touch in the source."""
        raw = self._marked.tags[tag].raw
        bare = raw.strip(" ")
        joins = raw == bare and _joins(bare, self._last_before(self._gaps[place][0]))
        if as_in_source and self._same_gap(tag, place) and not joins:
            self._tag(tag, place, to_left=True)
            return
        at = max(self._gaps[place][0], self._at)
        before, after = self._line[max(0, at - 1) : at], self._line[at : at + 1]
        free_before, free_after = before in ("", " "), after in ("", " ")
        if (free_before and free_after) or (free_before and (bare != raw or _joins(bare, after))):
            self._insert(at, bare + " " if after else bare)
        elif _joins(bare, before) or (free_after and bare != raw):
            self._insert(at, " " + bare)
        else:
            self._insert(at, bare)

    def _last_before(self, at: int) -> str:
        """The character that something inserted at ``at`` would follow."""
        return self._line[at - 1 : at] if at > self._at else "".join(self._written)[-1:]

    def _tag(self, tag: int, place: int, *, to_left: bool) -> None:
        start, end = self._gaps[place]
        at = self._marked.tags[tag].at
        source_start = self._source_gaps[self._gap_of(self._marked.tags[tag])][0]
        if self._same_gap(tag, place):
            self._insert(start + at - source_start, self._marked.tags[tag].raw)
        else:
            self._insert(start if to_left else end, self._marked.tags[tag].raw)

    def _same_gap(self, tag: int, place: int) -> bool:
        """Whether the white space around the tag is the same here as in the source, and its offset still free."""
        at = self._marked.tags[tag].at
        source_start, source_end = self._source_gaps[self._gap_of(self._marked.tags[tag])]
        start, end = self._gaps[place]
        alike = self._marked.text[source_start:source_end] == self._line[start:end]
        edges = (source_start == 0, source_end == len(self._marked.text)) == (start == 0, end == len(self._line))
        is_free = self._at <= start + at - source_start
        return source_start <= at <= source_end and alike and edges and is_free

    def _gap_of(self, tag: Tag) -> int:
        return bisect.bisect_right(self._source_ends, tag.at)

    def _insert(self, at: int, raw: str) -> None:
        at = max(at, self._at)
        self._written += [self._text(self._line[self._at : at]), raw]
        self._at = at

    def _text(self, text: str) -> str:
        return html.escape(text, quote=False) if self._entities else text


def _joins(placeholder: str, neighbour: str) -> bool:
    """Whether ``%s`` would be read as part of a word beside this character."""
    return placeholder.startswith("%") and neighbour.isascii() and neighbour.isalnum()


def _gaps(line: str, words: Sequence[Span]) -> list[Span]:
    """The ranges of characters before, between and after the words: one more than there are words."""
    starts = [0, *(end for _, end in words)]
    ends = [*(start for start, _ in words), len(line)]
    return list(zip(starts, ends, strict=True))

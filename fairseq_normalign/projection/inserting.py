"""The target line written with its tags: nested validly, each tag once, the text as it was."""

from __future__ import annotations

import bisect
import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..links.pieces import Span
from .markup import OPEN, PLACEHOLDER, Marked, Tag
from .placing import Placed, in_nesting_order, place_tags
from .spans import LinkedPair, confidence_of


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
    """How sure the place of every pair of tags around words is, in source order; empty when not asked for."""


def project_markup(
    marked: Marked,
    source: Sequence[Span],
    target_line: str,
    target: Sequence[Span],
    pair: LinkedPair,
    *,
    gaps: str = "close",
    entities: bool = False,
    confidence: bool = False,
) -> MarkedTarget:
    """Put the tags of ``marked`` into ``target_line``.

    ``source`` and ``target`` are the words of ``marked.text`` and ``target_line``; ``pair`` has their links. With
    ``entities`` the characters ``<``, ``>`` and ``&`` of the target line are written as entities. With
    ``confidence`` the confidence of each pair of tags is computed, too.

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
    elements = [placed.elements[tag] for tag in sorted(placed.elements)] if confidence else []
    confidences = [confidence_of(pair, element.span, [element.range]) for element in elements]
    writer = _Writer(marked, source, target_line, target, entities)
    writer.write(placed)
    return MarkedTarget(writer.line(), len(marked.tags) + len(already), notes, confidences)


def _without_those_there(marked: Marked, target_line: str) -> tuple[Marked, list[Note]]:
    """Leave out the placeholders that the translation has kept as words."""
    names = [tag.raw.strip(" ") for tag in marked.tags if tag.kind == PLACEHOLDER]
    if not names:
        return marked, []
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
        self._source = source
        self._ends = [end for _, end in source]
        self._target = target
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
                self._points_of(open_elements[-1][1] if open_elements else -1, place, placed, points)
                if not open_elements or open_elements[-1][0] > place:
                    break
                self._tag(self._marked.tags[open_elements.pop()[1]].partner, place, to_left=True)
            while waiting and waiting[0].range[0] == place:
                element = waiting.pop(0)
                open_elements.append((element.range[1], element.tag))
                self._tag(element.tag, place, to_left=False)
                self._points_of(element.tag, place, placed, points)
        for tag in points:  # a pair that is nowhere open at its place; cannot happen, but nothing may be lost
            self._point(tag, placed.points[tag])

    def line(self) -> str:
        """The line as far as it is written, and the rest of the text."""
        return "".join([*self._written, self._text(self._line[self._at :])])

    def _points_of(self, parent: int, place: int, placed: Placed, points: list[int]) -> None:
        """Write what stands alone at ``place`` inside the pair ``parent``, and take it out of ``points``."""
        if not points:
            return
        for tag in [tag for tag in points if placed.points[tag] == place and self._marked.tags[tag].parent == parent]:
            self._point(tag, place)
            points.remove(tag)

    def _point(self, tag: int, place: int) -> None:
        """A lone tag, or an empty pair with everything in it."""
        tags = self._marked.tags
        last = tags[tag].partner if tags[tag].kind == OPEN else tag
        if tags[tag].kind == PLACEHOLDER:
            self._placeholder(tag, place)
            return
        glued = tags[tag].at == _gap(self._marked.text, self._source, self._gap_of(tags[tag]))[0]
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
        offset = self._same_offset(tag, place) if as_in_source else None
        if offset is not None and not (raw == bare and _joins(bare, self._last_before(offset))):
            self._insert(offset, raw)
            return
        tag_at = self._marked.tags[tag].at
        touches_left = tag_at == _gap(self._marked.text, self._source, self._gap_of(self._marked.tags[tag]))[0]
        start, end = _gap(self._line, self._target, place)
        at = max(start if bare != raw or touches_left else end, self._at)
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
        offset = self._same_offset(tag, place)
        if offset is None:
            offset = _gap(self._line, self._target, place)[0 if to_left else 1]
        self._insert(offset, self._marked.tags[tag].raw)

    def _same_offset(self, tag: int, place: int) -> int | None:
        """Where the tag goes when the white space around it is as in the source, and that place is still free."""
        at = self._marked.tags[tag].at
        text, line = self._marked.text, self._line
        source_start, source_end = _gap(text, self._source, bisect.bisect_right(self._ends, at))
        start, end = _gap(line, self._target, place)
        offset = start + at - source_start
        if offset < self._at or at > source_end or text[source_start:source_end] != line[start:end]:
            return None
        same_edges = (source_start == 0) == (start == 0) and (source_end == len(text)) == (end == len(line))
        return offset if same_edges else None

    def _gap_of(self, tag: Tag) -> int:
        return bisect.bisect_right(self._ends, tag.at)

    def _insert(self, at: int, raw: str) -> None:
        at = max(at, self._at)
        self._written += [self._text(self._line[self._at : at]), raw]
        self._at = at

    def _text(self, text: str) -> str:
        return html.escape(text, quote=False) if self._entities else text


def _joins(placeholder: str, neighbour: str) -> bool:
    """Whether ``%s`` would be read as part of a word beside this character."""
    return placeholder.startswith("%") and neighbour.isascii() and neighbour.isalnum()


def _gap(line: str, words: Sequence[Span], place: int) -> Span:
    """The range of characters between word ``place - 1`` and word ``place``."""
    return words[place - 1][1] if place else 0, words[place][0] if place < len(words) else len(line)

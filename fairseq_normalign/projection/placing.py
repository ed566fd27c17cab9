"""Where the tags of a source line go in the target: ranges of words for pairs, places between words for the others.

The rules, beside those of :mod:`fairseq_normalign.projection.spans`:

1. No word is split. A pair that covers part of a word covers the word; a lone tag inside a word goes before it.
2. A pair takes one range of target words, and lies within the range of every pair it was in.
3. Two ranges that would cross are cut apart where fewest linked words are left outside.
4. A pair around no words, or around words without a link, is put, empty, where a lone tag would be.
5. A lone tag at the start or the end of the line stays there. Elsewhere it goes with the word after it; with the one
   before it when it touches that one alone, or when punctuation follows after a space. If that word has no link, with
   the other one, and so on outwards; without any links, the place is proportional.
6. A lone tag stays inside the pairs it was in, and outside those it was not in, at the nearest place.
"""

from __future__ import annotations

import bisect
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..links.pieces import Span
from .markup import CLOSE, OPEN, Marked, Tag
from .spans import LinkedPair, project_span

_start, _end = operator.itemgetter(0), operator.itemgetter(1)
_NOTHING: frozenset[int] = frozenset()


@dataclass(slots=True)
class Element:
    """A pair of tags with the target words it encloses; an empty range has no words."""

    tag: int
    """Position of its opening tag."""
    span: Span
    """The source words that the tags enclose."""
    own: frozenset[int]
    """The target words that are linked to these source words."""
    range: Span
    ancestors: frozenset[int]


@dataclass
class Placed:
    """The places of all tags of a line."""

    elements: dict[int, Element] = field(default_factory=dict)
    """Position of the opening tag -> its element; only elements with words."""
    points: dict[int, int] = field(default_factory=dict)
    """Position of a tag that stands alone, or of the opening tag of an empty pair -> how many target words are before
    it."""
    notes: list[tuple[int, str, str]] = field(default_factory=list)
    """(position of the tag, what happened, details)."""


def place_tags(marked: Marked, source: Sequence[Span], pair: LinkedPair, *, gaps: str = "close") -> Placed:
    """Place every tag; ``source`` are the words of ``marked.text``."""
    placed = Placed()
    empty: set[int] = set()
    for position, tag in enumerate(marked.tags):
        if tag.kind == OPEN:
            span = words_before(source, tag.at), _words_begun(source, marked.tags[tag.partner].at)
            if tag.parent in empty or not _project(placed, position, marked.tags, span, pair, gaps):
                empty.add(position)
            _note_widened(placed, position, marked.tags, span, source)
    _uncross(placed)
    for position, tag in enumerate(marked.tags):
        if tag.kind == CLOSE or (tag.kind == OPEN and position in placed.elements):
            continue
        if tag.parent < 0 or tag.parent in placed.elements:  # else it goes with the empty pair around it
            placed.points[position] = _place_of(placed, position, marked, source, pair)
    return placed


def words_before(words: Sequence[Span], at: int) -> int:
    """How many words end at the character ``at`` or before it."""
    return bisect.bisect_right(words, at, key=_end)


def _words_begun(words: Sequence[Span], at: int) -> int:
    """How many words begin before the character ``at``."""
    return bisect.bisect_left(words, at, key=_start)


def _project(placed: Placed, position: int, tags: Sequence[Tag], span: Span, pair: LinkedPair, gaps: str) -> bool:
    """Give a pair its range of target words; False when there is none."""
    if span[0] >= span[1]:
        return False
    projected = project_span(pair, span, gaps=gaps, with_confidence=False)
    if not projected.ranges:
        placed.notes.append((position, "unaligned", f"none of its {span[1] - span[0]} words has a link: left empty"))
        return False
    if projected.guessed:
        placed.notes.append((position, "guessed", "its words have no link: put between their neighbours' words"))
    if projected.left_out:
        placed.notes.append((position, "gap", f"{projected.left_out} linked words are outside"))
    parent = tags[position].parent
    around = placed.elements.get(parent)
    ancestors = around.ancestors | {parent} if around else _NOTHING
    first, last = projected.ranges[0]
    if around:  # only a guess, or a main part, can reach out of what is around it
        first, last = max(first, around.range[0]), min(last, around.range[1])
        if first >= last:
            placed.notes.append((position, "unaligned", "no word is left for it in the pair around it: left empty"))
            return False
    placed.elements[position] = Element(position, span, projected.own, (first, last), ancestors)
    return True


def _note_widened(placed: Placed, position: int, tags: Sequence[Tag], span: Span, source: Sequence[Span]) -> None:
    if span[0] >= span[1]:
        return
    if source[span[0]][0] < tags[position].at or tags[tags[position].partner].at < source[span[1] - 1][1]:
        placed.notes.append((position, "widened", "it was inside a word: put around the whole word"))


def _uncross(placed: Placed) -> None:
    """Cut crossing ranges apart until every two are nested or apart."""
    while len(placed.elements) > 1 and (crossing := _first_crossing(placed)):
        left, right = crossing
        cuts = range(right.range[0], left.range[1] + 1)
        cut = min(cuts, key=lambda place: _lost_words(left, right, place))
        words = _lost_words(left, right, cut)
        shrunk = right if words and _count(right.own, right.range[0], cut) else left
        placed.notes.append((shrunk.tag, "cut", f"crosses another pair: {words} linked words are outside"))
        _clip(placed, left, left.range[0], cut)
        _clip(placed, right, cut, right.range[1])


def _first_crossing(placed: Placed) -> tuple[Element, Element] | None:
    open_ranges: list[Element] = []
    for element in in_nesting_order(placed.elements.values()):
        while open_ranges and open_ranges[-1].range[1] <= element.range[0]:
            open_ranges.pop()
        if open_ranges and open_ranges[-1].range[1] < element.range[1]:
            return open_ranges[-1], element
        open_ranges.append(element)
    return None


def in_nesting_order(elements: Iterable[Element]) -> list[Element]:
    """The elements as their opening tags come: outer ones first."""
    return sorted(elements, key=lambda element: (element.range[0], -element.range[1], element.tag))


def _count(own: frozenset[int], start: int, end: int) -> int:
    return sum(start <= target < end for target in own)


def _lost_words(left: Element, right: Element, cut: int) -> int:
    return _count(left.own, cut, left.range[1]) + _count(right.own, right.range[0], cut)


def _clip(placed: Placed, element: Element, first: int, last: int) -> None:
    """Narrow an element and everything in it; one without words left is no longer there."""
    for inner in [element, *(each for each in placed.elements.values() if element.tag in each.ancestors)]:
        inner.range = max(first, inner.range[0]), min(last, inner.range[1])
        if inner.range[0] >= inner.range[1]:
            del placed.elements[inner.tag]
            placed.notes.append((inner.tag, "lost", "no word is left for it: left empty"))


def _place_of(
    placed: Placed,
    position: int,
    marked: Marked,
    source: Sequence[Span],
    pair: LinkedPair,
) -> int:
    """How many target words are before a tag that stands alone."""
    tag = marked.tags[position]
    before = words_before(source, tag.at)
    at_end = marked.tags[tag.partner].at if tag.kind == OPEN else tag.at
    after = max(before, _words_begun(source, at_end))
    if before < len(source) and source[before][0] < tag.at:
        placed.notes.append((position, "widened", "it was inside a word: put before it"))
        after = before
    wanted = _by_neighbours(placed, position, marked, before, after, source, pair)
    return _nearest_allowed(placed, tag, wanted, pair.target_length)


def _by_neighbours(
    placed: Placed, position: int, marked: Marked, before: int, after: int, source: Sequence[Span], pair: LinkedPair
) -> int:
    """Rule 5; ``before`` source words are before the tag, and the first one behind it is word ``after``."""
    if before == 0:
        return 0
    if after >= pair.source_length:
        return pair.target_length
    to_left = _goes_with_word_before(marked.tags[position], marked.text, source[before - 1][1], source[after])
    for distance in range(pair.source_length):
        left, right = before - 1 - distance, after + distance
        found = [max(pair.targets[left]) + 1] if left >= 0 and pair.targets[left] else []
        if right < pair.source_length and pair.targets[right]:
            found.insert(len(found) if to_left else 0, min(pair.targets[right]))
        if found:
            return found[0]
    placed.notes.append((position, "unaligned", "no word of the line has a link: put at a proportional place"))
    return round(before * pair.target_length / pair.source_length)


def _goes_with_word_before(tag: Tag, text: str, end: int, following: Span) -> bool:
    """Whether a tag touches the word before it, which ends at ``end``, or punctuation follows it after a space."""
    free_behind = tag.at < following[0]
    touches = tag.at == end and not tag.raw.startswith(" ")
    punctuation = not any(letter.isalnum() for letter in text[slice(*following)])
    return free_behind and (touches or punctuation)


def _nearest_allowed(placed: Placed, tag: Tag, wanted: int, length: int) -> int:
    """Rule 6: the place nearest to ``wanted`` that is within the pair around the tag and inside no other."""
    around = placed.elements.get(tag.parent)
    first, last = around.range if around else (0, length)
    inside = around.ancestors | {tag.parent} if around else frozenset()
    others = [
        element.range
        for element in placed.elements.values()
        if element.tag not in inside and not (element.range[0] <= first and last <= element.range[1] and around)
    ]
    place = min(max(wanted, first), last)
    for start, end in sorted(others, key=lambda other: other[0] - other[1]):  # the outermost first
        if start < place < end:
            near = start if place - start <= end - place else end
            place = near if first <= near <= last else start if first <= start else end
    return min(max(place, first), last)

"""The tags and placeholders of a source line put into its translation: nested validly, each once, the text as it was.

Placeholders come first: each is a word of the source, and is linked to itself in the translation, where it is inserted
if the translation lacks it. Then come the tags, by these rules, next to those of
:mod:`fairseq_normalign.projection.spans`:

1. No word is split. A pair of tags that covers part of a word covers the word; a lone tag inside a word goes before it.
2. A pair takes one range of target words, and lies within the range of every pair it was in. Punctuation at its edges
   is left out where the source has none there. Brackets or quotes around the range belong to it, with the words in
   them, when the source has none there and at most one of these words is linked to a word outside of the pair.
3. Two pairs side by side stay side by side: ranges that overlap are cut apart where fewest linked words are left
   outside. One goes into the other only where the words cross, or where one would be left without a word; never into
   one of the same name.
4. A pair around no words, or around words without a link, is put, empty, where a lone tag would be.
5. A lone tag at the start or the end of the line stays there. Elsewhere it goes with the word after it; with the one
   before it when it touches that one alone, or when punctuation follows after a space. If that word has no link, with
   the other one, and so on outwards; without any links, the place is proportional.
6. A lone tag stays inside the pairs it was in, and outside those it was not in, at the nearest place.
"""

from __future__ import annotations

import bisect
import heapq
import html
import itertools
import operator
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..links.pieces import Span
from ..text.words import may_be_unspaced
from .markup import CLOSE, OPEN, Marked, Tag, find_placeholders
from .spans import LinkedPair, confidence_of, project_span

_BRACKETS = dict(zip("[({「『【《〈［（«‹\"'", "])}」』】》〉］）»›\"'", strict=True))
_BRACKETS |= {"“": "”", "„": "“”", "‘": "’", "‚": "‘’"}
"""Opening brackets and quotes, each with those that close it."""
_BRACKETS_WITHIN = 8
"""How many words a bracket may be away from the words that are linked."""
_start, _end = operator.itemgetter(0), operator.itemgetter(1)
_OPENING, _CLOSING = frozenset(_BRACKETS), frozenset("".join(_BRACKETS.values()))

_REFERENCE = re.compile(r"&(?:#[0-9]+|#x[0-9a-f]+|\w+);", re.IGNORECASE)
"""A character reference."""
_UNALIGNED = "unaligned", "none of its words has a link: left empty"
_LOST = "lost", "no word is left for it: left empty"


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
    gaps: str = "main",
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
    if entities:
        ends = [0, *itertools.accumulate(len(html.escape(letter, quote=False)) for letter in target_line)]
        target_line = html.escape(target_line, quote=False)
        target = [(ends[start], ends[end]) for start, end in target]
    if not marked.tags and not marked.placeholders:
        return MarkedTarget(target_line, 0, [], [])
    texts = _Texts(marked.full, source, target_line, target, pair)
    notes: list[Note] = []
    if marked.placeholders:
        texts, notes = _with_placeholders(marked, source, target_line, target, pair)
    elements = _place(marked, texts, gaps, notes)
    alone = "no partner: placed as a tag that stands alone"
    notes += [Note(tag.raw, "unmatched", alone) for tag in marked.tags if tag.unmatched]
    enclosing = [element for element in elements[1:] if confidence and element.range[0] < element.range[1]]
    confidences = [confidence_of(texts.pair, element.span, [element.range]) for element in enclosing]
    line = _written(marked, texts, elements[0])
    return MarkedTarget(line, len(marked.tags) + len(marked.placeholders), notes, confidences)


# -- placeholders -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Texts:
    """Both lines with their placeholders as words."""

    source_line: str
    source: Sequence[Span]
    target_line: str
    target: Sequence[Span]
    pair: LinkedPair


def _with_placeholders(
    marked: Marked, source: Sequence[Span], line: str, target: Sequence[Span], pair: LinkedPair
) -> tuple[_Texts, list[Note]]:
    """Make the placeholders words of both sides, each linked to itself; insert those that the target lacks.

    The words of both sides get owners: the position of the word that they are, or are a part of, or -1 - n for
    placeholder n.
    """
    full, places = marked.full, marked.placeholders
    names = [full[start:end] for start, end in places]
    hidden = [0, *itertools.accumulate(end - start for start, end in marked.hidden)]
    starts = [start - before for (start, _), before in zip(marked.hidden, hidden, strict=False)]
    in_full = [
        (start + hidden[bisect.bisect_right(starts, start)], end + hidden[bisect.bisect_left(starts, end)])
        for start, end in source
    ]
    source_words, source_owners = _split(in_full, dict(enumerate(places)))

    waiting: dict[str, list[int]] = {}
    for number in reversed(range(len(names))):
        waiting.setdefault(names[number], []).append(number)
    anywhere = re.compile("|".join(map(re.escape, sorted(waiting, key=len, reverse=True))))
    kept = {waiting[found[0]].pop(): found.span() for found in anywhere.finditer(line) if waiting[found[0]]}
    words, owners = _split(target, kept)
    if len(kept) < len(places):
        texts = _Texts(full, source_words, line, words, _linked(pair, source_owners, owners))
        whole = _whole(line, full)
        lost: dict[int, list[int]] = {}  # for each place in the target, the words of the source that go there
        run: list[int] = []
        for word, owner in enumerate([*source_owners, 0]):
            if owner < 0 and -1 - owner not in kept:
                run.append(word)
            elif run:
                before, after = run[0], run[-1] + 1
                start, end = source_words[before][0], source_words[after - 1][1]
                place, _ = _by_neighbours(texts, start, end, before, after)
                while place < len(words) and words[place][0] < _around(whole, words[place][0])[1]:
                    place += 1
                lost.setdefault(place, []).extend(run)
                run = []
        line, words, owners = _with_lost(marked, texts, (source_owners, owners), lost)
    texts = _Texts(full, source_words, line, words, _linked(pair, source_owners, owners))
    notes = [Note(names[number], "already there", "the translation has it") for number in sorted(kept)]
    for number, (start, end) in enumerate(places):
        word = bisect.bisect(in_full, (start,)) - 1
        if number not in kept and word >= 0 and end < in_full[word][1]:
            notes.append(Note(names[number], "widened", "it was inside a word: put before it"))
    return texts, notes


def _split(words: Sequence[Span], places: Mapping[int, Span]) -> tuple[list[Span], list[int]]:
    """The words and the placeholders in order, with their owners; what a word has beside a placeholder stays a word."""
    found = [(start, end, -1 - number) for number, (start, end) in places.items()]
    found.sort()
    starts, ends = [start for start, _, _ in found], [end for _, end, _ in found]
    for owner, (start, end) in enumerate(words):
        for number in range(bisect.bisect_right(ends, start), bisect.bisect_left(starts, end)):
            if start < starts[number]:
                found.append((start, starts[number], owner))
            start = ends[number]
        if start < end:
            found.append((start, end, owner))
    found.sort()
    return [(start, end) for start, end, _ in found], [owner for _, _, owner in found]


def _linked(pair: LinkedPair, source_owners: Sequence[int], target_owners: Sequence[int]) -> LinkedPair:
    """The links between words that have these owners."""
    owned: dict[int, list[int]] = {}
    for word, owner in enumerate(target_owners):
        owned.setdefault(owner, []).append(word)
    scores = {
        (word, other): 1.0 if owner < 0 else pair.score(owner, target)
        for word, owner in enumerate(source_owners)
        for target in ([owner] if owner < 0 else pair.targets[owner])
        for other in owned.get(target, ())
    }
    return LinkedPair(len(source_owners), len(target_owners), scores, scores)


def _with_lost(
    marked: Marked, texts: _Texts, known: tuple[list[int], list[int]], lost: Mapping[int, Sequence[int]]
) -> tuple[str, list[Span], list[int]]:
    """The target line with the lost placeholders, its words, and their owners; ``known``: the owners on both sides."""
    full, source, line, target = marked.full, texts.source, texts.target_line, texts.target
    text, words, owners = "", [], []
    for place in range(len(target) + 1):
        gap_start, gap_end = _gap(line, target, place)
        done = gap_start
        of_place = lost.get(place, ())
        whole = bool(of_place) and of_place[-1] - of_place[0] < len(of_place)
        if whole:  # the same gap as in the source is written as it is there
            first, last = _gap(full, source, of_place[0])[0], _gap(full, source, of_place[-1] + 1)[1]
            inside = marked.hidden[bisect.bisect(marked.hidden, (first,)) : bisect.bisect(marked.hidden, (last,))]
            bare = last - first - sum(end - start for start, end in inside)
            edges = (first == 0, last == len(full)) == (gap_start == 0, gap_end == len(line))
            whole = edges and line[gap_start:gap_end] == " " * bare
        for number, word in enumerate(of_place):
            start, end = source[word]
            name = full[start:end]
            if whole:
                before = full[first if not number else source[of_place[number - 1]][1] : start]
                after = full[end:last] if number + 1 == len(of_place) else ""
            else:
                free_left = full[max(0, start - 1) : start] in ("", " ")
                free_right = full[end : end + 1] in ("", " ")
                at = max(done, gap_start if free_right else gap_end)
                text += line[done:at]
                done = at
                left, right = text[-1:], line[at : at + 1]
                before = after = ""
                if left in ("", " ") and right in ("", " "):
                    after = " " if right or number + 1 < len(of_place) else ""
                elif left not in ("", " ") and (
                    (free_left and left not in _OPENING and not may_be_unspaced(left)) or _joins(name, left)
                ):
                    before = " "
                elif right not in ("", " ") and (
                    (free_right and right not in _CLOSING and not may_be_unspaced(right)) or _joins(name, right)
                ):
                    after = " "
            text += before
            words.append((len(text), len(text) + len(name)))
            owners.append(known[0][word])
            text += name + after
        text += "" if whole else line[done:gap_end]
        if place < len(target):
            start, end = target[place]
            words.append((len(text), len(text) + end - start))
            owners.append(known[1][place])
            text += line[start:end]
    return text, words, owners


def _whole(line: str, source: str) -> list[Span]:
    """The character references of a line and the placeholders that the source lacks: nothing goes into these."""
    references = [match.span() for match in _REFERENCE.finditer(line)] if "&" in line else []
    return sorted([*references, *(span for span in find_placeholders(line) if line[slice(*span)] not in source)])


def _around(whole: Sequence[Span], offset: int) -> Span:
    """The span that has ``offset`` inside; else an empty one at ``offset``."""
    number = bisect.bisect_left(whole, (offset,)) - 1
    return whole[number] if number >= 0 and offset < whole[number][1] else (offset, offset)


def _joins(placeholder: str, neighbour: str) -> bool:
    """Whether ``%s`` would be read as part of a word beside this character."""
    return placeholder.startswith("%") and neighbour.isascii() and neighbour.isalnum()


def _gap(line: str, words: Sequence[Span], place: int) -> Span:
    """The range of characters between word ``place - 1`` and word ``place``."""
    return words[place - 1][1] if place else 0, words[place][0] if place < len(words) else len(line)


def _by_neighbours(texts: _Texts, start: int, end: int, before: int, after: int) -> tuple[int, bool]:
    """Rule 5 for the characters ``start`` to ``end``: the place in the target, and whether a link says so.

    ``before`` source words are before it, and the first one behind it is word ``after``.
    """
    pair, source = texts.pair, texts.source
    if before == 0:
        return 0, True
    if after >= pair.source_length:
        return pair.target_length, True
    left, right = pair.nearest_linked[0][before], pair.nearest_linked[1][after]
    if left < 0 and right < 0:
        return round(before * pair.target_length / pair.source_length), False
    following = texts.source_line[slice(*source[after])]
    to_left = end < source[after][0] and (
        start == source[before - 1][1] or not any(letter.isalnum() for letter in following)
    )
    near = before - 1 - left <= right - after if to_left else before - 1 - left < right - after
    if right < 0 or (left >= 0 and near):
        return max(pair.targets[left]) + 1, True
    return min(pair.targets[right]), True


# -- tags -------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Element:
    """A pair of tags with the target words that it encloses."""

    tag: int
    """Position of its opening tag."""
    name: str
    span: Span
    """The source words that the tags enclose."""
    range: Span = (0, 0)
    own: Sequence[int] = ()
    """The target words that are linked to these source words."""
    children: list[_Element] = field(default_factory=list)
    adopted: list[_Element] = field(default_factory=list)
    """Elements that were next to it in the source."""
    points: list[tuple[int, int]] = field(default_factory=list)
    """(how many target words are before it, position) of each tag in it that stands alone, and of each empty pair."""

    def own_in(self, start: int, end: int) -> int:
        """How many of its own words are in a range."""
        return bisect.bisect_left(self.own, end) - bisect.bisect_left(self.own, start)


def _place(marked: Marked, texts: _Texts, gaps: str, notes: list[Note]) -> list[_Element]:
    """Place every tag; return the element of the whole line, and after it that of each pair around words."""
    tags, words, pair = marked.tags, texts.source, texts.pair
    root = _Element(-1, "", (0, pair.source_length), (0, pair.target_length))
    elements = {-1: root}
    alone: dict[int, list[int]] = {-1: []}
    without_words: set[int] = set()
    for position, tag in enumerate(tags):
        if tag.kind == CLOSE or tag.parent in without_words:  # goes with its opening tag, or with the empty pair around
            without_words.add(position)
            continue
        end = tags[tag.partner].at
        span = bisect.bisect_right(words, tag.at, key=_end), bisect.bisect_left(words, end, key=_start)
        if tag.kind == OPEN and span[0] < span[1]:
            elements[position], alone[position] = _Element(position, tag.name, span), []
            elements[tag.parent].children.append(elements[position])
            if words[span[0]][0] < tag.at or end < words[span[1] - 1][1]:
                notes.append(Note(tags[position].raw, "widened", "it was inside a word: put around the whole word"))
        else:
            without_words.add(position)
            alone[tag.parent].append(position)

    waiting = [root]
    while waiting:
        around = waiting.pop()
        empty = [*alone[around.tag]]
        for child in around.children:
            projected = project_span(pair, child.span, gaps=gaps, within=around.range)
            child.own = projected.own
            if not projected.ranges:
                known = any(pair.targets[word] for word in range(*child.span))
                notes.append(Note(tags[child.tag].raw, *(_LOST if known else _UNALIGNED)))
                continue
            if projected.guessed:
                notes.append(
                    Note(tags[child.tag].raw, "guessed", "its words have no link: put between their neighbours' words")
                )
            if projected.left_out:
                notes.append(Note(tags[child.tag].raw, "gap", f"{projected.left_out} linked words are outside"))
            child.range = projected.ranges[0]
            if child.span == around.span:
                child.range = around.range
            elif child.span != root.span:
                child.range = _to_punctuation(marked, texts, child, child.range, around)
        for child in around.adopted:
            child.range = max(child.range[0], around.range[0]), min(child.range[1], around.range[1])
        inside = [*around.children, *around.adopted]
        gone = [child for child in inside if child.range[0] >= child.range[1]]
        while gone:
            empty.append(gone[-1].tag)
            gone += gone.pop().adopted
        around.children = _apart([child for child in inside if child.range[0] < child.range[1]], tags, notes, empty)
        starts = [child.range[0] for child in around.children]
        for position in empty:
            tag = tags[position]
            end = tags[tag.partner].at if tag.kind == OPEN else tag.at
            before = bisect.bisect_right(words, tag.at, key=_end)
            after = max(before, bisect.bisect_left(words, end, key=_start))
            if before < len(words) and words[before][0] < tag.at:
                notes.append(Note(tags[position].raw, "widened", "it was inside a word: put before it"))
                after = before
            place, known = _by_neighbours(texts, tag.at, end, before, after)
            if not known:
                notes.append(
                    Note(tags[position].raw, "unaligned", "no word of the line has a link: put at a proportional place")
                )
            place = min(max(place, around.range[0]), around.range[1])
            child = around.children[max(0, bisect.bisect_left(starts, place) - 1)] if starts else root
            if child.range[0] < place < child.range[1] and starts:
                place = child.range[0] if place - child.range[0] <= child.range[1] - place else child.range[1]
            around.points.append((place, position))
        around.points.sort()
        waiting += around.children
    return list(elements.values())


def _to_punctuation(marked: Marked, texts: _Texts, element: _Element, found: Span, around: _Element) -> Span:
    """Rule 2: the range without the punctuation at its edges, unless the source has some there, but with brackets."""
    (start, end), (low, high), tag = found, around.range, marked.tags[element.tag]

    def word(place: int) -> str:
        return texts.target_line[slice(*texts.target[place])]

    first, last = (texts.source_line[slice(*texts.source[n])] for n in (element.span[0], element.span[1] - 1))
    while end - start > 1 and _is_punctuation(word(end - 1)) and not _is_punctuation(last):
        end -= 1
    while end - start > 1 and _is_punctuation(word(start)) and not _is_punctuation(first):
        start += 1
    closing_at = marked.tags[tag.partner].at
    before = marked.full[max(0, tag.at - 2) : tag.at].strip(" ")[-1:]
    after = marked.full[closing_at : closing_at + 2].strip(" ")[:1]
    low, high = max(low, start - _BRACKETS_WITHIN), min(high, end + _BRACKETS_WITHIN)
    edges = _OPENING | _CLOSING
    opened = next((n for n in range(start, low - 1, -1) if word(n) in (_OPENING if n == start else edges)), -1)
    if before in _OPENING or after in _CLOSING or opened < 0 or word(opened) not in _OPENING:
        return start, end
    closers = _BRACKETS[word(opened)]
    closed = next((n for n in range(opened + 1, high) if word(n) in closers or (n >= end and word(n) in _OPENING)), -1)
    if closed < end - 1 or word(closed) not in closers:
        return start, end
    outside = {
        place: [source for source in texts.pair.sources[place] if not element.span[0] <= source < element.span[1]]
        for place in (*range(opened, start), *range(end, closed + 1))
    }
    if any(texts.source_line[slice(*texts.source[n])] in edges for at in (opened, closed) for n in outside.get(at, ())):
        return start, end
    others = sum(bool(sources) for place, sources in outside.items() if opened < place < closed)
    return (start, end) if others > min(1, element.own_in(start, end) - 1) else (opened, max(end, closed + 1))


def _is_punctuation(word: str) -> bool:
    """Whether there are only commas, hyphens and the like, and no brackets or quotes."""
    return all(unicodedata.category(letter)[0] == "P" and letter not in _OPENING | _CLOSING for letter in word)


def _apart(elements: Sequence[_Element], tags: Sequence[Tag], notes: list[Note], empty: list[int]) -> list[_Element]:
    """Rule 3, for the pairs within one: those that are side by side in the end; the others are adopted by one of them.
    Those that have no word left go to ``empty``.
    """
    waiting = [(element.range[0], -element.range[1], element.tag, element) for element in elements]
    heapq.heapify(waiting)
    path: list[_Element] = []  # each one is adopted by the one before it
    result: list[_Element] = []
    while waiting:
        right = heapq.heappop(waiting)[-1]
        while path and path[-1].range[1] <= right.range[0]:
            path.pop()
        if not path:
            result.append(right)
            path.append(right)
            continue
        left = path[-1]
        lost, cut, right_first = _best_cut(left, right)
        crossed = bool(left.own and right.own) and left.own[0] < right.own[0] and right.own[-1] < left.own[-1]
        nested = right.range[1] <= left.range[1] and (crossed or lost >= _NO_WORD)
        names = {tag.name for tag in tags[right.tag : tags[right.tag].partner]} if nested else set()
        if nested and not names & {element.name for element in path}:
            left.adopted.append(right)
            path.append(right)
            continue
        path.pop()
        (path[-1].adopted if path else result).pop()
        first, second = (right, left) if right_first else (left, right)
        shrunk = second if second.own_in(second.range[0], cut) else first
        first.range, second.range = (
            (first.range[0], min(first.range[1], cut)),
            (max(second.range[0], cut), second.range[1]),
        )
        if lost % _NO_WORD:
            notes.append(
                Note(tags[shrunk.tag].raw, "cut", f"crosses another pair: {lost % _NO_WORD} linked words are outside")
            )
        for element in (left, right):
            if _has_words(element, *element.range):
                heapq.heappush(waiting, (element.range[0], -element.range[1], element.tag, element))
            else:
                element.range = 0, 0
                empty.append(element.tag)
                notes.append(Note(tags[element.tag].raw, *_LOST))
                for inner in element.adopted:
                    heapq.heappush(waiting, (inner.range[0], -inner.range[1], inner.tag, inner))
                element.adopted = []
    return result


_NO_WORD = 1_000_000
"""What a cut costs that leaves a pair without a word; a linked word that is left outside costs 1."""


def _best_cut(left: _Element, right: _Element) -> tuple[int, int, bool]:
    """Where to cut two ranges that overlap: the cost, the place, and whether the right one then comes first."""
    (start, left_end), (begin, right_end) = left.range, right.range
    stop = min(left_end, right_end)
    places = {begin} | {
        target + 1
        for own in (left.own, right.own)
        for target in own[bisect.bisect_left(own, begin) : bisect.bisect_left(own, stop)]
    }
    best = (3 * _NO_WORD, begin, False)
    for cut in places:
        for right_first in (False, True):
            ours, theirs = ((cut, left_end), (begin, cut)) if right_first else ((start, cut), (cut, right_end))
            cost = len(left.own) - left.own_in(*ours) + len(right.own) - right.own_in(*theirs)
            cost += _NO_WORD * (1 - _has_words(right, *theirs)) + 2 * _NO_WORD * (1 - _has_words(left, *ours))
            best = min(best, (cost, cut, right_first))
    outside = len(left.own) - left.own_in(start, left_end) + len(right.own) - right.own_in(begin, right_end)
    return best[0] - outside, best[1], best[2]


def _has_words(element: _Element, start: int, end: int) -> bool:
    """Whether a range has a word for an element: one that is linked to it, if there is any."""
    return bool(element.own_in(start, end)) if element.own else start < end


# -- writing ----------------------------------------------------------------------------------------------------------


def _written(marked: Marked, texts: _Texts, root: _Element) -> str:
    """The target line with its tags.

    A tag keeps its offset within the white space where that is the same on both sides; else an opening tag touches the
    word behind it and a closing tag the word before it.
    """
    tags, line = marked.tags, texts.target_line
    written: list[str] = []
    done = 0
    whole = _whole(line, marked.full)

    def put(tag: Tag, place: int, to_left: bool) -> None:
        nonlocal done
        start, end = _gap(line, texts.target, place)
        before, after = _gap(marked.full, texts.source, bisect.bisect_right(texts.source, tag.at, key=_end))
        offset = start + tag.at - before
        edge = (before == 0) == (start == 0) and (after == len(marked.full)) == (end == len(line))
        if offset < done or tag.at > after or not edge or marked.full[before:after] != line[start:end]:
            offset = start if to_left else end
        offset = _around(whole, offset)[1 if to_left else 0]
        written.extend((line[done:offset], tag.raw))
        done = max(offset, done)

    def put_alone(place: int, position: int) -> None:
        """A lone tag, or an empty pair with everything in it."""
        tag = tags[position]
        last = tag.partner if tag.kind == OPEN else position
        gaps = [bisect.bisect_right(texts.source, each.at, key=_end) for each in (tag, tags[last])]
        put(tag, place, tag.at == _gap(marked.full, texts.source, gaps[0])[0])
        for inner in tags[position + 1 : last + 1]:
            if gaps[0] != gaps[1]:
                written.append(inner.raw)
            else:
                put(inner, place, True)

    path = [(root, 0)]  # the elements that are open, and how many points of each are written
    waiting: list[list[_Element]] = [root.children[::-1]]
    while path:
        element, count = path.pop()
        inner = waiting[-1].pop() if waiting[-1] else None
        while count < len(element.points) and (inner is None or element.points[count][0] <= inner.range[0]):
            put_alone(*element.points[count])
            count += 1
        if inner is not None:
            put(tags[inner.tag], inner.range[0], False)
            path += [(element, count), (inner, 0)]
            waiting.append(inner.children[::-1])
        else:
            waiting.pop()
            if element is not root:
                put(tags[tags[element.tag].partner], element.range[1], True)
    return "".join([*written, line[done:]])

"""A line with inline markup taken apart: the bare text, and every tag with its place in it.

Python's own ``html.parser`` reads the markup, so HTML, XML and the inline elements of XLIFF are all understood. Nothing
is lost: each tag keeps the very characters it was written with.
"""

from __future__ import annotations

import functools
import html
import itertools
from dataclasses import dataclass
from html.parser import HTMLParser

from .placeholders import find_placeholders

OPEN, CLOSE, POINT, PLACEHOLDER = "open", "close", "point", "placeholder"

VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
"""HTML elements that have no end tag."""

_TEXT, _START, _END, _ALONE = "text", "start", "end", "alone"
_NOT_TEXT = ("script", "style")
_READ_OTHERWISE = (*_NOT_TEXT, *"textarea title xmp iframe noembed noframes noscript plaintext".split())

Part = tuple[str, str, str]
"""(kind, the characters as they stand there, name of the tag)."""


@dataclass(slots=True)
class Tag:
    """One tag of a line, or a placeholder.

    ``kind`` is OPEN or CLOSE for a tag with a partner, POINT for one that stands alone (a void element, a comment, a
    tag whose partner is missing), PLACEHOLDER for ``{0}`` and the like.
    """

    raw: str
    at: int
    """Place in the bare text: it stood before this character."""
    kind: str
    name: str = ""
    partner: int = -1
    """Position of the other tag of the pair in :attr:`Marked.tags`."""
    parent: int = -1
    """Position of the opening tag of the innermost pair around it; -1 when there is none."""
    unmatched: bool = False


@dataclass(frozen=True)
class Marked:
    """A line without its markup, and the markup in order."""

    text: str
    tags: list[Tag]


def parse_markup(line: str, *, placeholders: bool = True, entities: bool = False) -> Marked:
    """Take a line apart.

    With ``placeholders``, ``{0}``, ``%s`` and the like are markup too; one that stands between two spaces takes one of
    them along, so that none is left over. With ``entities`` the text is read as HTML: ``&amp;`` becomes ``&``.

        >>> marked = parse_markup('See <a href="x">the <b>page</b></a>.<br/>')
        >>> marked.text
        'See the page.'
        >>> [(tag.raw, tag.at, tag.kind) for tag in marked.tags]  # doctest: +NORMALIZE_WHITESPACE
        [('<a href="x">', 4, 'open'), ('<b>', 8, 'open'), ('</b>', 12, 'close'), ('</a>', 12, 'close'),
         ('<br/>', 13, 'point')]
    """
    if "<" not in line and not (placeholders and ("{" in line or "%" in line)):
        return Marked(html.unescape(line) if entities else line, [])
    parts = markup_events(line)
    if placeholders and ("{" in line or "%" in line):
        parts = [part for event in parts for part in _split(event)]
    gathered = _Gathered(entities)
    for number, (kind, raw, name) in enumerate(parts):
        if kind == _TEXT:
            gathered.text(raw)
        elif kind == PLACEHOLDER:
            gathered.placeholder(parts, number)
        else:
            gathered.tags.append(Tag(raw, gathered.length, kind, name))
    _pair(gathered.tags)
    return Marked("".join(gathered.texts), gathered.tags)


def strip_markup(line: str, *, placeholders: bool = True, entities: bool = False) -> str:
    """The bare text of a line: what is translated and aligned.

    >>> strip_markup("Press <b>{0}</b> to <i>go on</i>.")
    'Press  to go on.'
    """
    return parse_markup(line, placeholders=placeholders, entities=entities).text


class _Events(HTMLParser):
    """Where the constructs of a line begin. What lies between two beginnings belongs to the first of them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[int, str, str]] = []
        self._lines = [0]

    def read(self, line: str) -> list[tuple[int, str, str]]:
        self.reset()
        self.found = []
        self._lines = [0]
        if "\n" in line:
            self._lines = [0, *itertools.accumulate(len(part) + 1 for part in line.split("\n"))]
        try:
            self.feed(line)
            self.close()
        except AssertionError:  # how html.parser gives up, on "<![-" for example: from there on it is text
            self._add(_TEXT)
        return self.found

    def _add(self, kind: str, name: str = "") -> None:
        row, column = self.getpos()
        self.found.append((self._lines[row - 1] + column, kind, name))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._add(_ALONE if tag in VOID else _START, tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self._add(_ALONE, tag)

    def handle_endtag(self, tag: str) -> None:
        self._add(_END, tag)

    def handle_data(self, data: str) -> None:
        self._add(_TEXT)

    def handle_entityref(self, name: str) -> None:
        self._add(_TEXT)

    def handle_charref(self, name: str) -> None:
        self._add(_TEXT)

    def handle_comment(self, data: str) -> None:
        self._add(_ALONE)

    def handle_decl(self, decl: str) -> None:
        self._add(_ALONE)

    def unknown_decl(self, data: str) -> None:
        self._add(_ALONE)

    def handle_pi(self, data: str) -> None:
        self._add(_ALONE)


_PARSER = _Events()


def markup_events(line: str) -> list[Part]:
    """(kind, raw, name) of each construct, the kind one of text, start, end, alone; nothing of ``line`` is left out."""
    if "<" not in line:
        return [(_TEXT, line, "")]
    return _plain_events(line) or _parsed_events(line)


def _plain_events(line: str) -> list[Part] | None:
    """Parse a line of text and ordinary tags faster: each distinct tag goes through the parser once. Else None."""
    parts: list[Part] = []
    done = 0
    while (start := line.find("<", done)) >= 0:
        end = line.find(">", start) + 1
        known = _known_tag(line[start:end]) if end else None
        if known is None:
            return None
        if start > done:
            parts.append((_TEXT, line[done:start], ""))
        parts.append((known[0], line[start:end], known[1]))
        done = end
    return [*parts, (_TEXT, line[done:], "")] if done < len(line) else parts


@functools.lru_cache(maxsize=1 << 16)
def _known_tag(tag: str) -> tuple[str, str] | None:
    """(kind, name) of a tag that ends at its first ``>`` and changes nothing of how the rest is read; else None."""
    quotes = [tag.count(quote) for quote in "'\""]
    if tag.count("<") > 1 or all(quotes) or any(count % 2 for count in quotes):
        return None
    found = _PARSER.read(tag)
    if len(found) != 1 or found[0][0] != 0 or found[0][1] == _TEXT or found[0][2] in ("", *_READ_OTHERWISE):
        return None
    return found[0][1:]


def _parsed_events(line: str) -> list[Part]:
    found = _PARSER.read(line)
    if not found or found[0][0]:
        found.insert(0, (0, _ALONE, ""))  # what the parser passes over, like </>
    stops = [start for start, _, _ in found[1:]] + [len(line)]
    events: list[Part] = []
    inside = ""  # of a script or a style: no text
    for (start, kind, name), stop in zip(found, stops, strict=True):
        raw = line[start:stop]
        if inside or (kind == _TEXT and events and events[-1][0] == _TEXT):
            events[-1] = (events[-1][0], events[-1][1] + raw, events[-1][2])
            inside = "" if kind == _END and name == inside else inside
        elif kind == _START and name in _NOT_TEXT:
            events.append((_ALONE, raw, name))
            inside = name
        else:
            events.append((kind, raw, name))
    return events


def _split(event: Part) -> list[Part]:
    """Text and the placeholders in it by turns; a tag as it is."""
    kind, raw, _ = event
    found: list[Part] = []
    done = 0
    for start, end in find_placeholders(raw) if kind == _TEXT else ():
        found += [(_TEXT, raw[done:start], "")] if start > done else []
        found.append((PLACEHOLDER, raw[start:end], ""))
        done = end
    return [*found, (kind, raw[done:], "")] if found and done < len(raw) else found or [event]


class _Gathered:
    """The text and the tags of a line as far as it is read."""

    def __init__(self, entities: bool) -> None:
        self.texts: list[str] = []
        self.tags: list[Tag] = []
        self.length = 0
        self._entities = entities
        self._absorbed = 0  # characters at the start of the next text that a placeholder has taken

    def text(self, raw: str) -> None:
        """Add text."""
        raw = raw[self._absorbed :]
        self._absorbed = 0
        self.texts.append(html.unescape(raw) if self._entities else raw)
        self.length += len(self.texts[-1])

    def placeholder(self, parts: list[Part], number: int) -> None:
        """Add a placeholder. Between two spaces, or a space and an end of the line, it takes the one it touches."""
        raw = parts[number][1]
        following = next((part[1][0] for part in parts[number + 1 :] if part[0] == _TEXT), "")
        before = next((text[-1] for text in reversed(self.texts) if text), "")
        if before in ("", " ") and following in ("", " "):
            if before and number and parts[number - 1][0] == _TEXT and self.texts[-1].endswith(" "):
                self.texts[-1] = self.texts[-1][:-1]
                self.length -= 1
                raw = " " + raw
            elif following and parts[number + 1][0] == _TEXT:
                self._absorbed = 1
                raw += " "
        self.tags.append(Tag(raw, self.length, PLACEHOLDER))


def _pair(tags: list[Tag]) -> None:
    """Find the partners. A tag whose partner is missing, or would cross another pair, stands alone."""
    waiting: list[int] = []
    for position, tag in enumerate(tags):
        if tag.kind == _START:
            waiting.append(position)
        elif tag.kind == _END:
            place = next((n for n in reversed(range(len(waiting))) if tags[waiting[n]].name == tag.name), -1)
            if place >= 0:
                tag.partner = waiting[place]
                tags[tag.partner].partner = position
                del waiting[place:]
    inner = [-1]
    for position, tag in enumerate(tags):
        if tag.kind == _END and tag.partner >= 0:
            inner.pop()
        tag.parent = inner[-1]
        if tag.kind == _START and tag.partner >= 0:
            inner.append(position)
        tag.unmatched = tag.kind in (_START, _END) and tag.partner < 0
        if tag.kind in (_START, _END, _ALONE):
            tag.kind = POINT if tag.partner < 0 else OPEN if tag.kind == _START else CLOSE

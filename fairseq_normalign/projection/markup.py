"""A line with inline markup taken apart: its text, its tags, and its placeholders, each with its place.

HTML, XML and the inline elements of XLIFF and TMX are understood. Nothing is lost: each tag keeps the characters that
it was written with. The time for a line is proportional to its length.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import NormalignError
from ..links.pieces import Span

OPEN, CLOSE, POINT = "open", "close", "point"

MOST_NESTED = 250
"""How deep pairs of tags may be nested; a line with more is an error."""

VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
"""HTML elements that have no end tag."""

_BREAKS = frozenset(
    "address article aside blockquote br caption dd div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr li "
    "main nav ol p pre section table tbody td tfoot th thead tr ul".split()
)
"""HTML elements whose tags end a word: ``eins<br>zwei`` are two words."""

_CODE = frozenset(("bpt", "ept", "it", "ph"))
"""Elements of XLIFF 1.2 and TMX that hold native code."""

_PAIRED = {"bpt": "ept", "bx": "ex", "sc": "ec"}
"""Elements of XLIFF and TMX that stand for an opening tag, and those that stand for its closing tag."""

_PROTECTED = frozenset(("code", "kbd", "samp", "var"))
"""HTML elements that are not translated."""


@dataclass(slots=True)
class Tag:
    """One tag of a line.

    ``kind`` is OPEN or CLOSE for a tag with a partner, POINT for one that stands alone (a void element, a comment, an
    element with native code, a tag whose partner is missing).
    """

    raw: str
    at: int
    """Place in :attr:`Marked.full`: it stood before this character."""
    kind: str
    name: str = ""
    partner: int = -1
    """Position of the other tag of the pair in :attr:`Marked.tags`."""
    parent: int = -1
    """Position of the opening tag of the innermost pair around it; -1 when there is none."""
    unmatched: bool = False


@dataclass(frozen=True)
class Marked:
    """A line without its tags, and the tags in order."""

    text: str
    """What is translated and aligned: no tags and no placeholders."""
    full: str
    """The same with placeholders, and with the spaces that were left out with them."""
    tags: list[Tag]
    placeholders: Sequence[Span] = ()
    """Places of the placeholders in ``full``."""
    hidden: Sequence[Span] = ()
    """Everything in ``full`` that ``text`` lacks, in order."""


class Part(NamedTuple):
    """A piece of a line: ``kind`` is text, start, end, alone or protected."""

    kind: str
    raw: str
    name: str = ""


_CONSTRUCTS = re.compile(
    r"""<!--(?:.*?-->|.*) | <!\[CDATA\[(?:.*?\]\]>|.*) | <[!?][^<>]*>
    | <(script|style)(?=[\s/>])[^<>]*>(?:.*?</\1\s*>|.*)
    | <(?P<end>/?)(?P<name>[a-z][^\s<>/"'=]*|\d+(?=\s*/?>))
      (?:(?=(?P<attributes>(?:[^<>"']|"[^"]*"|'[^']*')*))(?P=attributes)|[^<>]*)>
    | </[^<>]*>""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)  # the lookahead keeps what it took: no backtracking over attributes

_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>]+))?""")

_PLACEHOLDER = re.compile(
    r"""\$\{[\w.:!|[\]-]{0,59}\} | \{\{[\w.:!|[\]-]{0,58}\}\} | \{[\w.:!|[\]-]{0,59}\}
    | (?<![A-Za-z0-9])%(?:\([^)]{0,59}\)|\d{1,4}\$)?[-+#0]{0,4}\d{0,4}(?:\.\d{0,4})?
      [sdifgGeExXoucrab@](?![A-Za-z0-9])""",
    re.VERBOSE,
)

_NUMBERS_CLOSED = re.compile(r"</(\d+)\s*>")
_LONG_REFERENCE = re.compile(r"(&#[0-9]{9,};?)")


def find_placeholders(text: str) -> list[Span]:
    """Where the placeholders of programs are in ``text``, in order.

    >>> [line[a:b] for line in ["%1$s of {count} ({{x}}), 50% sure, {a b}"] for a, b in find_placeholders(line)]
    ['%1$s', '{count}', '{{x}}']
    """
    if "{" not in text and "%" not in text:
        return []
    return [match.span() for match in _PLACEHOLDER.finditer(text)]


def markup_parts(line: str) -> Iterator[Part]:
    """The text and the tags of a line in order; together their characters are the line.

    >>> [(part.kind, part.raw) for part in markup_parts("a <b>c</b><br>")]
    [('text', 'a '), ('start', '<b>'), ('text', 'c'), ('end', '</b>'), ('alone', '<br>')]
    """
    done = 0
    numbers = set(_NUMBERS_CLOSED.findall(line))
    for match in _CONSTRUCTS.finditer(line):
        raw, name = match[0], (match["name"] or "").lower()
        if name.isdecimal() and not raw.endswith("/>") and name not in numbers:
            continue  # "a <1> b" is text; "<1>a</1>" is a pair of tags
        if match.start() > done:
            yield Part("text", line[done : match.start()])
        alone = not name or name in VOID or raw.endswith("/>")
        yield Part("alone" if alone and not match["end"] else "end" if match["end"] else "start", raw, name)
        done = match.end()
    if done < len(line):
        yield Part("text", line[done:])


def parse_markup(
    line: str, *, placeholders: bool = True, entities: bool = False, protect: bool = False, dita: bool = False
) -> Marked:
    """Take a line apart.

    With ``placeholders``, ``{0}``, ``%s`` and the like are not part of the text; one that stands between two spaces
    takes one of them along, so that none is left over. With ``entities`` the text is read as HTML: ``&amp;`` becomes
    ``&``. With ``protect``, elements of HTML that are not translated (code, kbd, samp, var, translate="no",
    class="notranslate") are placeholders with everything in them. The content of bpt, ept, it and ph is native code,
    and goes with its tag; with ``dita``, that of ph is text. A ph without attributes is code only where it starts with
    ``&lt;``.

        >>> marked = parse_markup('See <a href="x">the <b>page</b></a>.<br/>')
        >>> marked.text
        'See the page.'
        >>> [(tag.raw, tag.at, tag.kind) for tag in marked.tags]  # doctest: +NORMALIZE_WHITESPACE
        [('<a href="x">', 4, 'open'), ('<b>', 8, 'open'), ('</b>', 12, 'close'), ('</a>', 12, 'close'),
         ('<br/>', 13, 'point')]
    """
    found: list[Span] = []
    parts = _with_elements_whole(list(markup_parts(line)), protect, dita)
    texts: list[str] = []
    tags: list[Tag] = []
    length, last, first_tag = 0, "", 0  # the last character that is no placeholder, and the first tag behind it
    for part in parts:
        if part.kind not in ("text", "protected"):
            tags.append(Tag(part.raw, length, part.kind, part.name))
            continue
        raw = part.raw
        if entities and part.kind == "text":  # references of nine digits and more are text
            pieces = _LONG_REFERENCE.split(raw)
            raw = "".join(piece if number % 2 else html.unescape(piece) for number, piece in enumerate(pieces))
        places = [(0, len(raw))] if part.kind == "protected" else find_placeholders(raw) if placeholders else []
        visible = _without(raw, places, spaces=False)[0]
        since = tags[first_tag:] if visible else []
        if last.strip() and visible[:1].strip() and any(tag.name in _BREAKS for tag in since):
            texts.append(" ")
            opened = next((n for n, tag in enumerate(since) if tag.kind == "start" and tag.at == length), len(since))
            length += 1
            for tag in since[opened:]:
                tag.at = length
        found += [(length + start, length + end) for start, end in places]
        texts.append(raw)
        length += len(raw)
        if visible:
            last, first_tag = visible[-1], len(tags)
    around = [-1]
    for position, partner in enumerate(_partners([(tag.kind, tag.name) for tag in tags])):
        tag = tags[position]
        tag.partner = partner
        if tag.kind == "end" and partner >= 0:
            around.pop()
        tag.parent = around[-1]
        if tag.kind == "start" and partner >= 0:
            around.append(position)
            if len(around) > MOST_NESTED + 1:
                raise NormalignError(f"tags are nested more than {MOST_NESTED} deep")
        tag.unmatched = partner < 0 and tag.kind in ("start", "end")
        tag.kind = POINT if partner < 0 else OPEN if tag.kind == "start" else CLOSE
    full = "".join(texts)
    text, hidden = _without(full, found)
    return Marked(text, full, tags, found, hidden)


def strip_markup(line: str, **options: bool) -> str:
    """The bare text of a line: what is translated and aligned; ``options`` as for :func:`parse_markup`.

    >>> strip_markup("Press <b>{0}</b> to <i>go on</i>.<br>Then")
    'Press to go on. Then'
    """
    return parse_markup(line, **options).text


def is_untranslated(raw: str, name: str) -> bool:
    """Whether a start tag says that its element is not translated.

    >>> is_untranslated('<p class="x notranslate">', "p"), is_untranslated("<p translate='yes'>", "p")
    (True, False)
    """
    given = _attributes(raw)
    return (
        name in _PROTECTED
        or given.get("translate", "").lower() == "no"
        or "notranslate" in given.get("class", "").split()
    )


@functools.lru_cache(maxsize=4096)
def _attributes(raw: str) -> dict[str, str]:
    """The attributes of a tag."""
    name = re.match(r"</?[^\s<>/]*", raw)
    found = _ATTRIBUTE.findall(raw, name.end() if name else 0)
    return {key.lower(): value.strip("\"'") for key, value in reversed(found)}


def _with_elements_whole(parts: list[Part], protect: bool, dita: bool) -> list[Part]:
    """Make one part of each element that is protected or holds native code; name the paired tags of XLIFF and TMX."""
    names = {part.name for part in parts}
    if not (names & {*_CODE, *_PAIRED, *_PAIRED.values()} or protect):
        return parts
    partners = _partners([(part.kind, part.name) for part in parts])
    result: list[Part] = []
    place = 0
    while place < len(parts):
        kind, raw, name = parts[place]
        end = partners[place] if kind == "start" else -1
        given = _attributes(raw) if kind != "text" else {}
        as_text = name == "ph" and end >= 0 and (dita or not (given or parts[place + 1].raw.startswith("&lt;")))
        code = end >= 0 and name in _CODE and not as_text
        protected = end >= 0 and protect and is_untranslated(raw, name)
        if code or protected:
            raw = "".join(part.raw for part in parts[place : end + 1])
            kind = "protected" if protected else "alone"
            place = end
        if kind == "alone" and (name in _PAIRED or name in _PAIRED.values()):
            number = given.get("startref") or given.get("rid") or given.get("i") or given.get("id")
            if number:
                kind, name = "start" if name in _PAIRED else "end", f"{_PAIRED.get(name, name)} {number}"
        result.append(Part(kind, raw, name))
        place += 1
    return result


def _partners(tags: Sequence[tuple[str, str]]) -> list[int]:
    """For each (kind, name) the position of its partner, or -1: an end tag closes the nearest open one of its name, and
    what was opened within stays without a partner.
    """
    partners = [-1] * len(tags)
    waiting: list[int] = []
    of_name: dict[str, list[int]] = {}
    for position, (kind, name) in enumerate(tags):
        if kind == "start":
            waiting.append(position)
            of_name.setdefault(name, []).append(position)
        elif kind == "end" and of_name.get(name):
            opened = of_name[name][-1]
            while waiting and waiting[-1] >= opened:
                of_name[tags[waiting.pop()][1]].pop()
            partners[position], partners[opened] = opened, position
    return partners


def _without(full: str, placeholders: Sequence[Span], *, spaces: bool = True) -> tuple[str, list[Span]]:
    """The text without its placeholders, and what was left out: each of them, with ``spaces`` also one of two spaces
    around it.
    """
    if not placeholders:
        return full, []
    behind = [full[end : end + 1] for _, end in placeholders]
    for number in reversed(range(len(placeholders) - 1)):
        if placeholders[number][1] == placeholders[number + 1][0]:
            behind[number] = behind[number + 1]
    hidden: list[Span] = []
    texts: list[str] = []  # none is empty
    done = 0
    for (start, end), after in zip(placeholders, behind, strict=True):
        if start > done:
            texts.append(full[done:start])
        free = spaces and after in ("", " ") and (not texts or texts[-1].endswith(" "))
        if free and texts and start > done:
            texts[-1] = texts[-1][:-1]
            texts = texts if texts[-1] else texts[:-1]
            start -= 1
        elif free and full[end : end + 1] == " ":
            end += 1
        hidden.append((start, end))
        done = end
    return "".join([*texts, full[done:]]), hidden

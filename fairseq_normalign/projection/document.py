"""An HTML page taken apart into the lines to translate, and put together again.

A line is what stands between two tags of block elements (paragraphs, list items, headings, table cells) or line breaks:
text with inline tags. Everything else, scripts and preformatted text included, stays as it is, and so do elements with
``translate="no"`` or the class ``notranslate``.

    >>> page = read_document("<h1>Hallo</h1>\\n<p>Ein <b>Haus</b>.</p>")
    >>> page.lines
    ['Hallo', 'Ein <b>Haus</b>.']
    >>> page.filled(["Hello", "A <b>house</b>."])
    '<h1>Hello</h1>\\n<p>A <b>house</b>.</p>'

The way of each line: :func:`~fairseq_normalign.projection.markup.parse_markup` with ``entities`` and ``protect``,
translate and align its text, :func:`~fairseq_normalign.projection.inserting.project_markup` with ``entities``, and back
into the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..errors import NormalignError
from .markup import is_untranslated, markup_parts

INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font g i img ins kbd label mark ph q rp rt ruby s samp "
    "small span strike strong sub sup time tt u var wbr x".split()
)
"""Elements that are part of a line."""

UNTRANSLATED = frozenset("pre textarea svg math".split())
"""Elements that are left as they are with everything in them; so are scripts and styles."""


@dataclass(frozen=True)
class Document:
    """A page: what is left as it is, and the lines to translate between."""

    lines: list[str]
    """Each on one line, without white space at its ends."""
    frame: list[str]
    """What stands before, between and after the lines: one more than there are lines."""

    def filled(self, lines: Sequence[str]) -> str:
        """The page with other lines in the places of its own."""
        if len(lines) != len(self.lines):
            raise NormalignError(f"{len(lines)} lines for a page that has {len(self.lines)}")
        return self.frame[0] + "".join(line + after for line, after in zip(lines, self.frame[1:], strict=True))


def read_document(page: str) -> Document:
    """Take a page apart; ``read_document(page).filled(lines)`` puts it together."""
    lines: list[str] = []
    frame = [""]
    for is_line, raw in _stretches(page):
        bare = raw.strip()
        if not is_line or not bare:
            frame[-1] += raw
            continue
        start = raw.index(bare)
        frame[-1] += raw[:start]
        lines.append(" ".join(bare.split("\n")).replace("\r", " "))
        frame.append(raw[start + len(bare) :])
    return Document(lines, frame)


def _stretches(page: str) -> Iterator[tuple[bool, str]]:
    """(whether it is a line with text, the characters), in order."""
    waiting: list[str] = []
    has_text = False
    closed_by, depth = "", 0  # the element that is left as it is, while inside one, and how many of its name are open
    for kind, raw, name in markup_parts(page):
        if closed_by:
            depth += (kind == "start") - (kind == "end") if name == closed_by else 0
            closed_by = closed_by if depth else ""
        elif kind == "text" or name in INLINE or raw.startswith("<!--"):  # a comment ends no sentence
            waiting.append(raw)
            has_text = has_text or (kind == "text" and any(letter.isalnum() for letter in raw))
            continue
        elif kind == "start" and (name in UNTRANSLATED or is_untranslated(raw, name)):
            closed_by, depth = name, 1
        yield has_text, "".join(waiting)
        waiting, has_text = [], False
        yield False, raw
    yield has_text, "".join(waiting)

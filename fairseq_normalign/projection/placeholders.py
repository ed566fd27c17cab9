"""Placeholders of programs in text: ``{0}``, ``{name}``, ``{{name}}``, ``${name}``, ``%s``, ``%1$s``, ``%(name)d``."""

from __future__ import annotations

from ..links.pieces import Span

LONGEST_NAME = 60
"""Characters between braces; what is longer is no placeholder."""

_IN_NAMES = frozenset("._-:!|[]")
_CONVERSIONS = frozenset("sdifgGeExXoucrab@")
_FLAGS = frozenset("-+#0")


def find_placeholders(text: str) -> list[Span]:
    """Where the placeholders of ``text`` are, in order.

    >>> [line[a:b] for line in ["%1$s of {count} ({{x}}), 50% sure, {a b}"] for a, b in find_placeholders(line)]
    ['%1$s', '{count}', '{{x}}']
    """
    if "{" not in text and "%" not in text:
        return []
    found: list[Span] = []
    place = 0
    while place < len(text):
        end = _end_of_braces(text, place) if text[place] in "{$" else _end_of_percent(text, place)
        if end > place:
            found.append((place, end))
        place = max(end, place + 1)
    return found


def _end_of_braces(text: str, start: int) -> int:
    """The end of ``{name}``, ``{{name}}`` or ``${name}`` at ``start``; ``start`` itself when there is none."""
    opening = "${" if text.startswith("${", start) else "{{" if text.startswith("{{", start) else "{"
    if not text.startswith(opening, start):
        return start
    closing = "}}" if opening == "{{" else "}"
    name = start + len(opening)
    end = text.find(closing, name, name + LONGEST_NAME)
    if end < 0 or not all(letter.isalnum() or letter in _IN_NAMES for letter in text[name:end]):
        return start
    return end + len(closing)


def _end_of_percent(text: str, start: int) -> int:
    """The end of a printf placeholder at ``start``; ``start`` itself when there is none."""
    if text[start] != "%" or _is_ascii_word(text[max(0, start - 1) : start]):
        return start
    place = start + 1
    if text.startswith("(", place):
        place = text.find(")", place, place + LONGEST_NAME) + 1
        if not place:
            return start
    place = _skip_digits(text, place)
    place += text.startswith("$", place)
    while place < len(text) and text[place] in _FLAGS:
        place += 1
    place = _skip_digits(text, place)
    if text.startswith(".", place):
        place = _skip_digits(text, place + 1)
    ends = place < len(text) and text[place] in _CONVERSIONS
    return place + 1 if ends and not _is_ascii_word(text[place + 1 : place + 2]) else start


def _is_ascii_word(letter: str) -> bool:
    """Only ASCII letters and digits: Chinese and others have no spaces around a placeholder."""
    return letter.isascii() and letter.isalnum()


def _skip_digits(text: str, place: int) -> int:
    while place < len(text) and text[place].isdecimal():
        place += 1
    return place

"""The words of natural text, each with its place in the line.

A word is a half-open range of characters ``(start, end)`` of the line as it was given, so ``line[start:end]`` is the
word. Words never overlap, come in order, and hold no white space at their ends.

    >>> spans = find_words("Don't  stop, Anna!", "unicode")
    >>> words_at("Don't  stop, Anna!", spans)
    ["Don't", 'stop', ',', 'Anna', '!']
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..errors import MissingExtra, NormalignError
from ..links.pieces import Span
from .offsets import piece_spans
from .subwords import MosesTokenizer

if TYPE_CHECKING:
    import regex

WORD_KINDS = ("spaces", "unicode", "moses", "characters")
"""``spaces``: words are given, separated by ASCII spaces and tabs. ``unicode``: word boundaries of Unicode Annex 29;
punctuation marks are words of their own. ``moses``: the Moses tokenizer. ``characters``: what a reader sees as one
character (a letter with its combining marks, an emoji)."""

WordFinder = Callable[[str], list[Span]]
"""A function that finds the words of a line."""

_WIDE_MARKS = r"\u3000-\u303f\uff01-\uff0f\uff1a-\uff20]"  # punctuation of the same scripts

_GIVEN = re.compile(r"[^ \t]+")


def find_words(line: str, kind: str = "spaces", *, language: str = "en") -> list[Span]:
    """The words of ``line``, one ``(start, end)`` per word; ``kind`` is one of :data:`WORD_KINDS`.

    ``language`` is read by the Moses tokenizer alone.

        >>> find_words("a  bc", "spaces")
        [(0, 1), (3, 5)]
    """
    return word_finder(kind, language=language)(line)


def word_finder(kind: str, *, language: str = "en") -> WordFinder:
    """The function that finds words of one kind: make it once, call it for every line."""
    if kind == "spaces":
        return space_words
    if kind == "moses":
        return moses_words(language)
    if kind in ("unicode", "characters"):
        return functools.partial(_visible_words, kind=kind)
    raise NormalignError(f"unknown kind of words '{kind}'; choose one of {', '.join(WORD_KINDS)}")


def words_at(line: str, spans: Sequence[Span]) -> list[str]:
    """The words themselves.

    >>> words_at("a  bc", [(0, 1), (3, 5)])
    ['a', 'bc']
    """
    return [line[start:end] for start, end in spans]


def space_words(line: str) -> list[Span]:
    """Words separated by ASCII spaces and tabs and by nothing else: a no-break space is part of its word."""
    if "\t" in line:
        return [match.span() for match in _GIVEN.finditer(line)]
    found, start = [], 0
    for word in line.split(" "):  # twice as fast as an expression
        end = start + len(word)
        if word:
            found.append((start, end))
        start = end + 1
    return found


def _visible_words(line: str, kind: str) -> list[Span]:
    """Words between the default word boundaries of Unicode, or visible characters, without white space at their ends.

    Those boundaries use no dictionary: a Chinese character is a word of its own, and so is a Thai letter with its
    marks. Give such words by spaces, if you have them. What shows nothing (a zero-width space, a soft hyphen) is no
    word.
    """
    if kind == "unicode":
        parts = _pattern(kind).splititer(line)
    else:
        parts = (match.group() for match in _pattern(kind).finditer(line))
    found: list[Span] = []
    position = 0
    for part in parts:  # together they are the line
        bare = part.strip()
        if bare and (bare.isalnum() or not all(unicodedata.category(letter) in ("Cc", "Cf") for letter in bare)):
            start = position + len(part) - len(part.lstrip())
            found.append((start, start + len(bare)))
        position += len(part)
    return found


@functools.cache
def moses_words(language: str = "en") -> WordFinder:
    """A function that finds the words of the Moses tokenizer (no escaping, dashes left alone), in the line as given.

    >>> line = "It's  (really) good."
    >>> words_at(line, moses_words("en")(line))
    ['It', "'s", '(', 'really', ')', 'good', '.']
    """
    tokenize = MosesTokenizer(language)

    def find(line: str) -> list[Span]:
        words = [word for token in tokenize(line) for word in token.split()]
        return [span for span in places_of(line, words) if span[0] < span[1]]

    return find


def places_of(line: str, words: Sequence[str]) -> list[Span]:
    """Where in a line the words stand that a tokenizer made of it; what it wrote otherwise (``&apos;``) is found too.

    Places are in order and do not overlap. A word that stands for nothing in the line has an empty one.

        >>> places_of("It's  good", ["It", "&apos;s", "good"])
        [(0, 2), (2, 4), (6, 10)]
    """
    exact = _exactly(line, words) or _exactly(line, [html.unescape(word) for word in words])
    if exact or not words:
        return exact
    found: list[Span] = []
    for span in piece_spans(line, list(words)):
        last = found[-1][1] if found else 0
        start = max(last, span[0] if span else last)
        found.append((start, max(start, span[1] if span else start)))
    return found


def join_unspaced(line: str, spans: Sequence[Span]) -> tuple[str, list[Span]]:
    """The text of words given by spaces as a model reads it, and the same words in that text.

    White space beside a character of a script that is written without spaces (Chinese, Japanese, Thai, Lao, Khmer,
    Burmese) is dropped; between other words one space is left.

        >>> join_unspaced("我 爱 New York", [(0, 1), (2, 3), (4, 7), (8, 12)])
        ('我爱New York', [(0, 1), (1, 2), (2, 5), (6, 10)])
    """
    unspaced = _pattern("unspaced")
    text, found = "", []
    for start, end in spans:
        if text and not (unspaced.match(text[-1]) or unspaced.match(line[start : start + 1])):
            text += " "
        found.append((len(text), len(text) + end - start))
        text += line[start:end]
    return text, found


def spaced_words(line: str, spans: Sequence[Span]) -> tuple[str, list[Span]]:
    """The words of a line with one space between, and their places in that text; see :func:`join_unspaced`.

    >>> spaced_words("a  b", [(0, 1), (3, 4)])
    ('a b', [(0, 1), (2, 3)])
    """
    text = " ".join(words_at(line, spans))
    found, start = [], 0
    for first, last in spans:
        found.append((start, start + last - first))
        start += last - first + 1
    return text, found


def may_be_unspaced(line: str) -> bool:
    """Whether there may be letters of a script without spaces: all of these are from U+0E00 on."""
    return not line.isascii() and max(line) >= "\u0e00"


def lowered(text: str) -> str:
    """The text in lower case, with as many characters: one that would become two stays.

    >>> lowered("İSTANBUL")
    'İstanbul'
    """
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)


def _exactly(line: str, words: Sequence[str]) -> list[Span]:
    """Where the words are when nothing but white space is between them; else nothing."""
    found, position = [], 0
    for word in words:
        start = line.find(word, position)
        if start < 0 or line[position:start].strip():
            return []
        position = start + len(word)
        found.append((start, position))
    return found if not line[position:].strip() else []


@functools.cache
def _pattern(kind: str) -> regex.Pattern[str]:
    """Return what finds the borders of words, visible characters, or letters of scripts without spaces.

    The tables of the package ``regex`` follow Unicode, and it is released every few months.
    """
    try:
        import regex
    except ImportError:
        raise MissingExtra("regex", "words", "finding words by Unicode's rules") from None
    if kind == "unicode":
        return regex.compile(r"\b", flags=regex.V1 | regex.WORD)
    if kind == "characters":
        return regex.compile(r"\X")
    scripts = ("Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar")
    return regex.compile("[" + "".join(rf"\p{{Script_Extensions={script}}}" for script in scripts) + _WIDE_MARKS)

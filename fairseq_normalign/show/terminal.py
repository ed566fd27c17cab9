"""A soft alignment as a grid of letters, for the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import one_line
from ..links.read_pair import PairFlags, ReadPair, links_of, soft_of
from ..links.readings import Reading

SHADES = " ·░▒▓█"
ASCII_SHADES = " .:+*#"
_GREEN, _RED, _YELLOW, _DIM, _BOLD, _RESET = "\033[32m", "\033[31m", "\033[33m", "\033[2m", "\033[1m", "\033[0m"
_HEAD_LINES = 12
_LABEL = 18


@dataclass(frozen=True)
class Look:
    """How the grid is written: with colour or plain, in Unicode or ASCII, so many letters wide."""

    colour: bool = False
    unicode: bool = True
    width: int = 100


def grid(
    pair: ReadPair, choice: Reading, look: Look, *, threshold: float | None = None, level: str = "word"
) -> Iterator[str]:
    """The lines of the grid: target words downward, source words across, two letters per cell (mark, shade)."""
    source, target = ([*map(one_line, side.at(level).words)] for side in (pair.source, pair.target))
    soft = soft_of(pair, choice, level)
    links = set(links_of(pair, choice, threshold=threshold, level=level))
    shape = pair.readings[choice.method].shape
    yield _painted(one_line(f"sentence {pair.id + 1} · {choice.label(shape)}"), _BOLD, look)
    left = min(_LABEL, max((_width(word) for word in target), default=0))
    room = max(1, (look.width - left - 2) // 2)
    gold = pair.gold if level == "word" else None
    for start in range(0, max(1, len(source)), room):
        columns = range(start, min(start + room, len(source)))
        yield from _head([source[column] for column in columns], left)
        for row, word in enumerate(target):
            cells = (_cell(_kind((s, row), links, gold), _shade(soft, row, s, look), look) for s in columns)
            yield f"{_right(word, left)} {''.join(cells)}".rstrip()
    yield _legend(look, gold is not None, soft is not None)
    if pair.flags is not None:
        yield from _flagged(pair, pair.flags)


def _flagged(pair: ReadPair, flags: PairFlags) -> Iterator[str]:
    """What a check found, in words."""
    yield f"score of the check: {flags.score:.2f}"
    sides = ("source", flags.without_source, pair.target), ("target", flags.without_target, pair.source)
    for other, places, side in sides:
        if places:
            named = " ".join(f"{place + 1}:{side.words[place]}" for place in places)
            yield one_line(f"words without a {other}: {named}")


def _kind(link: tuple[int, int], links: set, gold) -> str:
    if link in links:
        return "right" if gold is None or link in gold.possible else "wrong"
    if gold is not None and link in gold.sure:
        return "missed"
    return ""


def _marks(look: Look) -> dict[str, str]:
    return {"right": "■", "wrong": "✗", "missed": "○", "": " "} if look.unicode else {
        "right": "@", "wrong": "x", "missed": "o", "": " "
    }  # fmt: skip


def _cell(kind: str, shade: str, look: Look) -> str:
    mark = _marks(look)[kind]
    if not kind:
        return _painted(f"{shade}{shade}", _DIM, look) if shade.strip() else "  "
    return _painted(f"{mark}{shade}", {"right": _GREEN, "wrong": _RED, "missed": _YELLOW}[kind], look)


def _shade(soft: np.ndarray | None, target: int, source: int, look: Look) -> str:
    shades = SHADES if look.unicode else ASCII_SHADES
    if soft is None or not soft[target].size or not soft[target].max() > 0:
        return " "
    part = float(soft[target, source] / soft[target].max())
    return shades[0] if part < 0.05 else shades[min(len(shades) - 1, 1 + int(part * (len(shades) - 1)))]


def _painted(text: str, colour: str, look: Look) -> str:
    return f"{colour}{text}{_RESET}" if look.colour else text


def _head(words: Sequence[str], left: int) -> Iterator[str]:
    """The source words written downward, ending on the line above the grid."""
    cut = [_clusters(word) for word in words]
    cut = [word if len(word) <= _HEAD_LINES else [*word[: _HEAD_LINES - 1], "…"] for word in cut]
    height = max(map(len, cut), default=0)
    for line in range(height):
        letters = [word[line - height + len(word)] if line >= height - len(word) else " " for word in cut]
        yield (" " * (left + 1) + "".join(letter + " " * (2 - _width(letter)) for letter in letters)).rstrip()


def _clusters(word: str) -> list[str]:
    """Letters with the marks that stand on them: one place in the grid each."""
    clusters: list[str] = []
    for letter in word:
        if clusters and _width(letter) == 0:
            clusters[-1] += letter
        else:
            clusters.append(letter)
    return clusters


def _width(text: str) -> int:
    """How many places the text takes in a terminal."""
    return sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _right(word: str, places: int) -> str:
    """The word at the right end of so many places; cut when it is longer."""
    letters = _clusters(word)
    if sum(map(_width, letters)) > places:
        while letters and sum(map(_width, letters)) > places - 1:
            letters.pop()
        letters.append("…")
    text = "".join(letters)
    return " " * (places - _width(text)) + text


def _legend(look: Look, judged: bool, shaded: bool) -> str:
    marks, shades = _marks(look), SHADES if look.unicode else ASCII_SHADES
    parts = [_painted(f"{marks['right']} link", _GREEN, look)]
    if judged:
        parts += [_painted(f"{marks['wrong']} wrong", _RED, look), _painted(f"{marks['missed']} missed", _YELLOW, look)]
    if shaded:
        parts.append(f"shade: part of the row's largest value, {shades.strip()}")
    return "   ".join(parts)

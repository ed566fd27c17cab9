"""A soft alignment as a grid: of letters for the terminal, as SVG for reports and notebooks."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import one_line
from ..links.decide import Link
from ..links.gold import Gold
from ..links.pieces import Sentence
from ..links.read_pair import ReadPair, links_of, soft_of
from ..links.readings import MethodReading, Reading
from .fonts import clusters

SHADES, ASCII_SHADES = " ·░▒▓█", " .:+*#"
MARKS, ASCII_MARKS = {"right": "■", "wrong": "✗", "missed": "○"}, {"right": "@", "wrong": "x", "missed": "o"}
_COLOURS = {"right": "\033[32m", "wrong": "\033[31m", "missed": "\033[33m", "dim": "\033[2m", "bold": "\033[1m"}
_RESET = "\033[0m"
_HEAD_LINES, _LABEL = 12, 18
"""The longest source word and target word in the grid of letters."""
_CELL, _LETTER, _LONGEST = 20, 7.6, 24
"""Of the SVG, in pixels: the edge of a cell and the width of a letter; and the letters of the longest label."""


@dataclass(frozen=True)
class Look:
    """How the grid is written: with colour or plain, in Unicode or ASCII, and at most ``width`` letters wide."""

    colour: bool = False
    unicode: bool = True
    width: int = 100

    def painted(self, text: str, colour: str) -> str:
        """Return the text in a colour, if the grid has colours."""
        return f"{_COLOURS[colour]}{text}{_RESET}" if self.colour else text


def text_grid(
    pair: ReadPair, choice: Reading, look: Look, *, threshold: float | None = None, level: str = "word"
) -> Iterator[str]:
    """Give the lines of the grid: target words downward, source words across, two letters per cell (mark, shade)."""
    source, target = ([*map(one_line, side.at(level).words)] for side in (pair.source, pair.target))
    soft = soft_of(pair, choice, level)
    links = set(links_of(pair, choice, threshold=threshold, level=level))
    gold = pair.gold if level == "word" else None
    marks, shades = (MARKS, SHADES) if look.unicode else (ASCII_MARKS, ASCII_SHADES)

    def cell(row: int, column: int) -> str:
        shade, link = shades[0], (column, row)
        if soft is not None and soft[row].max() > 0:
            part = float(soft[row, column] / soft[row].max())
            shade = shades[0] if part < 0.05 else shades[min(len(shades) - 1, 1 + int(part * (len(shades) - 1)))]
        if link in links:
            kind = "right" if gold is None or link in gold.possible else "wrong"
        elif gold is not None and link in gold.sure:
            kind = "missed"
        else:
            return look.painted(shade * 2, "dim") if shade.strip() else "  "
        return look.painted(f"{marks[kind]}{shade}", kind)

    yield look.painted(one_line(f"sentence {pair.id + 1} · {choice.label(pair.readings[choice.method].shape)}"), "bold")
    left = min(_LABEL, max((_width(word) for word in target), default=0))
    room = max(1, (look.width - left - 2) // 2)
    for start in range(0, max(1, len(source)), room):
        shown = range(start, min(start + room, len(source)))
        head = [clusters(source[column]) for column in shown]  # source words written downward, ending above the grid
        head = [word if len(word) <= _HEAD_LINES else [*word[: _HEAD_LINES - 1], "…"] for word in head]
        height = max(map(len, head), default=0)
        for line in range(height):
            letters = [word[line - height + len(word)] if line >= height - len(word) else " " for word in head]
            yield (" " * (left + 1) + "".join(letter + " " * (2 - _width(letter)) for letter in letters)).rstrip()
        for row, word in enumerate(target):
            label = _cut(word, left)
            yield f"{' ' * (left - _width(label))}{label} {''.join(cell(row, column) for column in shown)}".rstrip()

    legend = [look.painted(f"{marks['right']} link", "right")]
    if gold is not None:
        legend += [look.painted(f"{marks[kind]} {kind}", kind) for kind in ("wrong", "missed")]
    if soft is not None:
        legend.append(f"shade: part of the row's largest value, {shades.strip()}")
    yield "   ".join(legend)
    if pair.flags is not None:
        yield f"score of the check: {pair.flags.score:.2f}"
        sides = ("source", pair.flags.without_source, pair.target), ("target", pair.flags.without_target, pair.source)
        for other, places, side in sides:
            if places:
                named = " ".join(f"{place + 1}:{side.words[place]}" for place in places)
                yield one_line(f"words without a {other}: {named}")


def _width(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    return sum(2 if unicodedata.east_asian_width(cluster[0]) in "WF" else 1 for cluster in clusters(text))


def svg_grid(
    source: Sequence[str],
    target: Sequence[str],
    links: Collection[Link],
    soft: np.ndarray | None = None,
    gold: Gold | None = None,
    *,
    title: str = "",
) -> str:
    """Return the grid as SVG, for light and dark pages: source words across, target words downward.

    ``soft`` [T, S] shades the cells by their share of the largest value. With ``gold``, right, wrong and missed links
    differ in colour and shape, and gold links have a square, filled if sure.

    >>> svg_grid(["Haus"], ["house"], [(0, 0)])[:4]
    '<svg'
    """
    labels = [[_cut(one_line(word), _LONGEST) for word in side] for side in (source, target)]
    left, above = (10 + _LETTER * max((_width(word) for word in side), default=0) for side in (labels[1], labels[0]))
    top = above + (22 if title else 0)
    wide = max(left + _CELL * len(source), _LETTER * _width(title)) + 4
    high = top + _CELL * len(target) + 4
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{html.escape(title or "alignment")}" '
        f'width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}" font-size="13" '
        'font-family="system-ui, sans-serif" fill="none">'
    ]
    if title:
        parts.append(f'<text fill="currentColor" font-weight="600" x="2" y="14">{html.escape(title)}</text>')
    for column, word in enumerate(labels[0]):
        x, y = left + _CELL * column + 14.5, top - 6
        parts.append(
            f'<text fill="currentColor" transform="translate({x:.1f} {y:.1f}) rotate(-90)">{html.escape(word)}</text>'
        )
    most = 0.0 if soft is None or not soft.size else float(soft.max())
    for row, word in enumerate(labels[1]):
        y = top + _CELL * row
        parts.append(
            f'<text fill="currentColor" text-anchor="end" x="{left - 6:.1f}" y="{y + 14.5:.1f}">'
            f"{html.escape(word)}</text>"
        )
        for column in range(len(source)):
            x, link = left + _CELL * column, (column, row)
            share = max(float(soft[row, column]) / most, 0.0) if soft is not None and most > 0 else 0.0
            shade = f'fill="#4a78c0" fill-opacity="{share:.2f}"'
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{_CELL}" height="{_CELL}" {shade} '
                f'stroke="currentColor" stroke-opacity="0.18"><title>{html.escape(source[column])} → '
                f"{html.escape(target[row])}{'' if soft is None else f': {soft[row, column]:.3g}'}</title></rect>"
            )
            if gold is not None and link in gold.possible:
                fill = ' fill="currentColor"' if link in gold.sure else ""
                box = f'x="{x + 6.5:.1f}" y="{y + 6.5:.1f}" width="7" height="7"'
                parts.append(f'<rect class="gold" {box} stroke="currentColor"{fill}/>')
            if link in links:
                right = gold is None or link in gold.possible
                kind = 'class="right" stroke="#2a9d5c"' if right else 'class="wrong" stroke="#d9542b"'
                dashes = "" if right else ' stroke-dasharray="4 2.5"'
                box = f'x="{x + 2:.1f}" y="{y + 2:.1f}" width="16" height="16"'
                parts.append(f'<rect {kind} {box} stroke-width="2.2"{dashes}/>')
            elif gold is not None and link in gold.sure:
                circle = f'cx="{x + 10:.1f}" cy="{y + 10:.1f}" r="8"'
                parts.append(f'<circle class="missed" {circle} stroke="#b8901f" stroke-width="1.8"/>')
    return "".join([*parts, "</svg>"])


def _cut(word: str, places: int) -> str:
    """Return the word, cut when it takes more columns than ``places``."""
    letters = clusters(word)
    if _width(word) <= places:
        return word
    while letters and _width("".join(letters)) > places - 1:
        letters.pop()
    return "".join([*letters, "…"])


def draw_alignment(
    source: Sequence[str],
    target: Sequence[str],
    links: Sequence[Link],
    soft: np.ndarray | None,
    path: str | Path | None,
) -> str | None:
    """Draw one pair: as a figure at ``path`` (.png, .svg, .pdf), or return it as a grid of letters.

    >>> print(draw_alignment(["Haus"], ["house"], [(0, 0)], None, None).splitlines()[-2])
    house ■
    """
    words = None if soft is None else soft[None]
    reading = Reading("alignment")
    found = {reading.method: MethodReading(words=words, links=tuple(links))}
    pair = ReadPair(0, Sentence.of_words(source), Sentence.of_words(target), found)
    if path is None:
        _, *lines = text_grid(pair, reading, Look())  # without the heading: neither number nor method is known here
        return "\n".join(lines)
    from .figures import save_figure

    save_figure(path, [pair], [reading])
    return None

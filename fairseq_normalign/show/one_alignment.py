"""One alignment drawn: as a figure, as text for a terminal, or as HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..links.decide import Link
from ..links.pieces import Sentence
from ..links.read_pair import ReadPair
from ..links.readings import MethodReading, Reading

NAME = "alignment"


def pair_to_draw(
    source: Sequence[str], target: Sequence[str], links: Sequence[Link], soft: np.ndarray | None
) -> ReadPair:
    """Return words, links and the soft alignment [T, S] behind them as the figures take them."""
    words = None if soft is None else soft[None]
    found = MethodReading(words=words, links=tuple(links))
    return ReadPair(0, Sentence.of_words(source), Sentence.of_words(target), {NAME: found})


def as_text(pair: ReadPair) -> str:
    """Return the pair as a grid of letters: target words downward, source words across."""
    from .terminal import Look, grid

    _, *lines = grid(pair, Reading(NAME), Look())  # without the heading: neither number nor method is known here
    return "\n".join(lines)


def as_figure(pair: ReadPair, path: str | Path) -> None:
    """Write the pair as a figure; ``path`` ends in .png, .svg or .pdf."""
    from .figures import save_figure

    save_figure(path, [pair], [Reading(NAME)])


def as_html(source: Sequence[str], target: Sequence[str], links: Sequence[Link], soft: np.ndarray | None) -> str:
    """Return the pair as an HTML table: source words across, target words downward, links framed, shares shaded.

    >>> "<table" in as_html(["Haus"], ["house"], [(0, 0)], None)
    True
    """
    linked = set(links)
    head = "".join(f"<th style='writing-mode:vertical-rl'>{html.escape(word)}</th>" for word in source)
    rows = []
    for row, word in enumerate(target):
        cells = "".join(
            _cell((column, row) in linked, 0.0 if soft is None else float(soft[row, column]))
            for column in range(len(source))
        )
        rows.append(f"<tr><th style='text-align:right'>{html.escape(word)}</th>{cells}</tr>")
    return f"<table style='border-collapse:collapse'><tr><th></th>{head}</tr>{''.join(rows)}</table>"


def _cell(linked: bool, share: float) -> str:
    frame = "2px solid #1f8a4c" if linked else "1px solid #8884"
    mark = "•" if linked else ""
    shade = f"rgba(74,110,165,{min(max(share, 0.0), 1.0):.2f})"
    return (
        f"<td style='border:{frame};background:{shade};width:1.4em;text-align:center' title='{share:.3f}'>{mark}</td>"
    )

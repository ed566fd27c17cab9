"""What a check found, as a section of the report: the distribution of the score, and the pairs with the lowest ones."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..links.read_pair import PairFlags, ReadPair
from .page import write_page

CHECK_PAGE = "check.html"
ON_THE_PAGE = 200
"""Pairs with the lowest scores that can be explored."""
BINS, WIDTH, HEIGHT, FOOT = 24, 480, 120, 18
"""Bars of the histogram, and its size."""


def checked_pairs(pairs: Sequence[ReadPair]) -> list[tuple[PairFlags, ReadPair]]:
    """Return the pairs that were checked, the lowest score first."""
    found = [(pair.flags, pair) for pair in pairs if pair.flags is not None]
    return sorted(found, key=lambda one: (one[0].score, one[1].id))


def write_check_page(path: Path, pairs: Sequence[ReadPair], title: str) -> None:
    """Write a page of the pairs with the lowest scores."""
    worst = [pair for _, pair in checked_pairs(pairs)[:ON_THE_PAGE]]
    write_page(path, worst, title=f"{title}: check", notes="" if len(worst) == len(pairs) else "the lowest scores only")


def check_section(pairs: Sequence[ReadPair], shown: int) -> Iterator[str]:
    """Give the section, with ``shown`` pairs of the lowest scores; nothing where no pair was checked."""
    found = checked_pairs(pairs)
    if not found:
        return
    scores = np.array([flags.score for flags, _ in found])
    yield "<h2>Check of the translations</h2>"
    yield (
        "<p>The score says how well each target translates its source: higher is better, and only scores of the same "
        "models compare. Words marked <b>∅</b> are target words without a source and source words without a target.</p>"
    )
    yield _numbers(found, scores)
    yield _histogram(scores)
    yield f"<h3>Lowest scores</h3><p>{min(shown, len(found))} of {len(found)} pairs.</p>"
    for flags, pair in found[:shown]:
        yield _pair(flags, pair)


def _numbers(found: Sequence[tuple[PairFlags, ReadPair]], scores: np.ndarray) -> str:
    """Quartiles of the score, and how many words are flagged."""
    quartiles = np.quantile(scores, [0, 0.25, 0.5, 0.75, 1])
    names = ("lowest", "lower quarter", "median", "upper quarter", "highest")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    cells = "".join(f"<td>{value:.2f}</td>" for value in quartiles)
    sides = (
        ("target words have no source", [len(flags.without_source) for flags, _ in found], "target"),
        ("source words have no target", [len(flags.without_target) for flags, _ in found], "source"),
    )
    said = []
    for what, flagged, side in sides:
        words = sum(len(getattr(pair, side).words) for _, pair in found)
        said.append(f"{sum(flagged)} of {words} {what} ({sum(flagged) / max(words, 1):.1%})")
    return (
        f'<div class="wide"><table><tr><th></th>{head}</tr><tr><th scope="row">score</th>{cells}</tr></table></div>'
        f"<p>{'; '.join(said)}.</p>"
    )


def _histogram(scores: np.ndarray) -> str:
    """How many pairs have which score, as a picture."""
    counts, edges = np.histogram(scores, bins=BINS)
    step = WIDTH / BINS
    bars = []
    for place, count in enumerate(counts):
        high = HEIGHT * count / counts.max()
        title = f"{count} pairs from {edges[place]:.2f} to {edges[place + 1]:.2f}"
        bars.append(
            f'<rect class="bar" x="{place * step + 1:.1f}" y="{HEIGHT - high:.1f}" width="{step - 2:.1f}" '
            f'height="{high:.1f}"><title>{title}</title></rect>'
        )
    foot = HEIGHT + FOOT - 4
    ends = (
        f'<text x="0" y="{foot}">{edges[0]:.2f}</text>'
        f'<text x="{WIDTH}" y="{foot}" text-anchor="end">{edges[-1]:.2f}</text>'
        f'<text x="{WIDTH / 2:.0f}" y="{foot}" text-anchor="middle">score</text>'
    )
    label = f"Histogram of the score of {len(scores)} pairs, from {scores.min():.2f} to {scores.max():.2f}"
    return (
        f'<svg class="histogram" role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {HEIGHT + FOOT}">'
        f'{"".join(bars)}<line class="axis" x1="0" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}"/>{ends}</svg>'
    )


def _pair(flags: PairFlags, pair: ReadPair) -> str:
    source = _marked(pair.source.words, flags.without_target, "without a target")
    target = _marked(pair.target.words, flags.without_source, "without a source")
    number = pair.id + 1
    return (
        f'<section class="checked"><h4>Score {flags.score:.2f} <small>sentence {number} · '
        f'<a href="{CHECK_PAGE}#sentence={number}">explore</a></small></h4>'
        f'<p dir="auto">{source}</p><p dir="auto">{target}</p></section>'
    )


def _marked(words: Sequence[str], lone: Sequence[int], why: str) -> str:
    """The words, with a sign and a wavy line at those that have no partner."""
    flagged = set(lone)
    return " ".join(
        f'<mark title="{why}">{html.escape(word)}&#8288;<sup>∅</sup></mark>' if place in flagged else html.escape(word)
        for place, word in enumerate(words)
    )

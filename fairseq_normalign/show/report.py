"""A report in one folder: tables, figures, pages to explore, and an index that shows them. It loads nothing."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..analysis.comparison import Comparison, Example
from ..files import NewDirectory
from ..links.read_pair import PairFlags, ReadPair, links_of, soft_of
from ..links.readings import Reading
from .figures import save_figure
from .grids import svg_grid
from .page import asset, digest, write_page
from .plots import draw_layers
from .tables import layer_rows, percent, render_comparison, system_row

REPORT = "a report"
EXPLAINED = (
    "<p>A decoder step takes one word in and puts the next one out, so a model looks at the source for a word twice. "
    "<b>AWO</b>: the step at which the word is the output. <b>AWI</b>: the step at which it is the input, one later. "
    "<b>Two looks</b> is a reading at AWI multiplied by one at AWO. <b>Both directions</b> are the two looks of two "
    "models that translate opposite ways, where they agree. Layers count from the bottom.</p>"
)
MARKS = (
    "<p>Framed: a link; dashed: a wrong link; ring: a sure link that was missed. Square: a gold link, filled if it is "
    "sure. The darker a cell, the larger its value.</p>"
)
TABLES = {"table.txt": "table", "table.tsv": "tsv", "table.json": "json", "table.tex": "latex"}
FIGURES = ("layers.pdf", "examples.pdf")
CHECK_PAGE, ON_THE_PAGE, LOWEST = "check.html", 200, 10
"""The page of the pairs with the lowest scores, how many it holds, and how many of them the index shows."""


def write_report(
    folder: str | Path,
    pairs: Sequence[ReadPair],
    found: Comparison | None = None,
    examples: Sequence[Example] = (),
    readings: Sequence[Reading] = (),
    *,
    title: str = "Word alignments",
    signature: str = "",
    all_sentences: bool = False,
) -> None:
    """Write the folder, which must not exist yet; it appears when it is complete.

    It has what was ``found`` against gold, with examples of the last of ``readings``, next to the first where there are
    two; and for pairs that were checked, the distribution and the lowest scores of the check. ``all_sentences`` adds a
    page of every pair.
    """
    checked = [(pair.flags, pair) for pair in pairs if pair.flags is not None]
    checked.sort(key=lambda one: (one[0].score, one[1].id))
    with NewDirectory(folder, REPORT) as unfinished:
        unfinished.mkdir(parents=True, exist_ok=True)
        links: list[tuple[str, str]] = []
        body: list[str] = []
        if found is not None:
            shown = [example.pair for example in examples]
            first: dict[str, Any] = {"start": readings[-1], "beside": readings[0] if len(readings) > 1 else None}
            write_page(unfinished / "examples.html", shown, title=f"{title}: examples", notes="examples only", **first)
            links.append(("examples.html", "examples, to explore"))
            if all_sentences:
                write_page(unfinished / "sentences.html", pairs, title=title, **first)
                links.append(("sentences.html", "every sentence"))
            for name, style in TABLES.items():
                (unfinished / name).write_text(render_comparison(found, style), encoding="utf-8", newline="\n")
            (unfinished / "figures").mkdir()
            draw_layers(found.layers, unfinished / "figures" / "layers.pdf")
            save_figure(unfinished / "figures" / "examples.pdf", shown, readings)
            links += [*((name, name) for name in TABLES), *((f"figures/{name}", name) for name in FIGURES)]
            body += _measured(found, examples, readings)
        if checked:
            worst = [pair for _, pair in checked[:ON_THE_PAGE]]
            notes = "" if len(worst) == len(pairs) else "the lowest scores only"
            write_page(unfinished / CHECK_PAGE, worst, title=f"{title}: check", notes=notes)
            links.append((CHECK_PAGE, "the lowest scores, to explore"))
            body += _checked(checked)

        style, title = asset("report.css"), html.escape(title)
        policy = f"default-src 'none'; style-src {digest(style)}; base-uri 'none'; form-action 'none'"
        index = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>{title}</title><style>{style}</style></head><body><main>
<h1>{title}</h1>
<nav>{"".join(f'<a href="{name}">{text}</a>' for name, text in links)}</nav>
{"".join(body)}<footer>{html.escape(signature)}</footer></main></body></html>
"""
        (unfinished / "index.html").write_text(index, encoding="utf-8", newline="\n")


def _measured(found: Comparison, examples: Sequence[Example], readings: Sequence[Reading]) -> Iterator[str]:
    """Give the error rates of layers and systems, and the examples with their grids."""
    counted = "1 sentence" if found.sentences == 1 else f"{found.sentences} sentences"
    yield f"""<p class="about">{counted} with gold alignments. AER, the alignment error rate, counts wrong and missed
links, in percent: lower is better. P is the share of links that are right, R the share of the gold's sure links that
were found.</p>"""
    layers = layer_rows(found)
    lowest = min((cell for row in layers[1:] for cell in row[1:-2]), key=lambda cell: float(cell.partition("±")[0]))
    yield f"<h2>AER of every layer</h2>{EXPLAINED}{_table(layers, bold=lowest)}"
    systems = sorted(found.systems, key=lambda system: system.figure.aer)
    rows = [["", "AER", "95% interval", "P", "R", "links"], *(system_row(system)[:6] for system in systems)]
    yield f"<h2>Systems</h2>{_table(rows)}"
    yield f"<h2>Examples</h2><p>{len(examples)} of {counted}; the AER of each is its own.</p>{MARKS}"
    for pair, rates in ((example.pair, example.rates) for example in examples):
        labels = {reading: reading.label(pair.readings[reading.method].shape) for reading in readings}
        said = "; ".join(f"{html.escape(labels[reading])}: {percent(rate)}" for reading, rate in rates.items())
        source, target = pair.source.words, pair.target.words
        grids = "".join(
            svg_grid(source, target, links_of(pair, reading), soft_of(pair, reading), pair.gold, title=label)
            for reading, label in labels.items()
        )
        yield (
            f"<section><h3>{html.escape('; '.join(pair.notes))} <small>sentence {pair.id + 1}</small></h3>"
            f'<p dir="auto">{html.escape(" ".join(source))}</p><p dir="auto">{html.escape(" ".join(target))}</p>'
            f'<p class="rates">AER {said} · <a href="examples.html#sentence={pair.id + 1}">explore</a></p>'
            f'<div class="grids">{grids}</div></section>'
        )


def _table(rows: Sequence[Sequence[str]], bold: str = "") -> str:
    """Return an HTML table under a head row; cells that are ``bold`` stand out."""
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in rows[0])
    lines = [f"<tr>{head}</tr>"]
    for name, *cells in rows[1:]:
        shown = "".join(
            f"<td><b>{cell}</b></td>" if cell == bold else f"<td>{html.escape(cell)}</td>" for cell in cells
        )
        lines.append(f'<tr><th scope="row">{html.escape(name)}</th>{shown}</tr>')
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _checked(checked: Sequence[tuple[PairFlags, ReadPair]]) -> Iterator[str]:
    """Give the distribution of the score, and the pairs with the lowest scores, which come first in ``checked``."""
    scores = np.array([flags.score for flags, _ in checked])
    yield "<h2>Check of the translations</h2>"
    yield (
        "<p>The score says how well each target translates its source: higher is better. Compare scores only if the "
        "same models made them. <b>∅</b> marks words without a partner: target words for which the check found no "
        "source, and source words for which it found no target.</p>"
    )
    names = ["", "lowest", "lower quarter", "median", "upper quarter", "highest"]
    quartiles = [f"{value:.2f}" for value in np.quantile(scores, [0, 0.25, 0.5, 0.75, 1])]
    yield _table([names, ["score", *quartiles]])
    said = []
    for what, flagged, words in (
        ("target words have no source", [f.without_source for f, _ in checked], [p.target.words for _, p in checked]),
        ("source words have no target", [f.without_target for f, _ in checked], [p.source.words for _, p in checked]),
    ):
        lone, every = sum(map(len, flagged)), sum(map(len, words))
        said.append(f"{lone} of {every} {what} ({lone / max(every, 1):.1%})")
    yield f"<p>{'; '.join(said)}.</p>{_histogram(scores)}"
    yield f"<h3>Lowest scores</h3><p>{min(LOWEST, len(checked))} of {len(checked)} pairs.</p>"
    for flags, pair in checked[:LOWEST]:
        source = _marked(pair.source.words, flags.without_target, "without a target")
        target = _marked(pair.target.words, flags.without_source, "without a source")
        yield (
            f'<section class="checked"><h4>Score {flags.score:.2f} <small>sentence {pair.id + 1} · '
            f'<a href="{CHECK_PAGE}#sentence={pair.id + 1}">explore</a></small></h4>'
            f'<p dir="auto">{source}</p><p dir="auto">{target}</p></section>'
        )


def _marked(words: Sequence[str], lone: Sequence[int], why: str) -> str:
    """Return the words, with a sign and a wavy line at those that have no partner."""
    return " ".join(
        f'<mark title="{why}">{html.escape(word)}&#8288;<sup>∅</sup></mark>' if place in lone else html.escape(word)
        for place, word in enumerate(words)
    )


def _histogram(scores: np.ndarray) -> str:
    """Return a picture of how many pairs have which score."""
    bins, wide, high = 24, 480, 120
    counts, edges = np.histogram(scores, bins=bins)
    bars = []
    for place, count in enumerate(counts):
        size, left = high * count / counts.max(), place * wide / bins + 1
        box = f'x="{left:.1f}" y="{high - size:.1f}" width="{wide / bins - 2:.1f}" height="{size:.1f}"'
        title = f"{count} pairs from {edges[place]:.2f} to {edges[place + 1]:.2f}"
        bars.append(f'<rect class="bar" {box}><title>{title}</title></rect>')
    ticks = ((0, "start", f"{edges[0]:.2f}"), (wide // 2, "middle", "score"), (wide, "end", f"{edges[-1]:.2f}"))
    texts = "".join(f'<text x="{x}" y="{high + 14}" text-anchor="{end}">{text}</text>' for x, end, text in ticks)
    label = f"Histogram of the score of {len(scores)} pairs, from {scores.min():.2f} to {scores.max():.2f}"
    return (
        f'<svg class="histogram" role="img" aria-label="{label}" viewBox="0 0 {wide} {high + 18}">{"".join(bars)}'
        f'<line class="axis" x1="0" x2="{wide}" y1="{high}" y2="{high}"/>{texts}</svg>'
    )

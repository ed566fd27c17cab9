"""A report in one folder: tables, figures, a page of examples, and an index that shows them."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..analysis.comparison import Comparison
from ..analysis.error_rates import System
from ..analysis.examples import ChosenExamples, Example
from ..links.read_pair import ReadPair
from ..links.readings import Reading
from ..new_directory import NewDirectory, check_new_directory
from .check_section import CHECK_PAGE, check_section, checked_pairs, write_check_page
from .comparison import draw_layers, render_comparison
from .figures import Style, save_figure
from .page import write_page
from .report_frame import closing, opening

REPORT = "a report"
EXPLAINED = (
    "<p>A decoder step takes one word in and puts the next one out, so the source can be looked at for a word twice. "
    "<b>AWO</b>: the step at which the word is the output, before it is said. <b>AWI</b>: the step at which it is the "
    "input, after it is said. <b>Two looks</b> are a reading at AWI multiplied by one at AWO; <b>both directions</b> "
    "are those of two models that translate opposite ways, where they agree. Layers count from the bottom.</p>"
)
TABLES = {"table.txt": "table", "table.tsv": "tsv", "table.json": "json", "table.tex": "latex"}


@dataclass(frozen=True)
class ReportOptions:
    """What goes into the folder."""

    title: str = "Word alignments"
    all_sentences: bool = False
    """Also write a page of every sentence."""
    worst: int = 10
    """Pairs with the lowest scores that are shown, where the pairs were checked."""


def write_report(
    folder: str | Path, pairs: Sequence[ReadPair], found: Comparison, chosen: ChosenExamples, options: ReportOptions
) -> None:
    """Write the folder, which must not exist yet; it appears when it is complete."""
    check_new_directory(folder, REPORT)
    examples = chosen.examples
    readings = [one for one in (chosen.baseline, chosen.reading) if one is not None]
    with NewDirectory(folder, REPORT) as unfinished:
        (unfinished / "figures").mkdir(parents=True)
        for name, style in TABLES.items():
            (unfinished / name).write_text(render_comparison(found, style), encoding="utf-8", newline="\n")
        for ending in ("png", "pdf"):
            draw_layers(found.layers, unfinished / "figures" / f"layers.{ending}")
        pictures = _example_figures(unfinished, examples, readings)
        shown = [example.pair for example in examples]
        write_page(
            unfinished / "examples.html",
            shown,
            title=f"{options.title}: examples",
            notes="examples only",
            start=chosen.reading,
            beside=chosen.baseline,
        )
        if options.all_sentences:
            write_page(
                unfinished / "sentences.html", pairs, title=options.title, start=chosen.reading, beside=chosen.baseline
            )
        if checked_pairs(pairs):
            write_check_page(unfinished / CHECK_PAGE, pairs, options.title)
        check = "".join(check_section(pairs, options.worst))
        index = "".join(_index(options, found, examples, pictures, unfinished / "figures" / "layers.png", check))
        (unfinished / "index.html").write_text(index, encoding="utf-8", newline="\n")


def write_check_report(folder: str | Path, pairs: Sequence[ReadPair], options: ReportOptions, signature: str) -> None:
    """Write a folder about the check of some pairs, which need no gold; it appears when it is complete."""
    check_new_directory(folder, REPORT)
    with NewDirectory(folder, REPORT) as unfinished:
        unfinished.mkdir(parents=True, exist_ok=True)
        write_check_page(unfinished / CHECK_PAGE, pairs, options.title)
        links = f'<nav><a href="{CHECK_PAGE}">the lowest scores, to explore</a></nav>'
        body = "".join(check_section(pairs, options.worst))
        index = opening(options.title) + links + body + closing(signature)
        (unfinished / "index.html").write_text(index, encoding="utf-8", newline="\n")


def _example_figures(folder: Path, examples: Sequence[Example], readings: Sequence[Reading]) -> dict[int, Path]:
    style = Style(dpi=110)
    pictures = {}
    for example in examples:
        path = folder / "figures" / f"sentence-{example.pair.id + 1}.png"
        save_figure(path, [example.pair], readings, style)
        pictures[example.pair.id] = path
    save_figure(folder / "figures" / "examples.pdf", [example.pair for example in examples], readings, style)
    return pictures


def _index(
    options: ReportOptions,
    found: Comparison,
    examples: Sequence[Example],
    pictures: dict[int, Path],
    layers: Path,
    check: str,
) -> Iterator[str]:
    yield opening(options.title)
    yield f"""<p class="about">{_counted(found.sentences)} with gold alignments. AER, the
alignment error rate, counts wrong and missed links, in percent: lower is better. P is the share of links that are
right, R the share of the gold's sure links that were found.</p>
<nav><a href="examples.html">examples, to explore</a>"""
    if options.all_sentences:
        yield '<a href="sentences.html">every sentence</a>'
    if check:
        yield f'<a href="{CHECK_PAGE}">the lowest scores, to explore</a>'
    yield "".join(f'<a href="{name}">{name}</a>' for name in TABLES)
    yield '<a href="figures/layers.pdf">layers.pdf</a><a href="figures/examples.pdf">examples.pdf</a></nav>'
    yield f"<h2>AER of every layer</h2>{EXPLAINED}{_layer_table(found)}"
    yield f"<p>{_picture(layers, 'AER of every layer as a heatmap')}</p>"
    yield f"<h2>Systems</h2>{_system_table(found.systems)}"
    yield f"<h2>Examples</h2><p>{_counted(len(examples))} of {found.sentences}; the AER of each is its own.</p>"
    for example in examples:
        yield _example(example, pictures[example.pair.id])
    yield check
    yield closing(found.signature)


def _counted(sentences: int) -> str:
    return "1 sentence" if sentences == 1 else f"{sentences} sentences"


def _layer_table(found: Comparison) -> str:
    deepest = max(len(row.layers) for row in found.layers)
    shown = [row for row in found.layers if len(row.layers) > 1 or deepest == 1]
    lowest = min(figure.aer for row in shown for figure in row.layers)
    head = "".join(f'<th scope="col">{layer + 1}</th>' for layer in range(deepest))
    rows = []
    for row in shown:
        rates = [(f"{100 * figure.aer:.1f}", figure.aer == lowest) for figure in row.layers]
        cells = "".join(f"<td><b>{rate}</b></td>" if least else f"<td>{rate}</td>" for rate, least in rates)
        name = html.escape(f"{row.method} {row.step.upper()}".strip())
        rows.append(f'<tr><th scope="row">{name}</th>{cells}{"<td></td>" * (deepest - len(row.layers))}</tr>')
    return f'<div class="wide"><table><tr><th>layer</th>{head}</tr>{"".join(rows)}</table></div>'


def _system_table(systems: Sequence[System]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in ("AER", "95% interval", "P", "R", "links"))
    rows = []
    for system in sorted(systems, key=lambda system: system.figure.aer):
        figure = system.figure
        place = ", ".join(str(layer + 1) for layer in system.layers)
        head_number = f".{system.heads[0] + 1}" if system.heads else ""
        name = html.escape(system.name + (f" ({place}{head_number})" if place else ""))
        numbers = (figure.aer, figure.low, figure.high, figure.precision, figure.recall)
        aer, low, high, precision, recall = (f"{100 * value:.1f}" for value in numbers)
        texts = aer, f"{low} to {high}", precision, recall, f"{figure.links:.0f}"
        cells = "".join(f"<td>{text}</td>" for text in texts)
        rows.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    return f'<div class="wide"><table><tr><th></th>{head}</tr>{"".join(rows)}</table></div>'


def _example(example: Example, picture: Path) -> str:
    pair = example.pair
    rates = ", ".join(
        f"{html.escape(choice.label(pair.readings[choice.method].shape))}: {100 * rate:.1f}"
        for choice, rate in example.rates.items()
    )
    source, target = (html.escape(" ".join(side.words)) for side in (pair.source, pair.target))
    return (
        f"<section><h3>{html.escape('; '.join(pair.notes))} <small>sentence {pair.id + 1}</small></h3>"
        f'<p dir="auto">{source}</p><p dir="auto">{target}</p><p class="rates">AER {rates} · '
        f'<a href="examples.html#sentence={pair.id + 1}">explore</a></p>'
        f"{_picture(picture, f'Soft alignments of sentence {pair.id + 1} beside the reference')}</section>"
    )


def _picture(path: Path, description: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{html.escape(description)}" src="data:image/png;base64,{data}">'

"""Results as text: columns to read, TSV, JSON, rows for LaTeX. Error rates are in percent, layers count from 1."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ..analysis.comparison import BEST, ErrorRate, System
from ..errors import NormalignError, json_text, one_line
from ..links.score import COUNTS, METRICS, Score, SignificanceTest

if TYPE_CHECKING:
    from ..analysis.attention_tables import Cell, Table
    from ..analysis.choose_readings import ReadingChoice
    from ..analysis.comparison import Comparison

STYLES = ("table", "tsv", "json", "latex")
TABLE_STYLES = ("table", "tsv", "json", "markdown")
READING_STYLES = ("table", "tsv", "json", "heads")

_LATEX = str.maketrans({letter: f"\\{letter}" for letter in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}"})


def columns(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return aligned columns: the first ``left`` of them are flush left, the others flush right.

    >>> columns([["a", "1"], ["bc", "20"]])
    'a    1\\nbc  20\\n'
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    count = max((len(row) for row in rows), default=0)
    widths = [max((len(row[place]) for row in rows if place < len(row)), default=0) for place in range(count)]
    lines = [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=False))
        )
        for row in rows
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def tsv(rows: Sequence[Sequence[str]]) -> str:
    """Return one line per row, with cells separated by tabs."""
    return "".join("\t".join(map(one_line, row)) + "\n" for row in rows)


def percent(value: float, digits: int = 1) -> str:
    """Return a rate as a percentage without its sign.

    >>> percent(0.1234)
    '12.3'
    """
    return f"{100 * value:.{digits}f}"


def _latex(row: Sequence[str]) -> str:
    return " & ".join(one_line(cell).translate(_LATEX) for cell in row) + r" \\"


# scores of systems against gold


@dataclass(frozen=True)
class Result:
    """One system: its score, how it was made (``signature``), and its intervals and test where they were asked for."""

    name: str
    score: Score
    signature: str
    intervals: dict[str, tuple[float, float]] | None = None
    comparison: SignificanceTest | None = None


def render_scores(results: Sequence[Result], style: str = "table", *, digits: int = 1) -> str:
    """Return the results in one of :data:`STYLES`."""

    def rates(result: Result) -> list[str]:
        return [percent(getattr(result.score, name), digits) for name in METRICS]

    if style == "json":
        systems = []
        for result in results:
            fields: dict[str, object] = {"name": result.name}
            fields |= {name: 100 * getattr(result.score, name) for name in METRICS}
            fields |= {name: getattr(result.score, name) for name in COUNTS}
            if result.intervals:
                fields["intervals"] = {name: [100 * low, 100 * high] for name, (low, high) in result.intervals.items()}
            if test := result.comparison:
                p_values = {"p_bootstrap": test.p_bootstrap, "p_randomization": test.p_randomization}
                fields["against_first"] = {"aer_difference": 100 * test.difference, **p_values}
            systems.append({**fields, "signature": result.signature})
        return json_text({"systems": systems}, indent=2) + "\n"
    if style == "latex":
        rows = [_latex([result.name, *rates(result)]) + f" % {result.signature}\n" for result in results]
        return "".join(["% system & AER & P & R & F\n", *rows])
    if style == "tsv":
        more = ["aer_low", "aer_high", "aer_difference", "p_bootstrap", "p_randomization", "signature"]
        table = [["system", *METRICS, *COUNTS, *more]]
        for result in results:
            row = [result.name, *rates(result), *(str(getattr(result.score, name)) for name in COUNTS)]
            row += [percent(bound, digits) for bound in (result.intervals or {}).get("aer", ())] or ["", ""]
            test = result.comparison
            row += [percent(test.difference, digits)] if test else [""]
            row += [f"{test.p_bootstrap:.6g}", f"{test.p_randomization:.6g}"] if test else ["", ""]
            table.append([*row, result.signature])
        return tsv(table)

    tested = any(result.comparison for result in results)
    bounded = any(result.intervals for result in results)
    table = [["", "AER", *(["95% interval"] if bounded else []), "P", "R", "F", "links"]]
    table[0] += ["AER-first", "p (bootstrap)", "p (random.)"] if tested else []
    for result in results:
        aer, *others = rates(result)
        low, high = (result.intervals or {}).get("aer", (0.0, 0.0))
        interval = [f"[{percent(low, digits)}, {percent(high, digits)}]"] if bounded else []
        row = [result.name, aer, *interval, *others, str(result.score.links)]
        if test := result.comparison:
            row += [f"{100 * test.difference:+.{digits}f}", f"{test.p_bootstrap:.4f}", f"{test.p_randomization:.4f}"]
        elif tested:
            row += ["-", "-", "-"]
        table.append(row)
    first = results[0].score
    notes = [f"gold: {first.sure} sure links, {first.possible - first.sure} only possible"]
    if len({result.signature for result in results}) == 1:
        notes.append(f"signature: {results[0].signature}")
    else:
        notes += [f"signature of {one_line(result.name)}: {result.signature}" for result in results]
    return columns(table) + "\n" + "".join(f"{note}\n" for note in notes)


# a comparison of layers, heads, steps and systems

DIRECTIONS = {
    "forward": "source to target",
    "reverse": "target to source",
    "both": "both directions",
    "decided": "readings multiplied",
    "other": "other aligners",
}
MEANING = (
    "AER in percent, lower is better; p is how probable a difference to the first row as large as this would be "
    "if both were equally good."
)


def render_comparison(found: Comparison, style: str = "table", digits: int = 1, *, full: bool = True) -> str:
    """Return what was measured in one of :data:`STYLES`; a table that is not ``full`` holds the best few systems."""
    if style == "json":
        return json_text(asdict(found), indent=2) + "\n"
    if style == "tsv":
        return tsv(_long_rows(found))
    if style == "latex":
        tables = [[_latex(row) for row in rows] for rows in (layer_rows(found, digits), system_rows(found, digits))]
        texts = ["".join(f"{line}\n" for line in [head, r"\hline", *lines]) for head, *lines in tables]
        return f"% {found.signature}\n" + "\n".join(texts)
    seeds = f", mean of {found.seeds} checkpoints" if found.seeds > 1 else ""
    sentences = f"({found.sentences} sentences{seeds})"
    best = [["", "AER", "95% interval", "P", "R", "p"]]
    for place, system in enumerate(sorted(found.systems, key=lambda system: system.figure.aer)[:BEST]):
        name, *numbers = system_row(system, digits)
        direction = f", {DIRECTIONS[system.direction]}" if system.direction in ("forward", "reverse") else ""
        p_value = "" if system.p_value is None else f"{system.p_value:.3f}"
        best.append([f"{name}{direction}", *numbers[:4], p_value if place else "-"])
    parts = [f"The best {len(best) - 1} of {len(found.systems)} systems {sentences}\n\n{columns(best)}\n{MEANING}\n"]
    if full:
        parts += [
            f"AER of every layer {sentences}\n\n{columns(layer_rows(found, digits))}",
            "Systems, each at its best layer or head unless it says otherwise\n\n"
            f"{columns(system_rows(found, digits))}",
        ]
    if full and found.heads:
        title = "Mean norm of a head against its AER (below 0: heads that add more align better)"
        rows = [
            [f"{row.method} {row.step}", *("-" if one is None else f"{one:.2f}" for one in (row.spearman, row.pearson))]
            for row in found.heads
        ]
        parts.append(f"{title}\n\n{columns([['', 'Spearman', 'Pearson'], *rows])}")
    return "\n".join([*parts, f"signature: {found.signature}\n"])


def layer_rows(found: Comparison, digits: int = 1) -> list[list[str]]:
    """Return the AER of every layer, one row per method and step, under a head row."""
    deepest = max(len(row.layers) for row in found.layers)
    rows = [["", *(f"layer {layer + 1}" for layer in range(deepest)), "mean", "best"]]
    for row in found.layers:
        if deepest == 1 or len(row.layers) > 1:
            cells = [_with_spread(figure, digits) for figure in row.layers]
            rows.append([f"{row.method} {row.step}", *cells, percent(row.mean, digits), f"layer {row.best + 1}"])
    return rows


def system_rows(found: Comparison, digits: int = 1) -> list[list[str]]:
    """Return one row per system under a head row, grouped by direction where there are several."""
    rows = [["", "AER", "95% interval", "P", "R", "links", "pairs/s"]]
    several = len({system.direction for system in found.systems}) > 1
    for direction, title in DIRECTIONS.items():
        systems = [system for system in found.systems if system.direction == direction]
        rows += [[f"{title}:"]] if systems and several else []
        rows += [system_row(system, digits) for system in systems]
    return rows


def system_row(system: System, digits: int = 1) -> list[str]:
    """Return name with layer and head (those of the checkpoints may differ), AER, interval, P, R, links and speed."""
    figure, places = system.figure, ""
    if system.layers and system.direction != "both":
        heads = [f".{head + 1}" for head in system.heads] or [""] * len(system.layers)
        read = [f"{layer + 1}{head}" for layer, head in zip(system.layers, heads, strict=True)]
        places = f" ({', '.join(dict.fromkeys(read))})"
    return [
        f"{system.name}{places}",
        _with_spread(figure, digits),
        f"[{percent(figure.low, digits)}, {percent(figure.high, digits)}]",
        percent(figure.precision, digits),
        percent(figure.recall, digits),
        f"{figure.links:.0f}",
        "" if system.pairs_per_second is None else f"{system.pairs_per_second:.3g}",
    ]


def _with_spread(figure: ErrorRate, digits: int) -> str:
    spread = "" if figure.spread is None else f"±{percent(figure.spread, digits)}"
    return f"{percent(figure.aer, digits)}{spread}"


def _long_rows(found: Comparison) -> list[list[str]]:
    """Return one row per error rate: everything that the other styles show."""

    def numbers(figure: ErrorRate) -> list[str]:
        rates = [figure.aer, figure.low, figure.high, figure.spread, figure.precision, figure.recall]
        return [*("" if rate is None else percent(rate, 4) for rate in rates), f"{figure.links:g}"]

    head = ["kind", "name", "direction", "method", "step", "layer", "head", "aer", "low", "high", "spread"]
    rows = [[*head, "precision", "recall", "links", "mean_norm", "pairs_per_second"]]
    for row in found.layers:
        for layer, figure in enumerate(row.layers):
            place = ["layer", "", "forward", row.method, row.step, str(layer + 1), ""]
            rows.append([*place, *numbers(figure), f"{row.mean_norm[layer]:.6g}", ""])
    for heads in found.heads:
        for layer, (rates, norms) in enumerate(zip(heads.aer, heads.mean_norm, strict=True)):
            for number, (rate, norm) in enumerate(zip(rates, norms, strict=True)):
                place = ["head", "", "forward", heads.method, heads.step, str(layer + 1), str(number + 1)]
                rows.append([*place, percent(rate, 4), *[""] * 6, f"{norm:.6g}", ""])
        for name in ("spearman", "pearson"):
            value = getattr(heads, name)
            rows.append(
                [name, "" if value is None else f"{value:.4f}", "forward", heads.method, heads.step, *[""] * 11]
            )
    for system in found.systems:
        layers, read = (",".join(str(one + 1) for one in places) for places in (system.layers, system.heads))
        place = ["system", system.name, system.direction, system.method or "", system.step or "", layers, read]
        speed = "" if system.pairs_per_second is None else f"{system.pairs_per_second:.6g}"
        rows.append([*place, *numbers(system.figure), "", speed])
    return rows


# the readings that were chosen for a text


def render_readings(choices: Sequence[ReadingChoice], style: str = "table", *, rows: int = 8) -> str:
    """Return the choices of one direction or of both; ``style`` is one of :data:`READING_STYLES`.

    A table shows the best ``rows`` readings; the other styles show all. ``heads`` is the form that CTranslate2 takes,
    which counts layers and heads from 0.
    """
    from ..analysis.choose_readings import alignment_heads, choice_record

    named = list(zip(("forward", "reverse"), choices, strict=False))
    if style == "heads":
        if len(choices) > 1:
            raise NormalignError("alignment heads belong to one model; leave the other direction out")
        return json.dumps(alignment_heads(choices[0])) + "\n"
    if style == "json":
        return json.dumps({name: choice_record(choice) for name, choice in named}, indent=2) + "\n"

    head = ["layer", "head", "step", "support", "above diagonal"]
    tables = {
        name: [
            [
                str(one.reading.layer + 1),
                "all" if one.reading.head is None else str(one.reading.head + 1),
                one.reading.step,
                f"{one.support:.3f}",
                f"{one.above_diagonal:.3f}",
            ]
            for one in choice.ranked
        ]
        for name, choice in named
    }
    if style == "tsv":
        return tsv([["direction", *head], *([name, *row] for name, table in tables.items() for row in table)])
    parts = []
    for name, choice in named:
        table = columns([head, *tables[name][:rows]], left=3) if choice.ranked else ""
        shares = ", ".join(f"{100 * share:.0f}%" for share in choice.stability)
        parts.append(
            (f"{name}\n" if len(choices) > 1 else "")
            + f"{table}\nthe diagonal has a support of {choice.diagonal:.3f}\n"
            + f"read {choice.expert} (chosen by {shares} of resamplings of {choice.pairs} sentence pairs)"
            + "".join(f"\nunsure: {doubt}" for doubt in choice.doubts)
            + "\n"
        )
    return "\n".join(parts)


# analyses of attention


def render_tables(
    tables: Sequence[Table], style: str = "table", signature: str = "", *, more: str = "more as tsv"
) -> str:
    """Return tables in one of :data:`TABLE_STYLES`.

    Where a person reads them ("table", "markdown") the long ones are only named, introduced by ``more``.
    """

    def shown(cell: Cell, digits: int) -> str:
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return "" if cell is None else "-"
        return f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell)

    def rows(table: Table, digits: int) -> list[list[str]]:
        return [list(table.columns), *([shown(cell, digits) for cell in row] for row in table.rows)]

    if style == "json":  # JSON has neither NaN nor infinity
        finite = [
            {
                "name": table.name,
                "columns": table.columns,
                "rows": [
                    [None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in row]
                    for row in table.rows
                ],
            }
            for table in tables
        ]
        return json_text({"signature": signature, "tables": finite}, indent=1) + "\n"
    if style == "tsv":
        parts = [f"# {table.name}\n{tsv(rows(table, 6))}" for table in tables]
        return "\n".join([*parts, f"# signature: {signature}\n"])
    parts, long = [], [table.name for table in tables if table.detail]
    for table in tables:
        if not table.detail:
            first = table.rows[0] if table.rows else ()
            words = next((place for place, cell in enumerate(first) if not isinstance(cell, str)), len(first)) or 1
            head, *body = rows(table, table.digits)
            if style == "markdown":
                note = f"\n{table.note}\n" if table.note else ""
                lines = [head, ["---"] * len(head), *body]
                cells = [[cell.replace("|", r"\|") for cell in line] for line in lines]
                text = "".join(f"| {' | '.join(line)} |\n" for line in cells)
            else:
                note, text = f"({table.note})\n" if table.note else "", columns([head, *body], words)
            parts.append(f"{table.name}\n\n{text}{note}")
    if long:
        parts.append(f"{more}: {'; '.join(long)}\n")
    return "\n".join([*parts, f"signature: {signature}\n"])

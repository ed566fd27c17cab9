"""Scores as text: a table to read, TSV, JSON, rows for LaTeX. All scores are in percent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..errors import json_text, one_line
from ..links.score import COUNTS, METRICS, Score, SignificanceTest

STYLES = ("table", "tsv", "json", "latex")

_HEADS = {"aer": "AER", "precision": "P", "recall": "R", "f": "F"}
_LATEX = str.maketrans({letter: f"\\{letter}" for letter in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}"})


@dataclass(frozen=True)
class Result:
    """One system: its score, how it was made (``signature``), and its intervals and test where they were asked for."""

    name: str
    score: Score
    signature: str
    intervals: dict[str, tuple[float, float]] | None = None
    comparison: SignificanceTest | None = None


def render(results: Sequence[Result], style: str = "table", *, digits: int = 1) -> str:
    """The results in one of :data:`STYLES`, ending in a newline."""
    if style == "json":
        return _json(results)
    shown = [replace(result, name=one_line(result.name)) for result in results]
    return {"table": _table, "tsv": _tsv, "latex": _latex}[style](shown, digits)


def _table(results: Sequence[Result], digits: int) -> str:
    tested = any(result.comparison for result in results)
    bounded = any(result.intervals for result in results)
    head = ["", "AER", *(["95% interval"] if bounded else []), "P", "R", "F", "links"]
    head += ["AER-first", "p (bootstrap)", "p (random.)"] if tested else []
    rows = [head, *(_table_row(result, digits, bounded, tested) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    return "".join(line.rstrip() + "\n" for line in [*lines, "", *_signatures(results)])


def _table_row(result: Result, digits: int, bounded: bool, tested: bool) -> list[str]:
    row = [result.name, _percent(result.score.aer, digits)]
    if bounded:
        low, high = (result.intervals or {}).get("aer", (0.0, 0.0))
        row.append(f"[{_percent(low, digits)}, {_percent(high, digits)}]")
    row += [_percent(getattr(result.score, name), digits) for name in METRICS[1:]]
    row.append(str(result.score.links))
    if tested and result.comparison:
        change = f"{100 * result.comparison.difference:+.{digits}f}"
        row += [change, f"{result.comparison.p_bootstrap:.4f}", f"{result.comparison.p_randomization:.4f}"]
    elif tested:
        row += ["-", "-", "-"]
    return row


def _signatures(results: Sequence[Result]) -> list[str]:
    first = results[0].score
    gold = f"gold: {first.sure} sure links, {first.possible - first.sure} only possible"
    if len({result.signature for result in results}) == 1:
        return [gold, f"signature: {results[0].signature}"]
    return [gold, *(f"signature of {result.name}: {result.signature}" for result in results)]


def _tsv(results: Sequence[Result], digits: int) -> str:
    head = ["system", *METRICS, *COUNTS, "aer_low", "aer_high", "aer_difference", "p_bootstrap", "p_randomization"]
    lines = ["\t".join([*head, "signature"])]
    for result in results:
        cells = [result.name, *(_percent(getattr(result.score, name), digits) for name in METRICS)]
        cells += [str(getattr(result.score, name)) for name in COUNTS]
        cells += [_percent(bound, digits) for bound in (result.intervals or {}).get("aer", ())] or ["", ""]
        if result.comparison:
            cells.append(_percent(result.comparison.difference, digits))
            cells += [f"{result.comparison.p_bootstrap:.6g}", f"{result.comparison.p_randomization:.6g}"]
        else:
            cells += ["", "", ""]
        lines.append("\t".join([*cells, result.signature]))
    return "\n".join(lines) + "\n"


def _json(results: Sequence[Result]) -> str:
    systems = []
    for result in results:
        system: dict = {"name": result.name}
        system |= {name: 100 * getattr(result.score, name) for name in METRICS}
        system |= {name: getattr(result.score, name) for name in COUNTS}
        if result.intervals:
            system["intervals"] = {name: [100 * low, 100 * high] for name, (low, high) in result.intervals.items()}
        if result.comparison:
            system["against_first"] = {
                "aer_difference": 100 * result.comparison.difference,
                "p_bootstrap": result.comparison.p_bootstrap,
                "p_randomization": result.comparison.p_randomization,
            }
        system["signature"] = result.signature
        systems.append(system)
    return json_text({"systems": systems}, indent=2) + "\n"


def _latex(results: Sequence[Result], digits: int) -> str:
    heads = " & ".join(["system", *(_HEADS[name] for name in METRICS)])
    lines = [f"% {heads}"]
    for result in results:
        cells = [result.name.translate(_LATEX), *(_percent(getattr(result.score, name), digits) for name in METRICS)]
        lines.append(" & ".join(cells) + rf" \\ % {result.signature}")
    return "\n".join(lines) + "\n"


def _percent(value: float, digits: int) -> str:
    return f"{100 * value:.{digits}f}"

"""Rows as text: columns to read, TSV, LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import one_line

_LATEX = str.maketrans({letter: f"\\{letter}" for letter in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}"})


def columns(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return aligned columns, the first ``left`` of them flush left and the others flush right."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max((len(row[place]) for row in rows if place < len(row)), default=0) for place in range(_width(rows))]
    lines = [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=False))
        )
        for row in rows
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def tsv(rows: Sequence[Sequence[str]]) -> str:
    """Return one line per row, cells separated by tabs."""
    return "".join("\t".join(map(one_line, row)) + "\n" for row in rows)


def latex(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows of a LaTeX tabular, the first one as its head."""
    lines = [" & ".join(one_line(cell).translate(_LATEX) for cell in row) + r" \\" for row in rows]
    return "".join(f"{line}\n" for line in [*lines[:1], r"\hline", *lines[1:]])


def _width(rows: Sequence[Sequence[str]]) -> int:
    return max((len(row) for row in rows), default=0)

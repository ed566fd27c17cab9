"""Analyses of attention as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..analysis.attention_tables import Cell, Table
from ..errors import json_text
from .text_tables import columns, tsv

STYLES = ("table", "tsv", "json")


def render_tables(
    tables: Sequence[Table], style: str = "table", signature: str = "", *, more: str = "more as tsv"
) -> str:
    """Return the tables in one of :data:`STYLES`; a "table" leaves out long details and says so with ``more``."""
    if style == "json":
        found = [
            {"name": t.name, "columns": t.columns, "rows": [[_plain(c) for c in r] for r in t.rows]} for t in tables
        ]
        return json_text({"signature": signature, "tables": found}, indent=1) + "\n"
    if style == "tsv":
        parts = [f"# {table.name}\n{tsv(_rows(table, 6))}" for table in tables]
        return "\n".join([*parts, f"# signature: {signature}\n"])
    shown = [table for table in tables if not table.detail]
    parts = [
        f"{table.name}\n\n{columns(_rows(table, 3), _words(table))}" + (f"({table.note})\n" if table.note else "")
        for table in shown
    ]
    if len(shown) < len(tables):
        parts.append(f"{more}: " + "; ".join(table.name for table in tables if table.detail) + "\n")
    return "\n".join([*parts, f"signature: {signature}\n"])


def _rows(table: Table, digits: int) -> list[list[str]]:
    return [list(table.columns), *([_shown(cell, digits) for cell in row] for row in table.rows)]


def _words(table: Table) -> int:
    """How many columns in front hold words."""
    first = table.rows[0] if table.rows else ()
    return next((place for place, cell in enumerate(first) if not isinstance(cell, str)), len(first)) or 1


def _shown(cell: Cell, digits: int) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "" if cell is None else "-"
    return f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell)


def _plain(cell: Cell) -> Cell:
    """JSON knows neither NaN nor infinity."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell

"""The support of every layer and head as text, and the readings that were chosen."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..analysis.choose_readings import ReadingChoice, alignment_heads, choice_record
from ..errors import NormalignError
from .text_tables import columns, tsv

STYLES = ("table", "tsv", "json", "heads")
DIRECTIONS = ("forward", "reverse")
HEAD = ["layer", "head", "step", "support", "above diagonal"]


def render_readings(choices: Sequence[ReadingChoice], style: str = "table", *, rows: int = 8) -> str:
    """Return the choices of one direction or of both; ``style`` is one of :data:`STYLES`.

    A table shows the best ``rows`` readings; the others show all. Layers and heads count from 1, except in ``heads``,
    which is the form that CTranslate2 takes.
    """
    named = list(zip(DIRECTIONS, choices, strict=False))
    if style == "heads":
        if len(choices) > 1:
            raise NormalignError("alignment heads are those of one model; leave the other direction out")
        return json.dumps(alignment_heads(choices[0])) + "\n"
    if style == "json":
        return json.dumps({name: choice_record(choice) for name, choice in named}, indent=2) + "\n"
    if style == "tsv":
        lines = [[name, *row] for name, choice in named for row in _rows(choice, len(choice.ranked))]
        return tsv([["direction", *HEAD], *lines])
    return "\n".join(_table(name if len(choices) > 1 else "", choice, rows) for name, choice in named)


def _rows(choice: ReadingChoice, count: int) -> list[list[str]]:
    return [
        [
            str(one.reading.layer + 1),
            "all" if one.reading.head is None else str(one.reading.head + 1),
            one.reading.step,
            f"{one.support:.3f}",
            f"{one.above_diagonal:.3f}",
        ]
        for one in choice.ranked[:count]
    ]


def _table(name: str, choice: ReadingChoice, rows: int) -> str:
    head = f"{name}\n" if name else ""
    table = columns([HEAD, *_rows(choice, rows)], left=3) if choice.ranked else ""
    shares = ", ".join(f"{100 * share:.0f}%" for share in choice.stability)
    chosen = f"read {choice.expert} (chosen by {shares} of resamplings of {choice.pairs} sentence pairs)"
    doubts = "".join(f"\nunsure: {doubt}" for doubt in choice.doubts)
    return f"{head}{table}\nthe diagonal has a support of {choice.diagonal:.3f}\n{chosen}{doubts}\n"

"""The criteria of each layer as text, and the choice they led to in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from ..analysis.layer_choice import Criteria, LayerChoice, Verdict, sentence_of
from .text_tables import columns, tsv

STYLES = ("table", "tsv", "json")
CRITERIA = ("lexicon", "supported", "agreement", "mean", "peak", "coverage")


def render_layers(verdict: Verdict, style: str = "table", *, option: str = "") -> str:
    """Return each criterion of each candidate, and the choice; ``option`` is how the names of options begin."""
    if style == "json":
        return json.dumps(_plain(verdict), indent=2) + "\n"
    parts = [
        ("forward", verdict.criteria, verdict.choice),
        ("reverse", verdict.reverse_criteria, verdict.reverse_choice),
    ]
    text: list[str] = []
    for direction, criteria, choice in parts:
        if choice is None:
            continue
        rows = _rows(criteria, marks=style == "table")
        if style == "tsv":
            text.append(tsv([["direction", *rows[0]], *([direction, *row] for row in rows[1:])][1 if text else 0 :]))
            continue
        head = f"{direction}\n" if verdict.reverse_choice is not None else ""
        text.append(f"{head}{columns(rows, left=3)}\n{sentence_of(choice, criteria, option)}\n")
    return ("\n" if style == "table" else "").join(text)


def _rows(criteria: Sequence[Criteria], *, marks: bool) -> list[list[str]]:
    names = [name for name in CRITERIA if getattr(criteria[0], name) is not None]
    largest = {name: max(getattr(one, name) for one in criteria) for name in names}
    rows = [["method", "step", "layer", *names]]
    for one in criteria:
        cells = [one.candidate.method, one.candidate.step, str(one.candidate.layer + 1)]
        for name in names:
            value = getattr(one, name)
            mark = ("*" if value == largest[name] else " ") if marks else ""
            cells.append(f"{value:.3f}{mark}")
        rows.append(cells)
    return rows


def _plain(verdict: Verdict) -> dict:
    """For JSON: layers counted from 1."""

    def candidate(fields: dict) -> dict:
        return {**fields, "layer": fields["layer"] + 1}

    def side(criteria: Sequence[Criteria], choice: LayerChoice) -> dict:
        rows = [asdict(one) for one in criteria]
        chosen = asdict(choice)
        return {
            "layers": [{**candidate(row.pop("candidate")), **row} for row in rows],
            "choice": {
                **chosen,
                "candidate": candidate(chosen["candidate"]),
                "runner_up": candidate(chosen["runner_up"]) if chosen["runner_up"] else None,
                "sure": choice.is_sure,
            },
        }

    found = {"forward": side(verdict.criteria, verdict.choice)}
    if verdict.reverse_choice is not None:
        found["reverse"] = side(verdict.reverse_criteria, verdict.reverse_choice)
    return found

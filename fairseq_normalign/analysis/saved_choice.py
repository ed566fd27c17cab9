"""A choice of readings as a file that can be written and read, and in the form that other toolkits take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from ..errors import NormalignError
from ..files import open_input, open_output
from ..links.experts import parse_expert
from ..links.readings import Reading
from ..links.steps_to_words import STEPS
from ..version import __version__
from .choose_readings import RatedReading, ReadingChoice

KIND = "normalign readings"
LARGEST_FILE = 10_000_000
"""Bytes; a choice for a hundred layers of a hundred heads takes two million."""
MOST_LAYERS = 1000


def write_choice(path: str | Path, choice: ReadingChoice) -> None:
    """Write a choice as JSON. Layers and heads count from 1; a head of null stands for all heads together."""
    record = {"kind": KIND, "normalign": __version__, **choice_record(choice)}
    with open_output(path) as handle:
        json.dump(record, handle, indent=1)
        handle.write("\n")


def choice_record(choice: ReadingChoice) -> dict[str, object]:
    """Return a choice as plain values, for JSON; :func:`ranked_list` says how layers and heads count."""
    return {
        "readings": str(choice.expert),
        "stability": list(choice.stability),
        "pairs": choice.pairs,
        "diagonal": choice.diagonal,
        "doubts": list(choice.doubts),
        "ranked": ranked_list(choice),
    }


def ranked_list(choice: ReadingChoice) -> list[dict[str, object]]:
    """Every reading with its support, the best first; layers and heads count from 1.

    Each is ``{"method", "layer", "head", "step", "support", "above_diagonal"}``; head is None for all together.
    """
    return [
        {
            "method": one.reading.method,
            "layer": one.reading.layer + 1,
            "head": None if one.reading.head is None else one.reading.head + 1,
            "step": one.reading.step,
            "support": one.support,
            "above_diagonal": one.above_diagonal,
        }
        for one in choice.ranked
    ]


def alignment_heads(choice: ReadingChoice, step: str = "awo") -> dict[str, list[list[int]]]:
    """The supported single heads as CTranslate2 and Whisper models take them.

    The form is ``{"alignment_heads": [[layer, head], ...]}``, counted from 0 and sorted, as in their ``config.json``
    and ``generation_config.json``. These toolkits read the step at which a word is the output, so the step is AWO
    unless another is asked for.
    """
    heads = [one for one in choice.ranked if one.reading.head is not None and one.reading.step == step]
    supported = [one for one in heads if one.is_supported]
    if not supported:
        raise NormalignError(
            f"no single head is supported at {step.upper()} by the {choice.pairs} pairs that were judged by; "
            "judge by more text, or choose the other step"
        )
    return {"alignment_heads": sorted([one.reading.layer, one.reading.head or 0] for one in supported)}


def read_choice(path: str | Path) -> ReadingChoice:
    """Read what :func:`write_choice` wrote; anything else is an error that names the file and what is wrong."""
    with open_input(path) as handle:
        raw = handle.read(LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        raise NormalignError(f"{path}: larger than {LARGEST_FILE} bytes, so it is no choice of readings")
    try:
        found = json.loads(raw.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise NormalignError(f"{path}: is not JSON, so it is no choice of readings") from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise NormalignError(f"{path}: is not a choice of readings; 'kind' has to be '{KIND}'")
    try:
        return _choice(found)
    except NormalignError as error:
        raise NormalignError(f"{path}: {error}") from None


def _choice(found: Mapping[str, object]) -> ReadingChoice:
    text = _typed(found, "readings", str)
    expert = parse_expert(text)
    stability = [_share(value, "stability") for value in _typed(found, "stability", list)]
    if len(stability) != len(expert.readings):
        raise NormalignError(f"'stability' has {len(stability)} numbers for {len(expert.readings)} readings")
    doubts = _typed(found, "doubts", list)
    if not all(isinstance(doubt, str) for doubt in doubts):
        raise NormalignError("'doubts' has to hold texts")
    return ReadingChoice(
        expert=expert,
        stability=tuple(stability),
        ranked=tuple(_rated(row, number) for number, row in enumerate(_typed(found, "ranked", list), start=1)),
        diagonal=_share(found.get("diagonal"), "diagonal"),
        pairs=_count(found.get("pairs"), "pairs", 0),
        doubts=tuple(doubts),
    )


def _rated(row: object, number: int) -> RatedReading:
    where = f"'ranked', entry {number}"
    if not isinstance(row, dict):
        raise NormalignError(f"{where}: has to be an object with method, layer, head, step and support")
    if row.get("step") not in STEPS:
        raise NormalignError(f"{where}: 'step' has to be one of {', '.join(STEPS)}")
    head = row.get("head")
    reading = Reading(
        _typed(row, "method", str),
        _count(row.get("layer"), f"{where}: 'layer'", 1) - 1,
        None if head is None else _count(head, f"{where}: 'head'", 1) - 1,
        row["step"],
    )
    return RatedReading(
        reading, *(_share(row.get(name), f"{where}: '{name}'") for name in ("support", "above_diagonal"))
    )


Kind = TypeVar("Kind", str, list)


def _typed(found: Mapping[str, object], name: str, kind: type[Kind]) -> Kind:
    value = found.get(name)
    if not isinstance(value, kind):
        raise NormalignError(f"'{name}' has to be {'a text' if kind is str else 'a list'}")
    return value


def _share(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise NormalignError(f"{name} has to be a number from 0 to 1")
    return float(value)


def _count(value: object, name: str, least: int) -> int:
    most = MOST_LAYERS if least else 1 << 53
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise NormalignError(f"{name} has to be a whole number from {least} to {most}")
    return value


def _refuse(name: str) -> float:
    raise ValueError(name)

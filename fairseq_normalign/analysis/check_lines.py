"""What was found of a pair as one line: of a table (TSV) or of JSON lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import json_text
from .translation_check import PairCheck

ALWAYS = (
    *("score", "agreement", "target_unlinked", "source_unlinked", "target_alone", "source_alone"),
    *("logprob", "gain", "target_gap", "source_unseen", "repeated", "copied", "changed"),
)
REVERSE = ("reverse_logprob", "reverse_gain", "source_gap")
FULL = ("source_share", "source_share_min", "source_share_low")
WORDS = ("words_without_source", "words_without_target")


def columns_of(*, reverse: bool = False, full: bool = False, words: bool = False) -> list[str]:
    """Return the names of the columns: of both directions, of the expensive numbers, and of the words by name.

    >>> columns_of()[:3]
    ['line', 'score', 'agreement']
    """
    wanted = ((ALWAYS, True), (REVERSE, reverse), (FULL, full), (WORDS, words))
    return ["line", *(name for names, given in wanted if given for name in names)]


def table_line(number: int, found: PairCheck | str, *, columns: Sequence[str], by_word: bool = False) -> str:
    """Return the line of pair ``number`` (from 0); a pair that was skipped has its number and empty cells."""
    if isinstance(found, str):
        return "\t".join([str(number + 1), *("" for _ in columns[1:])]) + "\n"
    cells = {"line": str(number + 1), **{name: f"{value:.6g}" for name, value in found.numbers.items()}}
    if by_word:
        named = (found.without_source, found.evidence.target), (found.without_target, found.evidence.source)
        for name, (places, words) in zip(WORDS, named, strict=True):
            cells[name] = " ".join(f"{place + 1}:{words[place]}" for place in places)
    return "\t".join(cells[name] for name in columns) + "\n"


def json_line(number: int, found: PairCheck | str, *, columns: Sequence[str], by_word: bool = False) -> str:
    """Return a JSON object with the same numbers; ``by_word``: also the words of both sides and numbers for each."""
    numbers = [name for name in columns if name != "line" and name not in WORDS]
    if isinstance(found, str):
        return json_text({"line": number + 1, **dict.fromkeys(numbers), "skipped": found}) + "\n"
    entry: dict[str, object] = {"line": number + 1, **{name: round(found.numbers[name], 6) for name in numbers}}
    return json_text({**entry, **(_words_of(found) if by_word else {})}) + "\n"


def _words_of(found: PairCheck) -> dict[str, object]:
    """Positions count from 0, as in Pharaoh links."""
    evidence = found.evidence
    sides: dict[str, object] = {
        "source": evidence.source,
        "target": evidence.target,
        "links": [[int(place) for place in link] for link in evidence.links],
        "without_source": found.without_source,
        "without_target": found.without_target,
        "target_gains": _rounded(evidence.forward.gains),
    }
    if evidence.backward is not None:
        sides["source_gains"] = _rounded(evidence.backward.gains)
    if evidence.source_shares is not None:
        sides["source_shares"] = _rounded(evidence.source_shares)
    return sides


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 4) for value in values]

"""What a check found of a pair as one line: of a table (TSV) or of JSON lines, which can be read again."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NormalignError, json_field, json_text
from ..files import display_name, read_lines
from ..links.decide import Link
from ..links.read_pair import PairFlags
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
    if by_word:  # positions count from 0, as in Pharaoh links
        evidence = found.evidence
        entry |= {
            "source": evidence.source,
            "target": evidence.target,
            "links": [[int(place) for place in link] for link in evidence.links],
            "without_source": found.without_source,
            "without_target": found.without_target,
            "target_gains": _rounded(evidence.forward.gains),
        }
        if evidence.backward is not None:
            entry["source_gains"] = _rounded(evidence.backward.gains)
        if evidence.source_shares is not None:
            entry["source_shares"] = _rounded(evidence.source_shares)
    return json_text(entry) + "\n"


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 4) for value in values]


@dataclass(frozen=True)
class CheckedPair:
    """One line of JSON with words, read again."""

    number: int
    """The position of the pair in its bitext, from 0."""
    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[Link, ...]
    flags: PairFlags


def read_checked(path: str | Path) -> Iterator[CheckedPair]:
    """Give the pairs of a file in their order; those that were skipped, and so have no numbers, are left out."""
    last = 0
    for number, line in enumerate(read_lines(path), start=1):
        try:
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                entry = None
            if not isinstance(entry, dict):
                raise NormalignError(f"{line[:60]!a} is not a line of JSON, as check writes it with words")
            last = json_field(entry, "line", int, f"the number of the pair, larger than {last}", last.__lt__)
            pair = None if entry.get("skipped") is not None else _checked_pair(entry, last - 1)
        except NormalignError as error:
            raise NormalignError(f"{display_name(path)}:{number}: {error}") from None
        if pair is not None:
            yield pair


def worst_numbers(path: str | Path, count: int) -> set[int]:
    """Return the numbers, from 0, of the ``count`` pairs with the lowest scores; of equal ones the first."""
    scored = ((pair.flags.score, pair.number) for pair in read_checked(path))
    return {number for _, number in heapq.nsmallest(count, scored)}


def _checked_pair(entry: Mapping[str, Any], number: int) -> CheckedPair:
    def many(name: str, allowed: str, fits: Callable[[Any], bool], *, needed: bool = False) -> list[Any]:
        if not needed and name not in entry:
            return []
        return list(json_field(entry, name, list, f"a list of {allowed}", lambda given: all(map(fits, given))))

    def is_place(value: object, length: int) -> bool:
        return type(value) is int and 0 <= value < length

    def is_number(value: object) -> bool:
        is_real = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_real and abs(value) < 1e300 and math.isfinite(value)  # type: ignore[arg-type]

    def places(name: str, words: list[str]) -> tuple[int, ...]:
        allowed = f"positions of words, from 0 to {len(words) - 1}"
        return tuple(sorted(set(many(name, allowed, lambda value: is_place(value, len(words))))))

    def gains(name: str, words: list[str]) -> tuple[float, ...]:
        allowed = f"numbers, one for each of {len(words)} words"
        found = many(name, allowed, is_number)
        if found and len(found) != len(words):
            raise NormalignError(f"'{name}' has to be a list of {allowed}, not {len(found)}")
        return tuple(map(float, found))

    def is_link(value: object) -> bool:
        is_pair = isinstance(value, list) and len(value) == 2
        return is_pair and is_place(value[0], len(source)) and is_place(value[1], len(target))  # type: ignore[index]

    source, target = (
        many(name, "words, as check writes them with words", lambda word: isinstance(word, str), needed=True)
        for name in ("source", "target")
    )
    allowed = f"links between {len(source)} and {len(target)} words, from 0"
    links = tuple(sorted({(link[0], link[1]) for link in many("links", allowed, is_link)}))
    flags = PairFlags(
        float(json_field(entry, "score", (int, float), "a number", is_number)),
        places("without_source", target),
        places("without_target", source),
        gains("target_gains", target),
        gains("source_gains", source),
    )
    return CheckedPair(number, tuple(source), tuple(target), links, flags)

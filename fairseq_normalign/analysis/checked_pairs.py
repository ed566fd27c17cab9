"""Pairs that were checked, read from the JSON lines with words that a check writes."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from ..errors import NormalignError
from ..files import display_name, read_lines
from ..links.decide import Link
from ..links.read_pair import PairFlags


@dataclass(frozen=True)
class CheckedPair:
    """One line of such a file."""

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
        place = f"{display_name(path)}:{number}"
        entry = _entry(line, place)
        line_number = entry.get("line")
        if type(line_number) is not int or line_number <= last:
            raise NormalignError(
                f"{place}: 'line' has to be the number of the pair, larger than that of the line before"
            )
        last = line_number
        if entry.get("skipped") is None:
            yield _pair(entry, line_number - 1, place)


def worst_numbers(path: str | Path, count: int) -> set[int]:
    """Return the numbers, from 0, of the ``count`` pairs with the lowest scores; of equal ones the first."""
    scored = ((pair.flags.score, pair.number) for pair in read_checked(path))
    return {number for _, number in heapq.nsmallest(count, scored)}


def _entry(line: str, place: str) -> Mapping[str, object]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        raise NormalignError(f"{place}: {line[:60]!a} is no line of JSON, as a check by word has")
    return entry


def _pair(entry: Mapping[str, object], number: int, place: str) -> CheckedPair:
    source, target = (_words(entry, name, place) for name in ("source", "target"))
    score = entry.get("score")
    if not _is_number(score):
        raise NormalignError(f"{place}: 'score' has to be a number")
    flags = PairFlags(
        float(score),
        _places(entry, "without_source", len(target), place),
        _places(entry, "without_target", len(source), place),
        _numbers(entry, "target_gains", len(target), place),
        _numbers(entry, "source_gains", len(source), place),
    )
    return CheckedPair(number, source, target, _links(entry, len(source), len(target), place), flags)


def _is_number(value: object) -> TypeGuard[float]:
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300 and math.isfinite(value)
    )


def _is_place(value: object, length: int) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < length


def _words(entry: Mapping[str, object], name: str, place: str) -> tuple[str, ...]:
    found = entry.get(name)
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise NormalignError(f"{place}: 'source' and 'target' have to be lists of words, as a check by word has")
    return tuple(found)


def _list(entry: Mapping[str, object], name: str, place: str) -> list[object]:
    found = entry.get(name, [])
    if not isinstance(found, list):
        raise NormalignError(f"{place}: '{name}' has to be a list")
    return found


def _places(entry: Mapping[str, object], name: str, length: int, place: str) -> tuple[int, ...]:
    found = _list(entry, name, place)
    places = [one for one in found if _is_place(one, length)]
    if len(places) < len(found):
        raise NormalignError(f"{place}: '{name}' has to hold positions of words, from 0 to {length - 1}")
    return tuple(sorted(set(places)))


def _numbers(entry: Mapping[str, object], name: str, length: int, place: str) -> tuple[float, ...]:
    found = _list(entry, name, place)
    numbers = tuple(float(one) for one in found if _is_number(one))
    if found and not len(found) == len(numbers) == length:
        raise NormalignError(f"{place}: '{name}' has to hold a number for each of {length} words")
    return numbers


def _links(entry: Mapping[str, object], sources: int, targets: int, place: str) -> tuple[Link, ...]:
    links: set[Link] = set()
    for link in _list(entry, "links", place):
        good = isinstance(link, list) and len(link) == 2 and _is_place(link[0], sources) and _is_place(link[1], targets)
        if not isinstance(link, list) or not good:
            raise NormalignError(
                f"{place}: {str(link)[:40]!a} is no link between {sources} and {targets} words, from 0"
            )
        links.add((link[0], link[1]))
    return tuple(sorted(links))

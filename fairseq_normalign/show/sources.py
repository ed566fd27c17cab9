"""Pairs to draw from dumps of soft alignments, and from files of sentences, links and soft alignments."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..analysis.checked_pairs import read_checked
from ..errors import NormalignError
from ..files import display_name, read_bitext, read_lines, read_parallel, words_of
from ..links.dump import Dump, DumpedPair
from ..links.gold import Gold, Marked
from ..links.pieces import Sentence
from ..links.read_pair import ReadPair
from ..links.readings import MethodReading


def named_paths(arguments: Sequence[str]) -> list[tuple[str | None, Path]]:
    """``NAME=PATH`` or a bare path, whose name is None."""
    found: list[tuple[str | None, Path]] = []
    for argument in arguments:
        name, equals, path = argument.partition("=")
        bare = not equals or not name or not path or Path(argument).exists()
        found.append((None, Path(argument)) if bare else (name, Path(path)))
    return found


def open_dumps(arguments: Sequence[str]) -> dict[str, Dump]:
    """Open dumps; return them by the name of their method, or the name that was given."""
    dumps: dict[str, Dump] = {}
    for given, path in named_paths(arguments):
        dump = Dump(path)
        name = given or str(dump.meta.get("method", path.name))
        if name in dumps:
            name = f"{name} ({path.name})"
        if name in dumps:
            raise NormalignError(f"two dumps are called '{name}'; give each a name: NAME={path}")
        dumps[name] = dump
    return dumps


def pairs_of_dumps(
    dumps: Mapping[str, Dump], *, golds: Sequence[Gold] | None = None, wanted: Collection[int] | None = None
) -> Iterator[ReadPair]:
    """Give the best hypothesis of each sentence (``wanted``: 0-based ids) with what each dump holds, sorted by id."""
    places = {
        name: {sentence: at for at, (sentence, rank) in enumerate(dump.ids()) if rank == 0}
        for name, dump in dumps.items()
    }
    shared = sorted(set.intersection(*(set(place) for place in places.values())))
    if not shared:
        raise NormalignError(f"no sentence is in all of {', '.join(str(dump.path) for dump in dumps.values())}")
    _check_wanted(wanted, shared)
    for number in shared:
        if wanted is None or number in wanted:
            read = {name: dump[places[name][number]] for name, dump in dumps.items()}
            yield _pair_of_dumped(number, read, dumps, golds)


def _pair_of_dumped(
    number: int, read: Mapping[str, DumpedPair], dumps: Mapping[str, Dump], golds: Sequence[Gold] | None
) -> ReadPair:
    (first_name, first), *others = read.items()
    for name, other in others:
        if (other.source_pieces, other.target_pieces) != (first.source_pieces, first.target_pieces):
            raise NormalignError(
                f"sentence {number + 1} is not the same in {dumps[first_name].path} and {dumps[name].path}; "
                "dump both with --score-reference, or from the same translations"
            )
    source, target = Sentence.of(first.source_pieces, first.source), Sentence.of(first.target_pieces, first.target)
    readings = {name: MethodReading(steps=pair.layers, heads=pair.heads) for name, pair in read.items()}
    return ReadPair(number, source, target, readings, gold_at(golds, number, source, target))


def lines_of(source: str | Path, target: str | Path | None) -> Iterator[tuple[str, str]]:
    """Give the lines of two files in step, or both sides of each line of one file."""
    return read_bitext(source) if target is None else read_parallel(source, target)


def pairs_of_files(
    source: str | Path,
    target: str | Path | None,
    *,
    split: Sequence[Callable[[str], list[str]]] = (words_of, words_of),
    soft: Mapping[str, Sequence[np.ndarray]] | None = None,
    golds: Sequence[Gold] | None = None,
    wanted: Collection[int] | None = None,
) -> Iterator[ReadPair]:
    """Give the pairs of two files, or of one that holds both, with the soft alignments of each line by their method.

    ``split``: how a line of each side becomes words.
    """
    soft = soft or {}
    count = 0
    for number, (left, right) in enumerate(lines_of(source, target)):
        count = number + 1
        if wanted is None or number in wanted:
            sides = Sentence.of_words(split[0](left)), Sentence.of_words(split[1](right))
            readings = {name: _word_reading(name, arrays, number, *sides) for name, arrays in soft.items()}
            yield ReadPair(number, *sides, readings, gold_at(golds, number, *sides))
    _check_wanted(wanted, range(count))
    for name, given in soft.items():
        if len(given) != count:
            raise NormalignError(f"{name} has {len(given)} sentences, {display_name(source)} has {count}")


def _word_reading(
    name: str, arrays: Sequence[np.ndarray], number: int, source: Sentence, target: Sentence
) -> MethodReading:
    shape = len(target.words), len(source.words)
    array = arrays[number] if number < len(arrays) else np.zeros((0, 0, 0))
    if not array.size and not shape[0] * shape[1]:
        array = np.zeros((next((len(known) for known in arrays if known.size), 1), *shape))
    if array.shape[1:] != shape:
        raise NormalignError(
            f"{name}: the soft alignment of sentence {number + 1} is {' x '.join(map(str, array.shape[1:]))}; "
            f"the sentence has {shape[0]} target and {shape[1]} source words"
        )
    return MethodReading(words=array)


def with_links(pairs: Iterable[ReadPair], links: Mapping[str, Sequence[Marked]]) -> Iterator[ReadPair]:
    """Add the links of other aligners to the pairs, by their name; row N belongs to sentence id N."""
    for pair in pairs:
        readings = dict(pair.readings)
        for name, rows in links.items():
            if pair.id >= len(rows):
                raise NormalignError(f"{name} has {len(rows)} sentences, none for sentence {pair.id + 1}")
            found = tuple((s, t) for s, t, _ in rows[pair.id])
            _check_range(name, pair.id, found, pair.source, pair.target)
            readings[name] = MethodReading(links=found)
        yield replace(pair, readings=readings)


def pairs_of_check(
    path: str | Path, *, golds: Sequence[Gold] | None = None, wanted: Collection[int] | None = None
) -> Iterator[ReadPair]:
    """Give the pairs of a file that a check wrote as JSON lines with words: with its links and what it found."""
    known = []
    for pair in read_checked(path):
        known.append(pair.number)
        if wanted is None or pair.number in wanted:
            sides = Sentence.of_words(pair.source), Sentence.of_words(pair.target)
            readings = {"links": MethodReading(links=pair.links)}
            gold = gold_at(golds, pair.number, *sides)
            yield ReadPair(pair.number, *sides, readings, gold, flags=pair.flags)
    _check_wanted(wanted, known)


def with_flags(pairs: Iterable[ReadPair], path: str | Path) -> Iterator[ReadPair]:
    """Add what a check found to the pairs; a pair that it skipped has no flags."""
    checked = {pair.number: pair for pair in read_checked(path)}
    for pair in pairs:
        found = checked.get(pair.id)
        if found is None:
            yield pair
            continue
        words = [*pair.source.words, "", *pair.target.words], [*found.source, "", *found.target]
        if [word.lower() for word in words[0]] != [word.lower() for word in words[1]]:  # a check may have lower case
            raise NormalignError(
                f"{display_name(path)}: sentence {pair.id + 1} has other words there; check the same text"
            )
        yield replace(pair, flags=found.flags)


def gold_at(golds: Sequence[Gold] | None, number: int, source: Sentence, target: Sentence) -> Gold | None:
    """Return the gold of a sentence; an error when there is none, or when it links words that are not there."""
    if golds is None:
        return None
    if number >= len(golds):
        raise NormalignError(f"the gold file has {len(golds)} sentences, none for sentence {number + 1}")
    _check_range("gold", number, golds[number].possible, source, target)
    return golds[number]


def _check_range(
    name: str, number: int, links: Collection[tuple[int, int]], source: Sentence, target: Sentence
) -> None:
    for s, t in links:
        if s >= len(source.words) or t >= len(target.words):
            raise NormalignError(
                f"{name}: link {s}-{t} (from 0) of sentence {number + 1} is out of range: it has "
                f"{len(source.words)} source and {len(target.words)} target words; another base or direction?"
            )


def _check_wanted(wanted: Collection[int] | None, known: Collection[int]) -> None:
    missing = sorted(set(wanted or ()) - set(known))
    if missing:
        raise NormalignError(f"there is no sentence {missing[0] + 1}; there are {len(known)}")


def read_soft(path: str | Path) -> list[np.ndarray]:
    """Read soft alignments between words, one line per sentence, each [layers, target, source].

    A line is what ``normalign align --soft`` writes (rows separated by spaces, numbers by commas), or JSON: rows
    ``[[0.9, 0.1], ...]``, or a list of such for several layers.
    """
    return [_soft_line(path, number, line) for number, line in enumerate(read_lines(path), start=1)]


def _soft_line(path: str | Path, number: int, line: str) -> np.ndarray:
    try:
        value = json.loads(line) if line.startswith("[") else [row.split(",") for row in words_of(line)]
        array = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError, RecursionError):
        array = np.full(1, np.nan)
    if not array.size:
        return np.zeros((1, 0, 0))
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or not np.isfinite(array).all() or (array < 0).any():
        raise NormalignError.at(
            display_name(path),
            number,
            "not a soft alignment; allowed are rows of numbers from 0 on, as 0.9,0.1 0.2,0.8 or [[0.9, 0.1], ...]",
        )
    return array

"""Pairs to draw, from dumps of soft alignments and from files of sentences, links, soft alignments and checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..analysis.check_lines import read_checked
from ..errors import NormalignError
from ..files import display_name, read_bitext, read_lines, read_parallel, words_of
from ..links.dump import Dump
from ..links.gold import Gold, Marked
from ..links.pieces import Sentence
from ..links.read_pair import ReadPair
from ..links.readings import MethodReading


def named_paths(arguments: Sequence[str]) -> list[tuple[str | None, Path]]:
    """Return name and path of each ``NAME=PATH``; a bare path, or one that exists as it is written, has no name.

    >>> named_paths(["mine=links", "links"])
    [('mine', PosixPath('links')), (None, PosixPath('links'))]
    """
    found: list[tuple[str | None, Path]] = []
    for argument in arguments:
        name, _, path = argument.partition("=")
        bare = not name or not path or Path(argument).exists()
        found.append((None, Path(argument)) if bare else (name, Path(path)))
    return found


def open_dumps(arguments: Sequence[str]) -> dict[str, Dump]:
    """Open dumps; return them by the name of their method, or the name that was given."""
    dumps: dict[str, Dump] = {}
    for given, path in named_paths(arguments):
        dump = Dump(path)
        name = given or str(dump.meta.get("method", path.name))
        name = f"{name} ({path.name})" if name in dumps else name
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
    for number in _wanted(wanted, shared):
        read = {name: dump[places[name][number]] for name, dump in dumps.items()}
        (name, first), *others = read.items()
        for other, pair in others:
            if (pair.source_pieces, pair.target_pieces) != (first.source_pieces, first.target_pieces):
                raise NormalignError(
                    f"sentence {number + 1} is not the same in {dumps[name].path} and {dumps[other].path}; "
                    "dump both from the same references, or from the same translations"
                )
        source, target = Sentence.of(first.source_pieces, first.source), Sentence.of(first.target_pieces, first.target)
        readings = {name: MethodReading(steps=pair.layers, heads=pair.heads) for name, pair in read.items()}
        yield ReadPair(number, source, target, readings, gold_at(golds, number, source, target))


def lines_of(source: str | Path, target: str | Path | None) -> Iterator[tuple[str, str]]:
    """Give the lines of two files in parallel, or both sides of each line of one file."""
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
    """Give the pairs of two files, or of one that holds both sides, with soft alignments by the name of their method.

    ``split``: how a line of each side becomes words.
    """
    soft, count = soft or {}, 0
    for number, (left, right) in enumerate(lines_of(source, target)):
        count = number + 1
        if wanted is not None and number not in wanted:
            continue
        sides = Sentence.of_words(split[0](left)), Sentence.of_words(split[1](right))
        shape = len(sides[1].words), len(sides[0].words)
        readings = {}
        for name, arrays in soft.items():
            array = arrays[number] if number < len(arrays) else np.zeros((0, 0, 0))
            if not array.size and not shape[0] * shape[1]:  # an empty side: as many layers as the others have
                array = np.zeros((next((len(known) for known in arrays if known.size), 1), *shape))
            if array.shape[1:] != shape:
                raise NormalignError(
                    f"{name}: the soft alignment of sentence {number + 1} is {' x '.join(map(str, array.shape[1:]))}; "
                    f"the sentence has {shape[0]} target and {shape[1]} source words"
                )
            readings[name] = MethodReading(words=array)
        yield ReadPair(number, *sides, readings, gold_at(golds, number, *sides))
    _wanted(wanted, range(count))
    for name, given in soft.items():
        if len(given) != count:
            raise NormalignError(f"{name} has {len(given)} sentences, {display_name(source)} has {count}")


def pairs_of_check(
    path: str | Path, *, golds: Sequence[Gold] | None = None, wanted: Collection[int] | None = None
) -> Iterator[ReadPair]:
    """Give the pairs of a file that a check wrote as JSON lines with words: with its links and what it found."""
    known = []
    for pair in read_checked(path):
        known.append(pair.number)
        if wanted is None or pair.number in wanted:
            sides = Sentence.of_words(pair.source), Sentence.of_words(pair.target)
            readings, gold = {"links": MethodReading(links=pair.links)}, gold_at(golds, pair.number, *sides)
            yield ReadPair(pair.number, *sides, readings, gold, flags=pair.flags)
    _wanted(wanted, known)


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


def with_flags(pairs: Iterable[ReadPair], path: str | Path) -> Iterator[ReadPair]:
    """Add what a check found to the pairs; a pair that it skipped has no flags."""
    checked = {pair.number: pair for pair in read_checked(path)}
    for pair in pairs:
        found = checked.get(pair.id)
        if found is not None:
            words = [*pair.source.words, "", *pair.target.words], [*found.source, "", *found.target]
            if [word.lower() for word in words[0]] != [word.lower() for word in words[1]]:
                raise NormalignError(
                    f"{display_name(path)}: sentence {pair.id + 1} has other words there; check the same text"
                )
            pair = replace(pair, flags=found.flags)
        yield pair


def gold_at(golds: Sequence[Gold] | None, number: int, source: Sentence, target: Sentence) -> Gold | None:
    """Return the gold of a sentence; an error when there is none, or when it links words that are not there."""
    if golds is None:
        return None
    if number >= len(golds):
        raise NormalignError(f"the gold file has {len(golds)} sentences, none for sentence {number + 1}")
    _check_range("gold", number, golds[number].possible, source, target)
    return golds[number]


def read_soft(path: str | Path) -> list[np.ndarray]:
    """Read soft alignments between words, one line per sentence, each [layers, target, source].

    A line is what ``normalign align --soft`` writes (rows separated by spaces, numbers by commas), or JSON: rows
    ``[[0.9, 0.1], ...]``, or a list of such for several layers.
    """
    found = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            value = json.loads(line) if line.startswith("[") else [row.split(",") for row in words_of(line)]
            array = np.asarray(value, dtype=np.float64)
        except (ValueError, TypeError, OverflowError, RecursionError):
            array = np.full(1, np.nan)
        if not array.size:
            array = np.zeros((1, 0, 0))
        elif array.ndim == 2:
            array = array[None]
        if array.ndim != 3 or not np.isfinite(array).all() or (array < 0).any():
            allowed = "rows of numbers from 0 on, as 0.9,0.1 0.2,0.8 or [[0.9, 0.1], ...]"
            raise NormalignError.at(display_name(path), number, f"not a soft alignment; allowed are {allowed}")
        found.append(array)
    return found


def _check_range(
    name: str, number: int, links: Collection[tuple[int, int]], source: Sentence, target: Sentence
) -> None:
    for s, t in links:
        if s >= len(source.words) or t >= len(target.words):
            raise NormalignError(
                f"{name}: link {s}-{t} (from 0) of sentence {number + 1} is out of range: it has "
                f"{len(source.words)} source and {len(target.words)} target words; another base or direction?"
            )


def _wanted(wanted: Collection[int] | None, known: Sequence[int]) -> list[int]:
    """Return the known sentences that are wanted; an error when one is not known."""
    missing = sorted(set(wanted or ()) - set(known))
    if missing:
        raise NormalignError(f"there is no sentence {missing[0] + 1}; there are {len(known)}")
    return [number for number in known if wanted is None or number in wanted]

"""Soft alignments on disk: safetensors shards and an index of JSON lines. No pickle, nothing runs, streams both ways.

A dump is a directory:

- ``meta.json``: format version, method, number of sentences, whether heads are there;
- ``index.jsonl``: one line per hypothesis: id, rank, pieces, words, spans, score, shard;
- ``shard-00000.safetensors`` ...: under the line's number, ``N`` [layers, T + 1 decoder steps, S source positions] and,
  if asked for, ``N.heads`` [layers, heads, T + 1, S].

It is written beside its place and renamed when complete: a dump that exists is complete.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NormalignError, reason_of
from ..files import NewDirectory, check_regular
from .pieces import Segmentation

VERSION = 1
SHARD_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class DumpedPair:
    """One line of a dump with its arrays."""

    id: int
    rank: int
    source_pieces: tuple[str, ...]
    target_pieces: tuple[str, ...]
    source: Segmentation
    target: Segmentation
    score: float
    layers: np.ndarray
    """[layers, T + 1, S]."""
    heads: np.ndarray | None
    """[layers, heads, T + 1, S], if they were asked for."""


class DumpWriter:
    """Writes a dump in constant memory. Leaving the ``with`` block without an error, or ``close()``, completes it."""

    def __init__(self, path: str | Path, *, method: str, heads: bool = False) -> None:
        self.path = Path(path)
        self.heads = heads
        self._meta = {"version": VERSION, "method": method, "heads": heads}
        self._place = NewDirectory(path, "a dump")
        self._unfinished = self._place.beside
        self._arrays: dict[str, np.ndarray] = {}
        self._bytes = 0
        self._shard = 0
        self._count = 0
        self._last: tuple[int, int] | None = None  # id and rank of the hypothesis before
        self._seen = Seen()
        self._sentences = 0
        self._index = open(self._unfinished / "index.jsonl", "w", encoding="utf-8", newline="\n")

    def __enter__(self) -> DumpWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def add(
        self,
        id: int,
        *,
        source_pieces: Sequence[str],
        target_pieces: Sequence[str],
        source: Segmentation,
        target: Segmentation,
        layers: np.ndarray,
        heads: np.ndarray | None = None,
        score: float = float("nan"),
    ) -> None:
        """Append one hypothesis of sentence ``id``; those of one sentence come one after another, best first."""
        rank = self._last[1] + 1 if self._last is not None and self._last[0] == id else 0
        if rank == 0 and not self._seen.add(id):
            raise NormalignError(f"{self.path}: sentence {id} was added before, and others after it")
        self._last = id, rank
        self._sentences += rank == 0
        line = {
            "id": id,
            "rank": rank,
            "shard": self._shard,
            "score": score if np.isfinite(score) else None,
            "source_pieces": list(source_pieces),
            "target_pieces": list(target_pieces),
            "source": asdict(source),
            "target": asdict(target),
        }
        try:
            self._index.write(json.dumps(line, ensure_ascii=False) + "\n")
            for name, array in ((str(self._count), layers), (f"{self._count}.heads", heads)):
                if array is not None:
                    self._arrays[name] = np.ascontiguousarray(array, dtype=np.float32)
                    self._bytes += self._arrays[name].nbytes
            self._count += 1
            if self._bytes >= SHARD_BYTES:
                self._flush()
        except OSError as error:
            self.abandon()
            raise NormalignError(f"{self.path}: {reason_of(error)}") from None

    def _flush(self) -> None:
        from safetensors.numpy import save

        _shard_path(self._unfinished, self._shard).write_bytes(save(self._arrays))
        self._arrays, self._bytes, self._shard = {}, 0, self._shard + 1

    def close(self) -> None:
        """Complete the dump: from now on it is at its place."""
        if self._index.closed:
            return
        try:
            if self._arrays:
                self._flush()
            self._index.close()
            meta = {**self._meta, "sentences": self._sentences, "hypotheses": self._count, "shards": self._shard}
            (self._unfinished / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            self.abandon()
            raise NormalignError(f"{self.path}: {reason_of(error)}") from None
        self._place.complete()

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._index.close()
        self._place.abandon()


def _shard_path(directory: Path, number: int) -> Path:
    return directory / f"shard-{number:05d}.safetensors"


class Seen:
    """A set of whole numbers that takes about a bit for each, where they lie close together."""

    def __init__(self) -> None:
        self._blocks: dict[int, int] = {}

    def add(self, number: int) -> bool:
        """Add a number; whether it is new."""
        block, bit = number >> 10, 1 << (number & 1023)
        before = self._blocks.get(block, 0)
        self._blocks[block] = before | bit
        return not before & bit


class Dump:
    """Reads a dump: ``len(dump)``, ``dump[3]``, ``for pair in dump``. Arrays are read when they are asked for."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._index = self.path / "index.jsonl"
        check_regular(self.path / "meta.json")
        try:
            meta = json.loads((self.path / "meta.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise NormalignError(f"{path}: not a dump of soft alignments ({error})") from None
        if not isinstance(meta, dict) or meta.get("version") != VERSION or not isinstance(meta.get("hypotheses"), int):
            raise NormalignError(f"{self.path / 'meta.json'}: not a dump of version {VERSION}")
        self.meta: dict[str, Any] = meta
        check_regular(self._index)
        try:
            with open(self._index, "rb") as index:
                ends = itertools.accumulate(map(len, index), initial=0)
                *self._lines, _ = ends
        except OSError as error:
            raise NormalignError(f"{self._index}: {reason_of(error)}") from None
        if len(self._lines) != meta["hypotheses"]:
            raise NormalignError(f"{self._index}: {len(self._lines)} lines, {meta['hypotheses']} in meta.json")

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[DumpedPair]:
        return (self[number] for number in range(len(self)))

    def ids(self) -> list[tuple[int, int]]:
        """(sentence id, rank) of every hypothesis, in the order of the dump, without reading arrays."""
        found: dict[tuple[int, int], int] = {}
        with open(self._index, "rb") as index:
            for number, raw in enumerate(index, start=1):
                with self._at(number):
                    line = json.loads(raw)
                    key = _count(line["id"]), _count(line["rank"])
                if key in found:
                    message = f"sentence {key[0]} with rank {key[1]} is there twice, first in line {found[key]}"
                    raise NormalignError.at(self._index, number, message)
                found[key] = number
        return list(found)

    @contextlib.contextmanager
    def _at(self, number: int) -> Iterator[None]:
        """Name the line, from 1, of the index whose content is damaged."""
        try:
            yield
        except UNREADABLE as error:
            raise NormalignError.at(self._index, number, f"not a line of a dump ({error})") from None

    def __getitem__(self, number: int) -> DumpedPair:
        if not 0 <= number < len(self):
            raise IndexError(number)
        with open(self._index, "rb") as index, self._at(number + 1):
            index.seek(self._lines[number])
            line = json.loads(index.readline())
            layers, heads = self._arrays(number, _count(line["shard"]))
            source_pieces, target_pieces = _texts(line["source_pieces"]), _texts(line["target_pieces"])
            source = _segmentation(line["source"], len(source_pieces))
            target = _segmentation(line["target"], len(target_pieces))
            steps = len(target_pieces) + 1, len(source_pieces)
            _check_array(layers, steps, dimensions=3)
            if heads is not None:
                _check_array(heads, steps, dimensions=4)
                if len(heads) != len(layers):
                    raise ValueError(f"heads of {len(heads)} layers beside {len(layers)} layers")
            score = float("nan") if line["score"] is None else float(line["score"])
            id, rank = _count(line["id"]), _count(line["rank"])
            return DumpedPair(id, rank, source_pieces, target_pieces, source, target, score, layers, heads)

    def _arrays(self, number: int, shard: int) -> tuple[np.ndarray, np.ndarray | None]:
        from safetensors import SafetensorError, safe_open

        path = _shard_path(self.path, shard)
        check_regular(path)
        try:
            with safe_open(path, framework="np") as file:
                names = set(file.keys())
                heads = file.get_tensor(f"{number}.heads") if f"{number}.heads" in names else None
                return file.get_tensor(str(number)), heads
        except (OSError, SafetensorError, TypeError, AttributeError) as error:
            raise NormalignError(f"{path}: {error}") from None


UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""The errors that a damaged line of the index raises."""


def _count(value: object) -> int:
    """A whole number from 0 on, as JSON has it."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{str(value)[:40]} is not a whole number from 0 on")
    return value


def _texts(values: object) -> tuple[str, ...]:
    """A list of texts that can be written again: JSON can hold half a letter."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("not a list of texts")
    for value in values:
        value.encode("utf-8")
    return tuple(values)


def _check_array(array: np.ndarray, steps: tuple[int, int], *, dimensions: int) -> None:
    if array.ndim != dimensions or array.shape[-2:] != steps or not len(array):
        raise ValueError(f"an array of shape {array.shape} does not fit its pieces")
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        raise ValueError("an array holds NaN or infinity, or no numbers")


def _segmentation(fields: Mapping[str, Any], length: int) -> Segmentation:
    words = _texts(fields["words"])
    spans = tuple((_count(start), _count(stop)) for start, stop in fields["spans"])
    specials = tuple(_count(position) for position in fields["specials"])
    ranges = sorted([*spans, *((position, position + 1) for position in specials)])
    borders = [0, *(border for span in ranges for border in span), length]
    touching = all(left == right for left, right in zip(borders[::2], borders[1::2], strict=True))
    in_order = list(spans) == sorted(spans) and list(specials) == sorted(specials)
    if not touching or not in_order or any(start >= stop for start, stop in ranges) or len(spans) != len(words):
        raise ValueError("words and specials do not cover the pieces exactly once, in their order")
    return Segmentation(words, spans, specials)

"""Soft alignments on disk: safetensors shards and an index of JSON lines. No pickle, nothing runs, streams both ways.

A dump is a directory:

- ``meta.json``: format version, method, number of sentences, whether heads are there;
- ``index.jsonl``: one line a hypothesis: id, rank, pieces, words, spans, score, shard;
- ``shard-00000.safetensors`` ...: under the line's number, ``N`` [layers, T + 1 decoder steps, S source positions] and,
  if asked for, ``N.heads`` [layers, heads, T + 1, S].

It is written beside its place and renamed when complete: a dump that exists is whole.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NormalignError
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
        self._unfinished = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        self._arrays: dict[str, np.ndarray] = {}
        self._bytes = 0
        self._shard = 0
        self._count = 0
        self._last: tuple[int, int] | None = None  # id and rank of the hypothesis before
        self._sentences = 0
        _make_directory(self.path, self._unfinished)
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
            self._keep(str(self._count), layers)
            if heads is not None:
                self._keep(f"{self._count}.heads", heads)
            self._count += 1
            if self._bytes >= SHARD_BYTES:
                self._flush()
        except OSError as error:
            self.abandon()
            raise NormalignError(f"{self.path}: {(error.strerror or str(error)).lower()}") from None

    def _keep(self, name: str, array: np.ndarray) -> None:
        array = np.ascontiguousarray(array, dtype=np.float32)
        self._arrays[name] = array
        self._bytes += array.nbytes

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
            os.rename(self._unfinished, self.path)
        except OSError as error:
            self.abandon()
            raise NormalignError(f"{self.path}: {(error.strerror or str(error)).lower()}") from None

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._index.close()
        shutil.rmtree(self._unfinished, ignore_errors=True)


def _make_directory(path: Path, unfinished: Path) -> None:
    if path.exists():
        raise NormalignError(f"{path}: exists already; a dump is written to a new directory")
    try:
        unfinished.mkdir()
    except OSError as error:
        raise NormalignError(f"{path}: {(error.strerror or str(error)).lower()}") from None


def _shard_path(directory: Path, number: int) -> Path:
    return directory / f"shard-{number:05d}.safetensors"


class Dump:
    """Reads a dump: ``len(dump)``, ``dump[3]``, ``for pair in dump``. Arrays are read when they are asked for."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.meta = _read_meta(self.path)
        self._lines = _line_offsets(self.path / "index.jsonl")
        if len(self._lines) != self.meta["hypotheses"]:
            raise NormalignError(
                f"{self.path / 'index.jsonl'}: {len(self._lines)} lines, {self.meta['hypotheses']} in meta.json"
            )

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[DumpedPair]:
        return (self[number] for number in range(len(self)))

    def ids(self) -> list[tuple[int, int]]:
        """(sentence id, rank) of every hypothesis, in the order of the dump, without reading arrays."""
        found = []
        with open(self.path / "index.jsonl", "rb") as index:
            for number, raw in enumerate(index, start=1):
                try:
                    line = json.loads(raw)
                    found.append((int(line["id"]), int(line["rank"])))
                except (ValueError, KeyError, TypeError) as error:
                    place = self.path / "index.jsonl"
                    raise NormalignError.at(place, number, f"not a line of a dump ({error})") from None
        return found

    def __getitem__(self, number: int) -> DumpedPair:
        if not 0 <= number < len(self):
            raise IndexError(number)
        with open(self.path / "index.jsonl", "rb") as index:
            index.seek(self._lines[number])
            raw = index.readline()
        try:
            line = json.loads(raw)
            return self._pair(number, line)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise NormalignError.at(self.path / "index.jsonl", number + 1, f"not a line of a dump ({error})") from None

    def _pair(self, number: int, line: dict[str, Any]) -> DumpedPair:
        layers, heads = self._arrays(number, int(line["shard"]))
        source, target = (_segmentation(line[side], len(line[f"{side}_pieces"])) for side in ("source", "target"))
        if layers.ndim != 3 or layers.shape[1:] != (len(line["target_pieces"]) + 1, len(line["source_pieces"])):
            raise ValueError(f"an array of shape {layers.shape} does not fit its pieces")
        return DumpedPair(
            id=int(line["id"]),
            rank=int(line["rank"]),
            source_pieces=tuple(map(str, line["source_pieces"])),
            target_pieces=tuple(map(str, line["target_pieces"])),
            source=source,
            target=target,
            score=float("nan") if line["score"] is None else float(line["score"]),
            layers=layers,
            heads=heads,
        )

    def _arrays(self, number: int, shard: int) -> tuple[np.ndarray, np.ndarray | None]:
        from safetensors import SafetensorError, safe_open

        path = _shard_path(self.path, shard)
        try:
            with safe_open(path, framework="np") as file:
                names = set(file.keys())
                heads = file.get_tensor(f"{number}.heads") if f"{number}.heads" in names else None
                return file.get_tensor(str(number)), heads
        except (OSError, SafetensorError) as error:
            raise NormalignError(f"{path}: {error}") from None


def _read_meta(path: Path) -> dict[str, Any]:
    try:
        meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NormalignError(f"{path}: not a dump of soft alignments ({error})") from None
    if not isinstance(meta, dict) or meta.get("version") != VERSION or not isinstance(meta.get("hypotheses"), int):
        raise NormalignError(f"{path / 'meta.json'}: not a dump of version {VERSION}")
    return meta


def _line_offsets(path: Path) -> list[int]:
    offsets, position = [], 0
    try:
        with open(path, "rb") as index:
            for line in index:
                offsets.append(position)
                position += len(line)
    except OSError as error:
        raise NormalignError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    return offsets


def _segmentation(fields: dict[str, Any], length: int) -> Segmentation:
    spans = tuple((int(start), int(stop)) for start, stop in fields["spans"])
    specials = tuple(int(position) for position in fields["specials"])
    covered = sorted([*specials, *(position for start, stop in spans for position in range(start, stop))])
    if covered != list(range(length)) or len(spans) != len(fields["words"]):
        raise ValueError("words and specials do not cover the pieces exactly once")
    return Segmentation(tuple(map(str, fields["words"])), spans, specials)

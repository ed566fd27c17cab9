"""Statistical word aligners, run as programs: eflomal, fast_align and GIZA++ (or mgiza).

They learn from the sentences they align, and from more if there are any. Each is run in both directions. Sentence pairs
it cannot take, because a side is empty or too long, are left out and stay without links.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..errors import NormalignError, reason_of
from ..files import read_lines, read_parallel, words_of
from .decide import Link
from .formats.blocks import ByteLines
from .formats.readers import links_of_line, read_giza

WordPair = tuple[list[str], list[str]]
"""The words of a source and of a target sentence."""

Links = list[list[Link]]
"""The links of each sentence pair, (source, target), 0-based."""


@dataclass(frozen=True)
class Program:
    """A program that was found."""

    name: str
    path: Path
    version: str
    """The version that the program prints, or, where it prints none, the start of the SHA-256 of its file."""


@dataclass(frozen=True)
class Baseline:
    """The links that an aligner gave to each sentence pair, and the commands that were run."""

    forward: Links
    """Each target word has at most one source word."""
    backward: Links
    """Each source word has at most one target word; links are (source, target) here too."""
    programs: list[Program]
    commands: list[list[str]]
    left_out: int
    """Sentence pairs that the aligner was not given."""


def read_word_pairs(source: str | Path, target: str | Path, *, lowercase: bool = False) -> list[WordPair]:
    """Read two files of the same length; return their sentence pairs in words."""
    pairs = read_parallel(source, target)
    return [(words_of(s.lower()), words_of(t.lower())) if lowercase else (words_of(s), words_of(t)) for s, t in pairs]


def align(
    aligner: str, pairs: Sequence[WordPair], train: Iterable[WordPair] = (), *, programs: str | Path | None = None
) -> Baseline:
    """Align ``pairs`` with the aligner of that name, which learns from them and from ``train``.

    ``programs``: the directory with its programs, if they are not on PATH.
    """
    if aligner not in ALIGNERS:
        raise NormalignError(f"unknown aligner '{aligner}'; choose one of {', '.join(ALIGNERS)}")
    runner = ALIGNERS[aligner](programs)
    wanted = [number for number, pair in enumerate(pairs) if runner.takes(pair)]
    given = [pairs[number] for number in wanted] + [pair for pair in train if runner.takes(pair)]
    found: tuple[Links, Links] = [[] for _ in pairs], [[] for _ in pairs]
    if wanted:
        with tempfile.TemporaryDirectory(prefix="normalign-") as directory:
            runner.directory = Path(directory)
            ways = runner.both_directions([(_safe(s), _safe(t)) for s, t in given], len(wanted))
        for way, links_of_way in zip(found, ways, strict=True):
            for number, links in zip(wanted, links_of_way, strict=True):
                way[number] = sorted(set(links))
                source, target = pairs[number]
                if any(not (0 <= s < len(source) and 0 <= t < len(target)) for s, t in links):
                    raise NormalignError(f"the aligner gave links outside of the sentence '{' '.join(source)[:60]}'")
    return Baseline(*found, runner.programs, runner.commands, len(pairs) - len(wanted))


def _safe(words: Sequence[str]) -> list[str]:
    """Return words without white space and separators, so that every aligner counts the same number of words."""
    return ["|" if word == "|||" else re.sub(r"\s", "_", word) for word in words]


_BESIDE_PYTHON = Path(sys.executable).parent
"""Where pip puts the programs of this environment."""


class Runner(ABC):
    """One aligner: its programs, and how to run them in a directory for temporary files."""

    needs: ClassVar[tuple[tuple[str, ...], ...]]
    """For each program it needs the names by which it may be found."""
    how_to_get: ClassVar[str]
    directory: Path

    def __init__(self, programs: str | Path | None = None) -> None:
        self.programs: list[Program] = []
        self.commands: list[list[str]] = []
        places = [str(programs)] if programs is not None else [os.environ.get("PATH", ""), str(_BESIDE_PYTHON)]
        for names in self.needs:
            found = ((name, shutil.which(name, path=place)) for name, place in itertools.product(names, places))
            name, path = next(((name, path) for name, path in found if path), ("", None))
            if path is None:
                where = f"in {programs}" if programs is not None else "on PATH"
                raise NormalignError(f"there is no program {' or '.join(names)} {where}; {self.how_to_get}")
            self.programs.append(Program(name, Path(path), self.version(Path(path))))

    def version(self, path: Path) -> str:
        """Return the start of the SHA-256 of the program: it does not tell its version."""
        return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()[:16]

    def takes(self, pair: WordPair) -> bool:
        """Whether the aligner can be given this pair."""
        return bool(pair[0]) and bool(pair[1])

    @abstractmethod
    def both_directions(self, pairs: Sequence[WordPair], wanted: int) -> tuple[Links, Links]:
        """Return forward and backward links of the first ``wanted`` pairs, (source, target) in both."""

    def _run(self, program: Program, *arguments: str, output: str | None = None) -> None:
        command = [str(program.path), *arguments]
        self.commands.append([program.name, *arguments])
        if program.path.parent == _BESIDE_PYTHON:
            # where the environment's path has a space, the first line of a Python script cannot name the interpreter
            with open(program.path, "rb") as handle:
                first = handle.readline()
            if first.startswith(b"#!") and b"python" in first:
                command = [sys.executable, *command]
        out_path = self.directory / output if output else os.devnull
        with open(out_path, "wb") as out, open(self.directory / "errors", "wb+") as errors:
            environment = {"USER": "nobody", **os.environ}  # GIZA++ crashes where it is not set, as in containers
            try:
                code = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=errors,
                    cwd=self.directory,
                    env=environment,
                    check=False,
                ).returncode
            except OSError as error:
                raise NormalignError(f"{program.path}: {reason_of(error)}") from None
            if code:
                errors.seek(0)
                lines = errors.read().decode("utf-8", "replace").strip().splitlines()
                message = lines[-1] if lines else "no message"
                raise NormalignError(f"{program.name} failed (exit code {code}): {message}")

    def _write(self, name: str, lines: Iterable[str]) -> str:
        with open(self.directory / name, "w", encoding="utf-8", newline="\n") as handle:
            handle.writelines(f"{line}\n" for line in lines)
        return name

    def _read_links(self, name: str, wanted: int) -> Links:
        """Return the links of the first ``wanted`` lines ``0-0 1-2`` of an output."""
        program = self.programs[0].name
        lines = list(itertools.islice(read_lines(self.directory / name), wanted))
        if len(lines) < wanted:
            raise NormalignError(f"{program} aligned only {len(lines)} of {wanted} sentence pairs")
        return [
            [link[:2] for link in links_of_line(line, f"the output of {program}", number)]
            for number, line in enumerate(lines, start=1)
        ]


class Eflomal(Runner):
    """eflomal (Östling and Tiedemann 2016). It samples, and two runs differ a little."""

    needs = (("eflomal-align",),)
    how_to_get = "pip install 'fairseq-normalign[aligners]' brings it"

    def version(self, path: Path) -> str:
        """Return the version of the installed package, if the program belongs to this environment."""
        if path.parent == _BESIDE_PYTHON:
            try:
                return importlib.metadata.version("eflomal")
            except importlib.metadata.PackageNotFoundError:
                pass
        return super().version(path)

    def both_directions(self, pairs: Sequence[WordPair], wanted: int) -> tuple[Links, Links]:
        """Run both directions at once."""
        text = self._write("text", (f"{' '.join(source)} ||| {' '.join(target)}" for source, target in pairs))
        self._run(self.programs[0], "-i", text, "-f", "forward", "-r", "backward")
        return self._read_links("forward", wanted), self._read_links("backward", wanted)


class FastAlign(Runner):
    """fast_align (Dyer et al. 2013), with its recommended options."""

    needs = (("fast_align",),)
    how_to_get = "build it from https://github.com/clab/fast_align and put it on PATH, or give its directory (programs)"

    def both_directions(self, pairs: Sequence[WordPair], wanted: int) -> tuple[Links, Links]:
        """Run once per direction; the links are (source, target) in both."""
        text = self._write("text", (f"{' '.join(source)} ||| {' '.join(target)}" for source, target in pairs))
        for name, option in (("forward", []), ("backward", ["-r"])):
            self._run(self.programs[0], "-i", text, "-d", "-o", "-v", *option, output=name)
        return self._read_links("forward", wanted), self._read_links("backward", wanted)


class Giza(Runner):
    """GIZA++ or mgiza (Och and Ney 2003): IBM model 1, HMM, models 3 and 4, as Moses runs them."""

    needs = (("mgiza", "GIZA++"), ("mkcls",))
    how_to_get = (
        "build GIZA++ and mkcls from https://github.com/moses-smt/giza-pp, or mgiza, and put them on PATH, "
        "or give their directory (programs)"
    )
    longest: ClassVar[int] = 100
    """Words it takes on a side: it would cut what is beyond."""
    options: ClassVar[tuple[str, ...]] = (
        *("-m1", "5", "-m2", "0", "-mh", "5", "-m3", "3", "-m4", "3", "-p0", "0.999", "-nsmooth", "4"),
        *("-model1dumpfrequency", "1", "-model4smoothfactor", "0.4", "-nodumps", "1", "-onlyaldumps", "1"),
    )

    def takes(self, pair: WordPair) -> bool:
        """Whether both sides are neither empty nor too long."""
        return super().takes(pair) and max(map(len, pair)) <= self.longest

    def both_directions(self, pairs: Sequence[WordPair], wanted: int) -> tuple[Links, Links]:
        """Run once per direction, on vocabularies and word classes made once."""
        numbers = {}
        for side, sentences in (("source", [pair[0] for pair in pairs]), ("target", [pair[1] for pair in pairs])):
            counts = Counter(word for sentence in sentences for word in sentence)
            number_of = {word: number for number, (word, _) in enumerate(counts.most_common(), start=2)}
            self._write(f"{side}.vcb", (f"{number} {word} {counts[word]}" for word, number in number_of.items()))
            self._write(f"{side}.txt", map(" ".join, sentences))
            self._run(self.programs[1], "-c50", "-n2", f"-p{side}.txt", f"-V{side}.vcb.classes", "opt")
            numbers[side] = [np.array([number_of[word] for word in sentence]) for sentence in sentences]
        forward = self._direction("source", "target", numbers, wanted)
        backward = self._direction("target", "source", numbers, wanted)
        return forward, [[(source, target) for target, source in links] for links in backward]

    def _direction(self, first: str, second: str, numbers: dict[str, list[np.ndarray]], wanted: int) -> Links:
        """Links (first, second), each word of ``second`` with at most one of ``first``."""
        name = f"{first}-{second}"
        pairs = list(zip(numbers[first], numbers[second], strict=True))
        corpus = self._write(f"{name}.snt", (f"1\n{' '.join(map(str, s))}\n{' '.join(map(str, t))}" for s, t in pairs))
        # every pair of words that meet in a sentence pair, and NULL (0) with every word of the second side, sorted
        met = np.zeros(0, dtype=np.int64)
        for start in range(0, len(pairs), 20_000):
            codes = [np.unique((np.append(s, 0)[:, None] << 32) | t[None, :]) for s, t in pairs[start : start + 20_000]]
            met = np.unique(np.concatenate([met, *codes]))
        together = self._write(f"{name}.cooc", (f"{code >> 32} {code & 0xFFFFFFFF}" for code in met.tolist()))
        files = ["-S", f"{first}.vcb", "-T", f"{second}.vcb", "-C", corpus, "-CoocurrenceFile", together]
        self._run(self.programs[0], *files, "-o", name, *self.options)

        found: dict[int, list[Link]] = {}
        for path in sorted(self.directory.glob(f"{name}.A3.final*")):  # mgiza divides the pairs among several files
            with open(path, "rb") as handle:
                read = read_giza(ByteLines(str(path), handle))
            read.place_at(read.ids, len(read.ids))
            sentences = read.take(len(read.ids)).shifted(-1).sentences()
            found |= {int(id): [link[:2] for link in links] for id, links in zip(read.ids, sentences, strict=True)}
        missing = sum(number not in found for number in range(1, wanted + 1))
        if missing:
            raise NormalignError(f"GIZA++ aligned only {wanted - missing} of {wanted} sentence pairs")
        return [found[number] for number in range(1, wanted + 1)]


ALIGNERS: dict[str, type[Runner]] = {"eflomal": Eflomal, "fast_align": FastAlign, "giza": Giza}

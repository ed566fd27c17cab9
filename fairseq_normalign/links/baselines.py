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
    return [(_words(one, lowercase), _words(other, lowercase)) for one, other in read_parallel(source, target)]


def _words(line: str, lowercase: bool) -> list[str]:
    return words_of(line.lower() if lowercase else line)


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
    forward: Links = [[] for _ in pairs]
    backward: Links = [[] for _ in pairs]
    if wanted:
        with tempfile.TemporaryDirectory(prefix="normalign-") as directory:
            found = runner.both_directions([(_safe(s), _safe(t)) for s, t in given], Path(directory), len(wanted))
        for number, one, other in zip(wanted, *found, strict=True):
            forward[number], backward[number] = _within(one, pairs[number]), _within(other, pairs[number])
    return Baseline(forward, backward, runner.programs, runner.commands, len(pairs) - len(wanted))


def _safe(words: Sequence[str]) -> list[str]:
    """Return words without white space and separators, so that every aligner counts the same number of words."""
    return ["|" if word == "|||" else re.sub(r"\s", "_", word) for word in words]


def _within(links: Iterable[Link], pair: WordPair) -> list[Link]:
    found = sorted(set(links))
    if any(not (0 <= s < len(pair[0]) and 0 <= t < len(pair[1])) for s, t in found):
        raise NormalignError(f"the aligner gave links outside of the sentence '{' '.join(pair[0])[:60]}'")
    return found


class Runner(ABC):
    """One aligner: its programs, and how to run them."""

    needs: ClassVar[tuple[tuple[str, ...], ...]]
    """For each program it needs the names by which it may be found."""
    how_to_get: ClassVar[str]

    def __init__(self, directory: str | Path | None = None) -> None:
        self.programs = [self._find(names, directory) for names in self.needs]
        self.commands: list[list[str]] = []

    def _find(self, names: tuple[str, ...], directory: str | Path | None) -> Program:
        places = [str(directory)] if directory is not None else [os.environ.get("PATH", ""), _beside_python()]
        for name, place in itertools.product(names, places):
            found = shutil.which(name, path=place)
            if found:
                return Program(name, Path(found), self.version(Path(found)))
        where = f"in {directory}" if directory is not None else "on PATH"
        raise NormalignError(f"there is no program {' or '.join(names)} {where}; {self.how_to_get}")

    def version(self, path: Path) -> str:
        """Return the start of the SHA-256 of the program: it does not tell its version."""
        return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()[:16]

    def takes(self, pair: WordPair) -> bool:
        """Whether the aligner can be given this pair."""
        return bool(pair[0]) and bool(pair[1])

    @abstractmethod
    def both_directions(self, pairs: Sequence[WordPair], directory: Path, wanted: int) -> tuple[Links, Links]:
        """Return forward and backward links of the first ``wanted`` pairs; temporary files go to ``directory``."""

    def _run(self, program: Program, *arguments: str, directory: Path, output: Path | None = None) -> None:
        command = [*_start(program.path), *arguments]
        self.commands.append([program.name, *arguments])
        with open(output or os.devnull, "wb") as out, open(directory / "errors", "wb+") as errors:
            try:
                code = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=errors,
                    cwd=directory,
                    env={"USER": "nobody", **os.environ},  # GIZA++ crashes where it is not set, as in containers
                    check=False,
                ).returncode
            except OSError as error:
                raise NormalignError(f"{program.path}: {reason_of(error)}") from None
            if code:
                errors.seek(0)
                lines = errors.read().decode("utf-8", "replace").strip().splitlines()
                raise NormalignError(
                    f"{program.name} failed (exit code {code}): {lines[-1] if lines else 'no message'}"
                )


def _beside_python() -> str:
    """Where pip puts the programs of this environment."""
    return str(Path(sys.executable).parent)


def _start(program: Path) -> list[str]:
    """The words that start a program. A Python script of this environment is given to our interpreter: where the
    environment's path has a space, the first line of the script cannot name it."""
    if program.parent == Path(_beside_python()):
        with open(program, "rb") as handle:
            first = handle.readline()
        if first.startswith(b"#!") and b"python" in first:
            return [sys.executable, str(program)]
    return [str(program)]


def _read_links(path: Path, program: Program, wanted: int) -> Links:
    """Return the links of the first ``wanted`` lines ``0-0 1-2`` of a file."""
    lines = list(itertools.islice(read_lines(path), wanted))
    if len(lines) < wanted:
        raise NormalignError(f"{program.name} aligned only {len(lines)} of {wanted} sentence pairs")
    return [
        [link[:2] for link in links_of_line(line, f"the output of {program.name}", number)]
        for number, line in enumerate(lines, start=1)
    ]


def _write_text(pairs: Iterable[WordPair], directory: Path) -> Path:
    path = directory / "text"
    with open(path, "w", encoding="utf-8", newline="\n") as handle:
        handle.writelines(f"{' '.join(source)} ||| {' '.join(target)}\n" for source, target in pairs)
    return path


class Eflomal(Runner):
    """eflomal (Östling and Tiedemann 2016). It samples, and two runs differ a little."""

    needs = (("eflomal-align",),)
    how_to_get = "pip install 'fairseq-normalign[aligners]' brings it"

    def version(self, path: Path) -> str:
        """Return the version of the installed package, if the program belongs to this environment."""
        if path.parent == Path(_beside_python()):
            try:
                return importlib.metadata.version("eflomal")
            except importlib.metadata.PackageNotFoundError:
                pass
        return super().version(path)

    def both_directions(self, pairs: Sequence[WordPair], directory: Path, wanted: int) -> tuple[Links, Links]:
        """Run both directions at once."""
        _write_text(pairs, directory)
        names = "forward", "backward"
        (program,) = self.programs
        self._run(program, "-i", "text", "-f", names[0], "-r", names[1], directory=directory)
        forward, backward = (_read_links(directory / name, program, wanted) for name in names)
        return forward, backward


class FastAlign(Runner):
    """fast_align (Dyer et al. 2013), with its recommended options."""

    needs = (("fast_align",),)
    how_to_get = "build it from https://github.com/clab/fast_align and put it on PATH, or give its directory (programs)"

    def both_directions(self, pairs: Sequence[WordPair], directory: Path, wanted: int) -> tuple[Links, Links]:
        """Run once per direction; the links are (source, target) in both."""
        _write_text(pairs, directory)
        (program,) = self.programs
        for name, option in (("forward", []), ("backward", ["-r"])):
            arguments = ["-i", "text", "-d", "-o", "-v", *option]
            self._run(program, *arguments, directory=directory, output=directory / name)
        return (
            _read_links(directory / "forward", program, wanted),
            _read_links(directory / "backward", program, wanted),
        )


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

    def both_directions(self, pairs: Sequence[WordPair], directory: Path, wanted: int) -> tuple[Links, Links]:
        """Run once per direction, on vocabularies and word classes made once."""
        sides = {"source": [pair[0] for pair in pairs], "target": [pair[1] for pair in pairs]}
        numbers = {side: self._vocabulary(side, sentences, directory) for side, sentences in sides.items()}
        forward = self._direction("source", "target", numbers, directory, wanted)
        backward = self._direction("target", "source", numbers, directory, wanted)
        return forward, [[(source, target) for target, source in links] for links in backward]

    def _vocabulary(self, side: str, sentences: Sequence[list[str]], directory: Path) -> list[np.ndarray]:
        """Write the vocabulary and the word classes of one side -> its sentences as numbers."""
        counts = Counter(word for sentence in sentences for word in sentence)
        number_of = {word: number for number, (word, _) in enumerate(counts.most_common(), start=2)}
        with open(directory / f"{side}.vcb", "w", encoding="utf-8", newline="\n") as handle:
            handle.writelines(f"{number} {word} {counts[word]}\n" for word, number in number_of.items())
        with open(directory / f"{side}.txt", "w", encoding="utf-8", newline="\n") as handle:
            handle.writelines(" ".join(sentence) + "\n" for sentence in sentences)
        classes = f"-V{side}.vcb.classes"
        self._run(self.programs[1], "-c50", "-n2", f"-p{side}.txt", classes, "opt", directory=directory)
        return [np.array([number_of[word] for word in sentence]) for sentence in sentences]

    def _direction(
        self, first: str, second: str, numbers: dict[str, list[np.ndarray]], directory: Path, wanted: int
    ) -> Links:
        """Links (first, second), each word of ``second`` with at most one of ``first``."""
        name = f"{first}-{second}"
        with open(directory / f"{name}.snt", "w", encoding="utf-8", newline="\n") as handle:
            for one, other in zip(numbers[first], numbers[second], strict=True):
                handle.write(f"1\n{' '.join(map(str, one))}\n{' '.join(map(str, other))}\n")
        _write_cooccurrences(directory / f"{name}.cooc", numbers[first], numbers[second])
        files = ["-S", f"{first}.vcb", "-T", f"{second}.vcb", "-C", f"{name}.snt", "-CoocurrenceFile", f"{name}.cooc"]
        self._run(self.programs[0], *files, "-o", name, *self.options, directory=directory)
        return _read_giza(sorted(directory.glob(f"{name}.A3.final*")), wanted)


def _write_cooccurrences(path: Path, first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> None:
    """Every pair of words that stand in one sentence pair, and NULL (0) with every word of the second side, sorted."""
    many = 20_000
    found = np.zeros(0, dtype=np.int64)
    for start in range(0, len(first), many):
        codes = [
            np.unique((np.append(one, 0)[:, None] << 32) | other[None, :])
            for one, other in zip(first[start : start + many], second[start : start + many], strict=True)
        ]
        found = np.unique(np.concatenate([found, *codes]))
    with open(path, "w", encoding="utf-8", newline="\n") as handle:
        handle.writelines(f"{code >> 32} {code & 0xFFFFFFFF}\n" for code in found.tolist())


def _read_giza(paths: Sequence[Path], wanted: int) -> Links:
    """Return the links of GIZA++'s A3 files, among which mgiza divides the pairs."""
    found: dict[int, list[Link]] = {}
    for path in paths:
        with open(path, "rb") as handle:
            pairs = read_giza(ByteLines(str(path), handle))
        pairs.place_at(pairs.ids, len(pairs.ids))
        sentences = pairs.take(len(pairs.ids)).shifted(-1).sentences()
        found |= {int(id): [link[:2] for link in links] for id, links in zip(pairs.ids, sentences, strict=True)}
    missing = sum(number not in found for number in range(1, wanted + 1))
    if missing:
        raise NormalignError(f"GIZA++ aligned only {wanted - missing} of {wanted} sentence pairs")
    return [found[number] for number in range(1, wanted + 1)]


ALIGNERS: dict[str, type[Runner]] = {"eflomal": Eflomal, "fast_align": FastAlign, "giza": Giza}

"""Raw text into Moses tokens without escapes, in the form of the gold: plain quotes and dashes.

Writes OUTPUT.part line by line and renames it; an interrupted run goes on after its last whole line.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from fairseq_normalign.files import read_lines
from fairseq_normalign.text.subwords import MosesTokenizer

PLAIN = str.maketrans(
    {
        **dict.fromkeys("„“”«»‟", '"'),
        **dict.fromkeys("‚‘’‛`´‹›", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "…": "...",
        "\u00a0": " ",
        "\u00ad": "",
    }
)
CHUNK = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--language", required=True)
    parser.add_argument("--lowercase", action="store_true")
    parser.add_argument("--tokenized", action="store_true", help="the words are there already: lower-case only")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")


class LineTokenizer:
    """A raw line into a line of tokens."""

    def __init__(self, language: str, *, lowercase: bool, tokenized: bool) -> None:
        self._words: Callable[[str], list[str]] = str.split if tokenized else MosesTokenizer(language)
        self._plain = not tokenized
        self._lowercase = lowercase

    def __call__(self, line: str) -> str:
        """The tokens, separated by single spaces."""
        line = " ".join(self._words(line.translate(PLAIN) if self._plain else line))
        return line.lower() if self._lowercase else line


_tokenizer: LineTokenizer | None = None


def _start(language: str, lowercase: bool, tokenized: bool) -> None:
    global _tokenizer
    _tokenizer = LineTokenizer(language, lowercase=lowercase, tokenized=tokenized)


def _tokenize(line: str) -> str:
    if _tokenizer is None:
        raise RuntimeError("the process was not started")
    return _tokenizer(line)


def run(args: argparse.Namespace) -> None:
    part = args.output.with_name(args.output.name + ".part")
    done = whole_lines(part)
    lines = itertools.islice(read_lines(args.input), done, None)
    with open(part, "a", encoding="utf-8", newline="\n") as out:
        for line in tokenized_lines(lines, args):
            out.write(line + "\n")
    part.rename(args.output)


def tokenized_lines(lines: Iterator[str], args: argparse.Namespace) -> Iterator[str]:
    how = (args.language, args.lowercase, args.tokenized)
    if args.jobs == 1:
        _start(*how)
        yield from map(_tokenize, lines)
        return
    with multiprocessing.Pool(args.jobs, _start, how) as pool:
        yield from pool.imap(_tokenize, lines, CHUNK)


def whole_lines(path: Path) -> int:
    """How many lines are complete; what follows the last line end is cut off."""
    if not path.exists():
        return 0
    count = end = position = 0
    with open(path, "rb") as handle:
        while block := handle.read(1 << 20):
            count += block.count(b"\n")
            if b"\n" in block:
                end = position + block.rindex(b"\n") + 1
            position += len(block)
    os.truncate(path, end)
    return count

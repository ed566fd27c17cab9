"""Write a German-English corpus with known word alignments: train, valid and test text, and the test set's gold.

The sentences come from a grammar of both languages (the package ``bitext`` beside this file), so the gold is not
annotated but follows from what each word expresses. The same seed gives the same files.
"""

from __future__ import annotations

import argparse
import functools
import gc
import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bitext import english, german
from bitext.meaning import Sentence
from bitext.phenomena import PHENOMENA, phenomena
from bitext.sampler import Sampler
from bitext.tokens import Link, Token, detokenize, links
from sacremoses import MosesTokenizer

LANGUAGES = ("de", "en")
SHORTEST, LONGEST = 4, 36  # tokens of a side, punctuation included


@dataclass(frozen=True)
class Pair:
    """One sentence pair: its Moses tokens, and the meaning that both express."""

    german: tuple[Token, ...]
    english: tuple[Token, ...]
    meaning: Sentence

    @functools.cached_property
    def _texts(self) -> dict[str, str]:
        return {language: detokenize(self.tokens(language)) for language in LANGUAGES}

    def text(self, language: str) -> str:
        """The sentence as it would be written."""
        return self._texts[language]

    def tokens(self, language: str) -> tuple[Token, ...]:
        """One side."""
        return self.german if language == "de" else self.english


class TokenizationError(Exception):
    """The Moses tokenizer splits a sentence otherwise than the gold alignment assumes."""


def pairs(seed: int) -> Iterator[Pair]:
    """An endless stream of pairs; no German and no English sentence comes twice."""
    sampler = Sampler(random.Random(seed))
    seen: set[str] = set()
    while True:
        meaning = sampler.sentence()
        pair = Pair(tuple(german.sentence(meaning)), tuple(english.sentence(meaning)), meaning)
        if not all(SHORTEST <= len(pair.tokens(language)) <= LONGEST for language in LANGUAGES):
            continue
        texts = {pair.text(language) for language in LANGUAGES}
        if not texts & seen:
            seen |= texts
            yield pair


def talp(pair: Pair) -> str:
    """The gold alignment as a line: 1-based, German first, ``i-j`` sure, ``ipj`` possible."""
    sure, possible = links(pair.german, pair.english)
    return " ".join(_talp_link(link, link in sure) for link in sorted(possible))


def _talp_link(link: Link, is_sure: bool) -> str:
    return f"{link[0] + 1}{'-' if is_sure else 'p'}{link[1] + 1}"


def check_tokenization(pair: Pair, tokenizers: dict[str, MosesTokenizer]) -> None:
    """Raise unless Moses splits the written sentence into the very words that the gold counts."""
    for language in LANGUAGES:
        expected = [token.text for token in pair.tokens(language)]
        found = tokenizers[language].tokenize(pair.text(language), escape=False)
        if found != expected:
            raise TokenizationError(f"{language}: the tokenizer gives {found}, the gold has {expected}")


def split_corpus(seed: int, sizes: dict[str, int]) -> dict[str, list[Pair]]:
    """The splits, drawn one after another from one stream; the test set first, so it is the same at any size."""
    stream = pairs(seed)
    return {name: list(itertools.islice(stream, sizes[name])) for name in ("test", "valid", "train")}


def write_corpus(out: Path, splits: dict[str, list[Pair]]) -> None:
    """Write ``{train,valid,test}.{de,en}`` and ``test.talp``; each file appears whole or not at all."""
    out.mkdir(parents=True, exist_ok=True)
    tokenizers = {language: MosesTokenizer(language) for language in LANGUAGES}
    for pair in splits["test"]:
        check_tokenization(pair, tokenizers)
    for name, split in splits.items():
        for language in LANGUAGES:
            _write_lines(out / f"{name}.{language}", [pair.text(language) for pair in split])
    _write_lines(out / "test.talp", [talp(pair) for pair in splits["test"]])


def _write_lines(path: Path, lines: list[str]) -> None:
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    unfinished.replace(path)


def describe(test: list[Pair]) -> str:
    """How often each hard thing is in the test set, one a line."""
    counts = Counter(name for pair in test for name in phenomena(pair.meaning))
    return "\n".join(f"{counts[name]:6d}  {name}" for name in PHENOMENA)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the files go")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="default: %(default)s")
    for name, size in (("train", 20000), ("valid", 500), ("test", 500)):
        parser.add_argument(
            f"--{name}", type=int, default=size, metavar="N", help="sentence pairs; default: %(default)s"
        )
    parser.add_argument("--describe", action="store_true", help="print how often each hard thing is in the test set")
    args = parser.parse_args(argv)
    for name in ("train", "valid", "test"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} is {getattr(args, name)}; allowed is 1 or more")
    return args


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    args = _arguments(argv)
    gc.disable()  # nothing here is cyclic, and looking for it takes two fifths of the time
    splits = split_corpus(args.seed, {name: getattr(args, name) for name in ("train", "valid", "test")})
    try:
        write_corpus(args.out, splits)
    except (OSError, TokenizationError) as error:
        print(f"corpus.py: error: {error}", file=sys.stderr)
        return 2
    if args.describe:
        print(describe(splits["test"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Write a German-English corpus with known word alignments: train, valid and test text, and the test set's gold.

The gold is not annotated: it follows from what each word of the grammar expresses (grammar.py, words.txt). The same
seed gives the same files.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from grammar import Grammar, Sentence
from sacremoses import MosesTokenizer

LANGUAGES = ("de", "en")
SPLITS = ("test", "valid", "train")
SHORTEST, LONGEST = 4, 36  # words of a side


def sentences(seed: int) -> Iterator[Sentence]:
    """Pairs without end; no German and no English sentence comes twice."""
    grammar, seen = Grammar(seed), set[str]()
    while True:
        pair = grammar.sentence()
        texts = {pair.text(language) for language in LANGUAGES}
        if all(SHORTEST <= len(side) <= LONGEST for side in (pair.german, pair.english)) and not texts & seen:
            seen |= texts
            yield pair


def talp(pair: Sentence) -> str:
    """The gold alignment as a line: 1-based, German first, ``i-j`` sure, ``ipj`` possible."""
    sure, possible = pair.links()
    return " ".join(f"{i + 1}{'-' if (i, j) in sure else 'p'}{j + 1}" for i, j in sorted(possible))


def write(path: Path, lines: Sequence[str]) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    part.replace(path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    for name in SPLITS:
        parser.add_argument(f"--{name}", type=int, default=500, help="pairs")
    parser.add_argument("--describe", action="store_true", help="count what is hard to align in the test set")
    args = parser.parse_args(arguments)
    for name in SPLITS:
        if getattr(args, name) < 1:
            parser.error(f"--{name} is {getattr(args, name)}; allowed is 1 or more")
    args.out.mkdir(parents=True, exist_ok=True)
    stream = sentences(args.seed)  # the test set first, so that it is the same at any size of the others
    splits = {name: list(itertools.islice(stream, getattr(args, name))) for name in SPLITS}
    for language in LANGUAGES:
        moses = MosesTokenizer(language)
        for pair in splits["test"]:
            expected = [word.text for word in (pair.german if language == "de" else pair.english)]
            found = moses.tokenize(pair.text(language), escape=False)
            if [word.lower() for word in found] != [word.lower() for word in expected]:
                raise SystemExit(f"{language}: Moses makes {found}, the gold has {expected}")
        for name, pairs in splits.items():
            write(args.out / f"{name}.{language}", [pair.text(language) for pair in pairs])
    write(args.out / "test.talp", [talp(pair) for pair in splits["test"]])
    if args.describe:
        counts = Counter(name for pair in splits["test"] for name in pair.phenomena)
        for name, count in sorted(counts.items()):
            print(f"{count:6}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

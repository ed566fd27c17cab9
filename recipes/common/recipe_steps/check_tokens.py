"""Does the tokenizer agree with the words that the gold counts? Tokenizes each gold line again and compares.

The links of the gold count its own words, which are used as they are; but a model that never saw its words, because
the training text was split otherwise, would align it badly.
"""

from __future__ import annotations

import argparse
import collections
import difflib
from pathlib import Path

from fairseq_normalign.files import read_lines, words_of

from .tokenize import LineTokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", type=Path, help="tokenized sentences of the gold")
    parser.add_argument("--language", required=True)
    parser.add_argument("--examples", type=int, default=3)


def run(args: argparse.Namespace) -> None:
    tokenizer = LineTokenizer(args.language, lowercase=False, tokenized=False)
    kept = words = sentences = 0
    differences: collections.Counter[str] = collections.Counter()
    for line in read_lines(args.text):
        given, made = words_of(line), words_of(tokenizer(line))
        matched = difflib.SequenceMatcher(None, given, made, autojunk=False)
        changes = [change for change in matched.get_opcodes() if change[0] != "equal"]
        differences.update(f"{' '.join(given[a:b])} | {' '.join(made[c:d])}" for _, a, b, c, d in changes)
        sentences += 1
        words += len(given)
        kept += len(given) - sum(b - a for _, a, b, _, _ in changes)
    print(
        f"{args.language}: {100 * kept / max(1, words):.2f}% of the gold's {words} words in {sentences} sentences stay"
    )
    for text, count in differences.most_common(args.examples):
        print(f"    {count} x {text}")

"""Tokenized pairs that are worth training on: no empty, overlong, lopsided or repeated ones, none of the test sets.

Sides stay parallel. A pair whose source or target is a test sentence, whatever its case and spaces, is left out.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import open_output, read_lines, words_of

SLACK_WORDS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", help="prefix of the two files")
    parser.add_argument("output", help="prefix of the two files")
    parser.add_argument("--languages", nargs=2, default=("de", "en"))
    parser.add_argument("--max-words", type=int, default=250)
    parser.add_argument("--max-ratio", type=float, default=1.5, help="longer side up to RATIO x shorter + 5 words")
    parser.add_argument("--without", nargs="*", default=[], help="prefixes of test sets")
    parser.add_argument("--repeated", action="store_true", help="keep repeated pairs")


def run(args: argparse.Namespace) -> None:
    held_out = [
        {key_of(line) for prefix in args.without for line in read_lines(f"{prefix}.{language}")}
        for language in args.languages
    ]
    reasons: Counter[str] = Counter()
    paths = [Path(f"{args.output}.{language}") for language in args.languages]
    with open_output(paths[0]) as source, open_output(paths[1]) as target:
        seen: set[bytes] = set()
        for pair in pairs_of(args.input, args.languages):
            reason = reason_against(pair, args, held_out, seen)
            reasons[reason or "kept"] += 1
            if reason is None:
                source.write(pair[0] + "\n")
                target.write(pair[1] + "\n")
        if not reasons["kept"]:
            raise NormalignError(f"{args.input}: no pair is left after cleaning ({describe(reasons)})")
    print(describe(reasons))


def describe(reasons: Counter[str]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())


def pairs_of(prefix: str, languages: list[str]) -> Iterator[tuple[str, str]]:
    try:
        yield from zip(*(read_lines(f"{prefix}.{language}") for language in languages), strict=True)
    except ValueError:
        raise NormalignError(f"{prefix}: the {languages[0]} and {languages[1]} files differ in length") from None


def reason_against(
    pair: tuple[str, str], args: argparse.Namespace, held_out: list[set[bytes]], seen: set[bytes]
) -> str | None:
    """Why a pair is left out, or None."""
    shorter, longer = sorted(len(words_of(side)) for side in pair)
    if shorter == 0:
        return "empty"
    if longer > args.max_words:
        return "too long"
    if longer > args.max_ratio * shorter + SLACK_WORDS:
        return "lopsided"
    keys = [key_of(side) for side in pair]
    if any(key in keys_held_out for key, keys_held_out in zip(keys, held_out, strict=True)):
        return "in a test set"
    if not args.repeated:
        both = b"".join(keys)
        if both in seen:
            return "repeated"
        seen.add(both)
    return None


def key_of(line: str) -> bytes:
    """Equal for sentences that differ in case and spaces only; short, as millions of them are kept."""
    return hashlib.blake2b("".join(line.lower().split()).encode(), digest_size=8).digest()

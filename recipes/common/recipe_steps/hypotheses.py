"""The translations of a fairseq-generate log, in the order of the input; none may be missing."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from sacremoses import MosesDetokenizer

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import open_output, read_lines, words_of

HYPOTHESIS = re.compile(r"H-([0-9]{1,9})\t[^\t]*\t(.*)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--detokenize", metavar="LANGUAGE", help="join the words as people write them")
    parser.add_argument("--count", type=int, help="how many there must be")


def run(args: argparse.Namespace) -> None:
    found: dict[int, str] = {}
    for line in read_lines(args.log):
        if hypothesis := HYPOTHESIS.fullmatch(line):
            found.setdefault(int(hypothesis[1]), hypothesis[2])
    count = args.count if args.count is not None else len(found)
    missing = [number for number in range(count) if number not in found]
    if missing or not found:
        raise NormalignError(f"{args.log}: {len(found)} translations, {len(missing)} of {count} are missing")
    join = MosesDetokenizer(lang=args.detokenize).detokenize if args.detokenize else " ".join
    with open_output(args.output) as out:
        out.writelines(join(words_of(found[number])) + "\n" for number in range(count))

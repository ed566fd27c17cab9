"""Links of words into links of pieces, as fairseq-preprocess --align-suffix wants them: each piece of the one word with
each piece of the other."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import open_output, read_lines, words_of
from fairseq_normalign.links.formats import pharaoh
from fairseq_normalign.links.pieces import segment

LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("links", type=Path, help="0-based source-target links of words")
    parser.add_argument("--pieces", type=Path, nargs=2, required=True, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--scheme", default="subword_nmt", help="how pieces are marked: subword_nmt or sentencepiece")
    parser.add_argument("--turn", action="store_true", help="write target-source, for the other direction")
    parser.add_argument("-o", "--output", type=Path, required=True)


def run(args: argparse.Namespace) -> None:
    source, target = args.pieces
    try:
        with open_output(args.output) as out:
            lines = zip(read_lines(args.links), read_lines(source), read_lines(target), strict=True)
            for number, (links, *sides) in enumerate(lines, start=1):
                groups = [piece_groups(words_of(side), args.scheme) for side in sides]
                try:
                    expanded = sorted(expand(parse(links), *groups))
                except (IndexError, ValueError):
                    raise NormalignError.at(str(args.links), number, "a link is malformed or past the end") from None
                turned = ((t, s) for s, t in expanded) if args.turn else expanded
                out.write(pharaoh(turned) + "\n")
    except ValueError:
        raise NormalignError(f"{args.links}, {source} and {target} differ in length") from None


def parse(line: str) -> list[tuple[int, int]]:
    links = [LINK.fullmatch(word) for word in words_of(line)]
    if not all(links):
        raise ValueError("not i-j")
    return [(int(link[1]), int(link[2])) for link in links if link]


def piece_groups(pieces: list[str], scheme: str) -> list[range]:
    """The positions of each word's pieces."""
    return [range(*span) for span in segment(pieces, scheme).spans]


def expand(links: Iterable[tuple[int, int]], source: list[range], target: list[range]) -> Iterable[tuple[int, int]]:
    """Pairs of piece positions."""
    return ((s, t) for i, j in links for s in source[i] for t in target[j])

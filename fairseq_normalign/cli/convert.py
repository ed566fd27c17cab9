"""Turn one alignment format into another.

Links are sorted and each is written once; one marked both sure and possible is sure. Pharaoh and fairseq cannot mark
possible links: --possible says whether to keep or to drop them. naacl and rwth take line numbers as ids. jsonl holds
the texts and the place of every word as well: to write it takes --source and --target.
"""

from __future__ import annotations

import argparse
from typing import TextIO

from ..errors import NormalignError
from ..files import open_output, read_lines
from ..links.formats import (
    FORMATS,
    WRITERS,
    AlignmentFile,
    Lengths,
    OptionNames,
    Writer,
    in_step,
    open_alignment,
    to_json,
)
from ..projection.pairs import PairReader, read_aligned, sides_of
from ..text.words import WORD_KINDS, word_finder

EPILOG = """\
Sentences without links are blank lines in pharaoh and talp, a bare 'A-<id>' in fairseq and a bare 'SENT: <id>' in rwth;
naacl has no way to write them, so they are gaps in the ids, and those at the end are lost unless --source or --target
tell how many sentences there are. From naacl and rwth, ids are line numbers; --in-order leaves out the gaps.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("input", metavar="INPUT", help="alignments ('-': standard input)")
    parser.add_argument("--to", choices=(*WRITERS, "jsonl"), required=True, help="format to write")
    parser.add_argument(
        "--to-base", type=int, choices=(0, 1), help="what the first word is written as (the format's own)"
    )
    parser.add_argument("--from", dest="format", choices=("auto", *FORMATS), default="auto", help="format read (auto)")
    parser.add_argument("--from-base", type=int, choices=(0, 1), help="what the first word is counted as in INPUT")
    parser.add_argument(
        "--reverse-input", action=argparse.BooleanOptionalAction, help="whether INPUT has the target word first"
    )
    parser.add_argument("--reverse-output", action="store_true", help="write the target word first")
    parser.add_argument("--possible", choices=("keep", "drop"), help="what becomes of links that are only possible")
    parser.add_argument("--in-order", action="store_true", help="ids of INPUT are only an order, gaps mean nothing")
    parser.add_argument("--first-id", type=int, help="id of the first sentence written (naacl, rwth: 1, fairseq: 0)")
    parser.add_argument("--source", metavar="FILE", help="source sentences, words separated by spaces: checks ranges")
    parser.add_argument("--target", metavar="FILE", help="target sentences")
    parser.add_argument("--nth", type=int, default=1, help="which hypothesis of an n-best fairseq log (1: the best)")
    parser.add_argument("--allow-missing", action="store_true", help="sentences missing in a fairseq log are empty")
    parser.add_argument("--words", choices=WORD_KINDS, default="spaces", help="how words are found for jsonl (spaces)")
    parser.add_argument("--link-scores", metavar="FILE", help="how sure each link is, a number per link, for jsonl")
    parser.add_argument("-o", "--output", metavar="FILE", default="-", help="where to write (standard output)")


def run(args: argparse.Namespace) -> None:
    with (
        open_alignment(
            args.input,
            format=args.format,
            base=args.from_base,
            reverse=args.reverse_input,
            options=OptionNames("--from", "--from-base", "--[no-]reverse-input", "--allow-missing"),
            nth=args.nth,
            allow_missing=args.allow_missing,
        ) as file,
        open_output(args.output) as handle,
    ):
        if args.to == "jsonl":
            _write_json(args, file, handle)
            return
        writer = Writer(
            handle, args.to, base=args.to_base, first_id=args.first_id, possible=args.possible, option="--possible"
        )
        for (block,) in in_step([file], Lengths(args.source, args.target), ids_in_order=args.in_order):
            turned = block.reversed() if args.reverse_output else block
            for links in turned.sentences():
                writer.write(links)


def _write_json(args: argparse.Namespace, file: AlignmentFile, handle: TextIO) -> None:
    if not (args.source and args.target):
        raise NormalignError("jsonl holds the texts: say --source FILE and --target FILE")
    if args.reverse_output or args.to_base or args.possible == "drop":
        raise NormalignError("jsonl has the source first, counts from 0 and marks possible links")
    find = word_finder(args.words)
    sides = [sides_of(read_lines(path), find) for path in (args.source, args.target)]
    for pair in read_aligned(PairReader(sides[0], sides[1], (args.source, args.target)), file, args.link_scores):
        print(to_json(pair), file=handle)

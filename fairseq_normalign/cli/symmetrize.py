"""Combine the alignments of two directions into one.

The result equals that of fast_align's atools, link by link. Both files must hold the same sentences. The second file
usually comes from a model of the other direction. Two fairseq models each write their own source first: say
--reverse-second. fast_align -r writes the links turned round already: say --no-reverse-second.
"""

from __future__ import annotations

import argparse
import contextlib

from ..errors import NormalignError, note
from ..files import open_output
from ..links.formats import FORMATS, WRITERS, Lengths, Writer, in_step, open_alignment
from ..links.score import check_agreement
from ..links.symmetrize import DEFAULT, SYMMETRIZATIONS, symmetrize
from .option_names import reading_options

EPILOG = """\
Without --[no-]reverse-second the second file is taken as source-target too, unless --source and --target show that it
is turned; when it agrees with the first far better turned round, that is an error that asks. A sentence without links
in both files stays without links. Marks of possible links are not looked at.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("first", metavar="FIRST", help="alignments, source-target ('-': standard input)")
    parser.add_argument("second", metavar="SECOND", help="alignments of the other direction ('-': standard input)")
    parser.add_argument("-m", "--method", choices=SYMMETRIZATIONS, default=DEFAULT, help=f"({DEFAULT})")
    for side in ("first", "second"):
        parser.add_argument(f"--{side}-format", choices=("auto", *FORMATS), default="auto", help="(auto)")
        parser.add_argument(f"--{side}-base", type=int, choices=(0, 1), help="what the first word is counted as")
        parser.add_argument(
            f"--reverse-{side}", action=argparse.BooleanOptionalAction, help="whether links have the target word first"
        )
    parser.add_argument("--source", metavar="FILE", help="source sentences, words separated by spaces: checks ranges")
    parser.add_argument("--target", metavar="FILE", help="target sentences")
    parser.add_argument("--to", choices=WRITERS, default="pharaoh", help="format to write (pharaoh)")
    parser.add_argument(
        "--to-base", type=int, choices=(0, 1), help="what the first word is written as (the format's own)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", default="-", help="where to write (standard output)")


def run(args: argparse.Namespace) -> None:
    if args.first == args.second == "-":
        raise NormalignError("standard input ('-') can be read only once")
    with contextlib.ExitStack() as stack:
        files = [
            stack.enter_context(
                open_alignment(
                    getattr(args, side),
                    format=getattr(args, f"{side}_format"),
                    base=getattr(args, f"{side}_base"),
                    reverse=getattr(args, f"reverse_{side}"),
                    options=reading_options(side, no_reverse=True),
                )
            )
            for side in ("first", "second")
        ]
        writer = Writer(stack.enter_context(open_output(args.output)), args.to, base=args.to_base)
        unchecked = True
        for first, second in in_step(files, Lengths(args.source, args.target)):
            if unchecked and len(first) and len(second):
                check_agreement(files[0], first, files[1], second, _warn)
                unchecked = False
            for one, other in zip(first.sentences(), second.sentences(), strict=True):
                links = symmetrize([link[:2] for link in one], [link[:2] for link in other], args.method)
                writer.write((source, target, True) for source, target in links)


def _warn(message: str) -> None:
    note(f"normalign symmetrize: warning: {message}")

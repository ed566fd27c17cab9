"""Combine the alignments of two directions into one.

The result equals that of fast_align's atools, link by link. Both files must hold the same sentences. The second file
usually comes from a model of the other direction. Two fairseq models each write their own source first: say
--reverse-second. fast_align -r writes the links turned round already: say --no-reverse-second.
"""

from __future__ import annotations

import contextlib
from typing import ClassVar

from ..errors import note
from ..files import open_output
from ..links.formats import WRITERS, Lengths, Writer, in_step, open_alignment
from ..links.score import check_agreement
from ..links.symmetrize import DEFAULT, SYMMETRIZATIONS, symmetrize
from ..options import READS, option, options, output
from .link_files import LengthOptions, alignment_files, reading_of, written_base

EPILOG = """\
Without --[no-]reverse-second the second file is taken as source-target too, unless --source and --target show that it
is turned; when it agrees with the first far better turned round, that is an error that asks. A sentence without links
in both files stays without links. Marks of possible links are not looked at.
"""


@options
@alignment_files("first", "second")
class Options(LengthOptions):
    """Everything that changes how two files are combined, and what is written."""

    GROUP: ClassVar = "combining"
    EXAMPLE: ClassVar = "normalign symmetrize de-en.links en-de.links --reverse-second -o links"
    FIRST: ClassVar = "first second symmetrize reverse_second source target to output".split()
    first: str = option("alignments, source-target ('-': standard input)", metavar="FIRST", positional=True, role=READS)
    second: str = option(
        "alignments of the other direction ('-': standard input)", metavar="SECOND", positional=True, role=READS
    )
    symmetrize: str = option("how they are combined", default=DEFAULT, choices=SYMMETRIZATIONS)
    to: str = option("format to write", default="pharaoh", choices=WRITERS, group="writing")
    to_base: int | None = written_base()
    output: str = output()


def run(args: Options) -> None:
    with contextlib.ExitStack() as stack:
        files = [
            stack.enter_context(open_alignment(path, **reading_of(args, side)))
            for side, path in (("first", args.first), ("second", args.second))
        ]
        writer = Writer(stack.enter_context(open_output(args.output)), args.to, base=args.to_base)
        unchecked = True
        for first, second in in_step(files, Lengths(args.source, args.target)):
            if unchecked and len(first) and len(second):
                check_agreement(
                    *(files[0], first, files[1], second),
                    lambda message: note(f"normalign symmetrize: warning: {message}"),
                )
                unchecked = False
            for one, other in zip(first.sentences(), second.sentences(), strict=True):
                links = symmetrize([link[:2] for link in one], [link[:2] for link in other], args.symmetrize)
                writer.write((source, target, True) for source, target in links)

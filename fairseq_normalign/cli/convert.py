"""Turn one alignment format into another.

Links are sorted and each is written once; one marked both sure and possible is sure. Pharaoh and fairseq cannot mark
possible links: --possible says whether to keep or to drop them. naacl and rwth take line numbers as ids. jsonl holds
the texts and the place of every word as well: to write it takes --source and --target.
"""

from __future__ import annotations

from typing import ClassVar

from ..errors import NormalignError
from ..files import open_output, read_lines
from ..links.formats import (
    FORMATS,
    WRITERS,
    Lengths,
    OptionNames,
    Writer,
    in_step,
    open_alignment,
    to_json,
)
from ..options import READS, option, optional, options, output, switch
from ..projection.pairs import PairReader, read_aligned, sides_of
from ..text.words import word_finder
from .link_files import LengthOptions, LogOptions, word_kind, written_base

EPILOG = """\
Sentences without links are blank lines in pharaoh and talp, a bare 'A-<id>' in fairseq and a bare 'SENT: <id>' in rwth;
naacl has no way to write them, so they are gaps in the ids, and those at the end are lost unless --source or --target
tell how many sentences there are. From naacl and rwth, ids are line numbers; --in-order leaves out the gaps.
"""


@options
class Options(LogOptions, LengthOptions):
    """Everything that changes how a file is read, and how it is written."""

    GROUP: ClassVar = "reading"
    EXAMPLE: ClassVar = "normalign convert gold.naacl --from-base 1 --to talp -o gold.talp"
    FIRST: ClassVar = "input to to_base format from_base reverse_input possible source target output".split()
    input: str = option("alignments ('-': standard input)", metavar="INPUT", positional=True, role=READS)
    to: str = option("format to write", choices=(*WRITERS, "jsonl"), group="writing")
    to_base: int | None = written_base()
    format: str = option("format read", default="auto", flags=["--from"], choices=("auto", *FORMATS))
    from_base: int | None = optional("what the first word is counted as in INPUT", choices=(0, 1))
    reverse_input: bool | None = optional("whether INPUT has the target word first")
    reverse_output: bool = switch("write the target word first", group="writing")
    possible: str | None = optional(
        "what becomes of links that are only possible", choices=("keep", "drop"), group="writing"
    )
    in_order: bool = switch("ids of INPUT are only an order, gaps mean nothing")
    first_id: int | None = optional("id of the first sentence written (naacl, rwth: 1, fairseq: 0)", group="writing")
    words: str = word_kind()
    link_scores: str | None = optional("how sure each link is, a number per link, for jsonl", role=READS)
    output: str = output()


def run(args: Options) -> None:
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
            if not (args.source and args.target):
                raise NormalignError("jsonl holds the texts: say --source FILE and --target FILE")
            if args.reverse_output or args.to_base or args.possible == "drop":
                raise NormalignError("jsonl has the source first, counts from 0 and marks possible links")
            find = word_finder(args.words)
            sides = [sides_of(read_lines(path), find) for path in (args.source, args.target)]
            for pair in read_aligned(
                PairReader(sides[0], sides[1], (args.source, args.target)), file, args.link_scores
            ):
                print(to_json(pair), file=handle)
            return
        writer = Writer(
            handle, args.to, base=args.to_base, first_id=args.first_id, possible=args.possible, option="--possible"
        )
        for (block,) in in_step([file], Lengths(args.source, args.target), ids_in_order=args.in_order):
            turned = block.reversed() if args.reverse_output else block
            for links in turned.sentences():
                writer.write(links)

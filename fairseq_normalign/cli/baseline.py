"""Align with a statistical aligner, in both directions and symmetrized: the rows to compare a model's alignments with.

Writes PREFIX.forward, PREFIX.backward, PREFIX.METHOD for each symmetrization, and PREFIX.json, which says how they were
made. All links are source-target, counted from 0.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import MISSING
from typing import ClassVar

from ..errors import NormalignError
from ..files import STDIO, open_output
from ..links.baselines import ALIGNERS, Links, align, read_word_pairs
from ..links.formats import Writer
from ..links.symmetrize import DEFAULT, SYMMETRIZATIONS, symmetrize
from ..options import READS, option, optional, options, output, switch
from ..version import __version__

EPILOG = """\
The aligner learns from the sentences themselves and from --train; a few hundred sentences alone are too few. It is
looked for on PATH, or in --programs: eflomal-align; fast_align; mgiza or GIZA++, and mkcls. A sentence pair with an
empty side gets an empty line, and with giza one of more than 100 words a side, too. eflomal samples: two runs differ a
little.
"""


@options
class Options:
    """Everything that changes what is aligned, and what is written."""

    EXAMPLE: ClassVar = "normalign baseline fast_align --source text.de --target text.en -o fast_align"
    aligner: str = option("which aligner", choices=ALIGNERS, positional=True)
    source: str = option("source sentences, words separated by spaces", role=READS)
    target: str = option("target sentences", role=READS)
    train: Sequence[Sequence[str]] = option(
        "more sentence pairs to learn from; repeatable",
        default=(),
        nargs=2,
        repeat=True,
        metavar=("SOURCE", "TARGET"),
        role=READS,
    )
    lowercase: bool = switch("lower-case the words first")
    symmetrize: Sequence[str] = option(
        f"how both directions are combined; repeatable ({DEFAULT})",
        default=(DEFAULT,),
        repeat=True,
        choices=SYMMETRIZATIONS,
    )
    programs: str | None = optional("where the aligner's programs are (PATH)", metavar="DIR")
    output: str = output(
        "start of the names of the files to write",
        default=MISSING,
        metavar="PREFIX",
        endings=("forward", "backward", *SYMMETRIZATIONS, "json"),
    )


def run(args: Options) -> None:
    if args.output == STDIO:
        raise NormalignError("-o is the start of several file names, and cannot be standard output")
    pairs = read_word_pairs(args.source, args.target, lowercase=args.lowercase)
    training = (read_word_pairs(*files, lowercase=args.lowercase) for files in args.train)
    baseline = align(args.aligner, pairs, itertools.chain.from_iterable(training), programs=args.programs)
    methods = list(dict.fromkeys(args.symmetrize))
    _write(f"{args.output}.forward", baseline.forward)
    _write(f"{args.output}.backward", baseline.backward)
    for method in methods:
        both = zip(baseline.forward, baseline.backward, strict=True)
        _write(f"{args.output}.{method}", (symmetrize(*links, method) for links in both))
    record = {
        "normalign": __version__,
        "aligner": args.aligner,
        "programs": {program.name: program.version for program in baseline.programs},
        "commands": baseline.commands,
        "source": args.source,
        "target": args.target,
        "train": args.train,
        "lowercase": args.lowercase,
        "sentences": len(pairs),
        "not_given_to_the_aligner": baseline.left_out,
        "symmetrized": methods,
    }
    with open_output(f"{args.output}.json") as handle:
        json.dump(record, handle, indent=2)
        handle.write("\n")
    for name in ("forward", "backward", *methods, "json"):
        print(f"{args.output}.{name}")


def _write(path: str, alignments: Links | Iterable[list[tuple[int, int]]]) -> None:
    with open_output(path) as handle:
        writer = Writer(handle, "pharaoh")
        for links in alignments:
            writer.write((source, target, True) for source, target in links)

"""Say which readings to trust, without gold: layers and heads, at the step after the word (awi) and before it (awo).

Every layer and head is read on the first pairs of a bitext. A lexicon of the same pairs (IBM-1) judges what each links:
its support is the mean share that the lexicon gives to the linked words. The best reading at awi and the best at awo
are multiplied; where one of them finds hardly more support than a straight line through the sentence, the other is
used alone. --save writes the choice to a file that 'normalign align --choice' takes, so that a service chooses once.
"""

from __future__ import annotations

import argparse

from ..errors import NormalignError
from ..files import STDIO, check_writable, open_output
from ..show.tables import READING_STYLES, render_readings
from .model_arguments import (
    add_model_arguments,
    add_null_arguments,
    add_reverse_arguments,
    add_text_arguments,
    bitext_aligner,
    check_sides,
    given_text,
    positive,
    prepare_torch,
    warn_of_text,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_text_arguments(parser)
    add_reverse_arguments(parser)
    group = parser.add_argument_group("judging")
    group.add_argument("--method", default="norms", help="what is read of each layer and head (norms)")
    group.add_argument("--sample", type=positive, default=500, metavar="N", help="judge by the first N pairs (500)")
    add_null_arguments(group)
    writing = parser.add_argument_group("writing")
    writing.add_argument(
        "--style", choices=READING_STYLES, default="table", help="heads: as CTranslate2 and Whisper take them (table)"
    )
    writing.add_argument("--rows", type=positive, default=8, metavar="N", help="readings shown per direction (8)")
    writing.add_argument("--figure", metavar="FILE", help="draw the support of every head (.png, .svg, .pdf)")
    writing.add_argument("--save", metavar="FILE", help="write the choice of --path, for align --choice")
    writing.add_argument("--save-reverse", metavar="FILE", help="write that of --reverse-path")
    writing.add_argument("-o", "--output", metavar="FILE", default=STDIO, help="where to write (standard output)")


def run(args: argparse.Namespace) -> None:
    check_sides(args)
    prepare_torch(args)
    from ..align.choose import choose_readings
    from ..align.doubts import SAMPLE
    from ..analysis.choose_readings import write_choice
    from ..jobs import Bitext

    for path in (args.figure, args.save, args.save_reverse):
        if path:
            check_writable(path)
    bitext = Bitext(*given_text(args))
    bitext.count()
    aligner = bitext_aligner(args, method=args.method)
    if args.save_reverse and aligner.backward is None:
        raise NormalignError("--save-reverse needs the model of the other direction: --reverse-path")
    choices = choose_readings(aligner, bitext.first(args.sample), sample=args.sample)
    if not choices[0].pairs:
        raise NormalignError(f"{bitext}: there is no sentence pair to choose readings by")
    warn_of_text("normalign layers", aligner, bitext.first(SAMPLE))

    for path, choice in zip((args.save, args.save_reverse), choices, strict=False):
        if path:
            write_choice(path, choice)
    if args.figure:
        from ..show.plots import draw_support

        draw_support(choices, args.figure)
    text = render_readings(choices, args.style, rows=args.rows)
    with open_output(args.output) as handle:
        handle.write(text)

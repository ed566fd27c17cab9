"""Say which readings to trust, without gold: layers and heads, at the step after the word (awi) and before it (awo).

Every layer and head is read on the first pairs of a bitext. A lexicon of the same pairs (IBM-1) judges what each links:
its support is the mean share that the lexicon gives to the linked words. The best reading at awi and the best at awo
are multiplied; where one of them finds hardly more support than a straight line through the sentence, the other is
used alone. --save writes the choice to a file that 'normalign align --choice' takes, so that a service chooses once.

With --by-layer every layer (heads together) is judged by more criteria:

  lexicon    the support above; decides with one model
  agreement  2 x common links / all links with the other direction, at its best partner
  supported  the same, each common link counted by what the lexicon gives it; decides with --reverse-path
  mean       mean of what the method reads (the papers' mean norm), over decoder steps and source positions
  peak       mean share of the linked source word in its row
  coverage   linked source words, as a share of those that could be

The others mislead on some models: layers that follow positions agree without knowing anything. '*' marks the largest
of a column. A choice that other samples of the sentences would not make, or with which the lexicon disagrees, is
reported as unsure.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import NormalignError
from ..files import STDIO, check_writable, open_output
from ..show.layer_table import STYLES, render_layers
from ..show.reading_table import render_readings
from .model_arguments import (
    add_model_arguments,
    add_null_arguments,
    add_reverse_arguments,
    add_text_arguments,
    bitext_aligner,
    check_sides,
    given_text,
    method_list,
    positive,
    prepare_torch,
    warn_of_text,
)

if TYPE_CHECKING:
    from ..analysis.choose_readings import ReadingChoice


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_text_arguments(parser)
    add_reverse_arguments(parser)
    group = parser.add_argument_group("judging")
    group.add_argument("--methods", help="methods to judge, separated by commas (norms; by layer: norms,weights)")
    group.add_argument("--sample", type=positive, default=500, metavar="N", help="judge by the first N pairs (500)")
    group.add_argument("--by-layer", action="store_true", help="layers only, by every criterion")
    add_null_arguments(group)
    writing = parser.add_argument_group("writing")
    writing.add_argument(
        "--style", choices=(*STYLES, "heads"), default="table", help="heads: as CTranslate2 takes them"
    )
    writing.add_argument("--json", action="store_true", help="the same as --style json")
    writing.add_argument("--rows", type=positive, default=8, metavar="N", help="readings shown per direction (8)")
    writing.add_argument("--figure", metavar="FILE", help="draw the support of every head (.png, .svg, .pdf)")
    writing.add_argument("--save", metavar="FILE", help="write the choice of --path, for align --choice")
    writing.add_argument("--save-reverse", metavar="FILE", help="write that of --reverse-path")
    writing.add_argument("-o", "--output", metavar="FILE", default=STDIO, help="where to write (standard output)")


def run(args: argparse.Namespace) -> None:
    check_sides(args)
    prepare_torch(args)
    style = "json" if args.json else args.style
    for path in (args.figure, args.save, args.save_reverse):
        if path:
            check_writable(path)
    text = _by_layer(args, style) if args.by_layer else _by_reading(args, style)
    with open_output(args.output) as handle:
        handle.write(text)


def _by_layer(args: argparse.Namespace, style: str) -> str:
    from ..align.bitext import Bitext
    from ..align.choose_layer import judge_by_text
    from ..align.doubts import SAMPLE

    if style == "heads" or args.figure or args.save or args.save_reverse:
        raise NormalignError("--by-layer judges layers: --style heads, --figure and --save go without it")
    bitext = Bitext(*given_text(args))
    bitext.count()
    methods = method_list(args.methods or "norms,weights", layerwise=True)
    aligner = bitext_aligner(args)
    warn_of_text("normalign layers", aligner, bitext.first(SAMPLE))
    verdict = judge_by_text(aligner, bitext.first(args.sample), methods=methods)
    return render_layers(verdict, style, option="--")


def _by_reading(args: argparse.Namespace, style: str) -> str:
    from ..align.bitext import Bitext
    from ..align.choose import choose_readings
    from ..align.doubts import SAMPLE

    methods = method_list(args.methods or "norms", layerwise=True)
    if len(methods) > 1:
        raise NormalignError("heads are judged for one method at a time; --by-layer takes several")
    bitext = Bitext(*given_text(args))
    bitext.count()
    aligner = bitext_aligner(args, method=methods[0])
    choices = choose_readings(aligner, bitext.first(args.sample), sample=args.sample)
    if not choices[0].pairs:
        raise NormalignError(f"{bitext}: there is no sentence pair to choose readings by")
    warn_of_text("normalign layers", aligner, bitext.first(SAMPLE))
    _write_files(args, choices)
    return render_readings(choices, style, rows=args.rows)


def _write_files(args: argparse.Namespace, choices: list[ReadingChoice]) -> None:
    from ..analysis.saved_choice import write_choice

    if args.save_reverse and len(choices) < 2:
        raise NormalignError("--save-reverse needs the model of the other direction: --reverse-path")
    for path, choice in zip((args.save, args.save_reverse), choices, strict=False):
        if path:
            write_choice(path, choice)
    if args.figure:
        from ..show.reading_figure import draw_support

        draw_support(choices, args.figure)

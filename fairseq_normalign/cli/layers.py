"""Say which decoder layer and setting to read, without gold.

Every layer is read on the first pairs of a bitext and judged by:

  lexicon    mean share that an IBM-1 lexicon of the same text gives to the linked words; decides with one model
  agreement  2 x common links / all links with the other direction, at its best partner
  supported  the same, each common link counted by what the lexicon gives it; decides with --reverse-path
  mean       mean of what the method reads (the papers' mean norm), over decoder steps and source positions
  peak       mean share of the linked source word in its row
  coverage   linked source words, as a share of those that could be

The others mislead on some models: layers that follow positions agree without knowing anything. '*' marks the largest
of a column. A choice that other samples of the sentences would not make, or with which the lexicon disagrees, is said
to be unsure.
"""

from __future__ import annotations

import argparse

from ..files import STDIO, open_output
from ..report.layer_table import STYLES, render_layers
from .model_arguments import (
    add_model_arguments,
    add_null_arguments,
    add_reverse_arguments,
    add_text_arguments,
    bitext_aligner,
    method_list,
    positive,
    prepare_torch,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_text_arguments(parser)
    add_reverse_arguments(parser)
    group = parser.add_argument_group("judging")
    group.add_argument(
        "--methods", default="norms,weights", help="methods to judge, separated by commas (norms,weights)"
    )
    group.add_argument("--sample", type=positive, default=500, metavar="N", help="judge by the first N pairs (500)")
    add_null_arguments(group)
    writing = parser.add_argument_group("writing")
    writing.add_argument("--style", choices=STYLES, default="table", help="(table)")
    writing.add_argument("-o", "--output", metavar="FILE", default=STDIO, help="where to write (standard output)")


def run(args: argparse.Namespace) -> None:
    prepare_torch(args)
    from ..aligning.bitext import Bitext
    from ..aligning.choose_layer import judge_by_text

    bitext = Bitext(args.source, args.target)
    bitext.count()
    methods = method_list(args.methods, layerwise=True)
    aligner = bitext_aligner(args)
    verdict = judge_by_text(aligner, bitext.first(args.sample), methods=methods)
    with open_output(args.output) as handle:
        handle.write(render_layers(verdict, args.style, option="--"))

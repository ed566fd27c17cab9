"""Score every decoder layer, head, method and step against gold, in one table.

All layers and heads of weights and norms, at the step where a word is the output (awo) and where it is the input (awi),
come from one forced pass; two looks, and both directions with --reverse-path, are rows beside them. The table has the
best five; --full and the other styles have everything. Several checkpoints after --path are seeds of one set-up: mean
and spread. Intervals are the middle 95% of AERs on resamplings of the sentences.

--factors shows instead what each choice brings: every combination of look (AWO, AWI, both), method (weights, norms),
layer or head, decision and direction, with paired tests.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.comparison import Seed, compare
from ..analysis.decisions import check_gold
from ..analysis.error_rates import Sampling
from ..errors import NormalignError
from ..files import STDIO, check_writable, open_output
from ..links.decide import Link
from ..links.gold import Gold, read_gold, read_links
from ..links.symmetrize import AGREED, SOFT_SYMMETRIZATIONS, SYMMETRIZATIONS
from ..show.figures import figure_format
from ..show.plots import draw_layers
from ..show.tables import STYLES, TABLE_STYLES, render_comparison, render_tables
from ..version import __version__
from .model_arguments import (
    add_model_arguments,
    add_null_arguments,
    add_reverse_arguments,
    add_text_arguments,
    bitext_aligner,
    check_sides,
    from_stdin,
    given_text,
    method_list,
    positive,
    prepare_torch,
    warn_of_text,
    warn_of_unknown_pieces,
)
from .option_names import CONVERT_OPTIONS, GOLD_OPTIONS, TextFiles, add_format_arguments, format_options

if TYPE_CHECKING:
    from ..jobs import TextPair


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser, several=True)
    add_text_arguments(parser)
    add_reverse_arguments(parser, several=True)
    group = parser.add_argument_group("comparing")
    group.add_argument("--gold", required=True, metavar="FILE", help="gold alignments")
    add_format_arguments(group, "gold")
    group.add_argument("--methods", default="weights,norms", help="separated by commas, or 'all' (weights,norms)")
    group.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="another aligner's links as a row; may be repeated",
    )
    group.add_argument(
        "--symmetrize",
        default="grow-diag,agreed-grow-diag",
        metavar="WAYS",
        help=f"with --reverse-path, separated by commas: {', '.join(SYMMETRIZATIONS)}; with '{AGREED}' in front the "
        "soft alignments are multiplied first (grow-diag,agreed-grow-diag)",
    )
    group.add_argument("--factors", action="store_true", help="what each choice brings, by every combination of them")
    group.add_argument("--limit", type=positive, metavar="N", help="the first N sentences only")
    group.add_argument("--bootstrap", type=positive, default=1000, metavar="N", help="resamplings (1000)")
    group.add_argument("--seed", type=int, default=12345, help="seed of the resamplings (12345)")
    add_null_arguments(group)
    writing = parser.add_argument_group("writing")
    writing.add_argument(
        "--style", choices=tuple(dict.fromkeys((*STYLES, *TABLE_STYLES))), default="table", help="(table)"
    )
    writing.add_argument("--full", action="store_true", help="every layer and system, not the best five alone")
    writing.add_argument("--digits", type=int, default=1, help="decimals of percentages (1)")
    writing.add_argument("--figure", metavar="FILE", help="draw the AER of every layer (.png, .svg, .pdf)")
    writing.add_argument("-o", "--output", metavar="FILE", default=STDIO, help="where to write (standard output)")
    writing.add_argument("--progress", action="store_true", help="show progress even where stderr is no terminal")


def run(args: argparse.Namespace) -> None:
    check_sides(args)
    prepare_torch(args)
    ways, added = _check(args)
    methods = method_list(args.methods)
    pairs, golds = _read(args)
    sampling = Sampling(args.bootstrap, args.seed)
    if args.factors:
        text = _factors(args, pairs, golds, sampling)
        with open_output(args.output) as handle:
            handle.write(text)
        return
    others = {name: _links(args, file, len(golds)) for name, file in added.items()}
    seeds = [
        _seed(
            args,
            path,
            reverse,
            pairs,
            golds,
            methods,
            soft=bool(reverse) and any(way in SOFT_SYMMETRIZATIONS for way in ways),
        )
        for path, reverse in zip(args.path, args.reverse_path or [None] * len(args.path), strict=True)
    ]
    found = compare(golds, seeds, added=others, symmetrizations=ways, sampling=sampling)
    found = replace(found, signature=_signature(args, len(golds)))
    if args.figure:
        draw_layers(found.layers, args.figure)
    with open_output(args.output) as handle:
        handle.write(render_comparison(found, args.style, args.digits, full=args.full))


def _check(args: argparse.Namespace) -> tuple[list[str], dict[str, str]]:
    """-> the ways to symmetrize, and the other aligners' files by name."""
    if args.reverse_path and len(args.reverse_path) != len(args.path):
        raise NormalignError(
            f"--path has {len(args.path)} checkpoints, --reverse-path {len(args.reverse_path)}: each needs its partner"
        )
    if not 0 <= args.digits <= 17:
        raise NormalignError(f"--digits is from 0 to 17, not {args.digits}")
    if args.style not in (TABLE_STYLES if args.factors else STYLES):
        raise NormalignError(f"--style {args.style} is for the table {'without' if args.factors else 'of'} --factors")
    if args.factors and (len(args.path) > 1 or args.add or args.figure):
        raise NormalignError("--factors compares the readings of one model: one --path, without --add and --figure")
    if args.seed < 0:
        raise NormalignError(f"--seed is at least 0, not {args.seed}")
    ways = [way for way in args.symmetrize.split(",") if way]
    for way in ways:
        if way not in (*SYMMETRIZATIONS, *SOFT_SYMMETRIZATIONS):
            choices = ", ".join((*SYMMETRIZATIONS, *SOFT_SYMMETRIZATIONS))
            raise NormalignError(f"unknown symmetrization '{way}'; choose some of {choices}")
    added = {}
    for given in args.add:
        name, sign, file = given.partition("=")
        if not (name and sign and file):
            raise NormalignError(f"--add {given}: write it as NAME=FILE")
        added[name] = file
    for path in (args.figure, args.output):
        if path and path != STDIO:
            check_writable(path)
    if args.figure:
        figure_format(args.figure)
    return ways, added


def _texts(args: argparse.Namespace) -> TextFiles:
    """Files whose words are those that links count; they help to tell the base of an alignment file."""
    split_here = not (args.tokenizer or args.words) and (args.bpe_codes or args.sentencepiece_model)
    usable = split_here and not args.bitext and not from_stdin(args)
    return {"source": args.source, "target": args.target} if usable else {}


def _read(args: argparse.Namespace) -> tuple[list[TextPair], list[Gold]]:
    from ..jobs import Bitext

    golds = read_gold(args.gold, options=GOLD_OPTIONS, **format_options(args, "gold"), **_texts(args))
    bitext = Bitext(*given_text(args))
    bitext.count()
    pairs = list(bitext.pairs())
    if len(golds) != len(pairs):
        raise NormalignError(f"{args.gold}: {len(golds)} sentences, but {bitext.source} has {len(pairs)}")
    return pairs[: args.limit], golds[: args.limit]


def _links(args: argparse.Namespace, file: str, sentences: int) -> Sequence[Sequence[Link]]:
    links = read_links(file, options=CONVERT_OPTIONS, **_texts(args))
    if len(links) < sentences or (args.limit is None and len(links) != sentences):
        raise NormalignError(f"{file}: {len(links)} sentences, the gold has {sentences}")
    return links[:sentences]


def _seed(
    args: argparse.Namespace,
    path: str,
    reverse: str | None,
    pairs: Sequence[TextPair],
    golds: Sequence[Gold],
    methods: Sequence[str],
    *,
    soft: bool,
) -> Seed:
    from tqdm import tqdm

    from ..align.comparing import Progress, measure

    aligner = bitext_aligner(args, path=path, reverse_path=reverse)
    warn_of_text("normalign compare", aligner, pairs)
    shown = args.progress or sys.stderr.isatty()
    with tqdm(total=len(pairs) * (2 if reverse else 1), unit=" pairs", disable=not shown, dynamic_ncols=True) as bar:
        seed = measure(aligner, pairs, methods, soft=soft, progress=Progress(bar.update, bar.set_postfix_str))
    check_gold(args.gold, golds, seed.forward)
    warn_of_unknown_pieces("normalign compare", aligner)
    return seed


def _factors(args: argparse.Namespace, pairs: Sequence[TextPair], golds: Sequence[Gold], sampling: Sampling) -> str:
    from ..align.comparing import measure_factors

    aligner = bitext_aligner(args, path=args.path[0], reverse_path=(args.reverse_path or [None])[0])
    warn_of_text("normalign compare", aligner, pairs)
    tables = measure_factors(aligner, pairs, golds, sampling=sampling, name=args.gold)
    return render_tables(tables, args.style, f"factors|{_signature(args, len(golds))}", more="more in --style tsv")


def _signature(args: argparse.Namespace, sentences: int) -> str:
    parts = [f"gold:{args.gold_format}", f"sentences:{sentences}", f"null:{args.null}", "merge:sum,mean"]
    parts += [f"checkpoints:{len(args.path)}", f"bootstrap:{args.bootstrap},seed:{args.seed}"]
    return "|".join([*parts, f"normalign:{__version__}"])

"""Score every decoder layer, head, method and step against gold, in one table.

All layers and heads of weights and norms, at the step where a word is the output (awo) and where it is the input (awi),
come from one forced pass; two looks, and both directions with --reverse-path, are rows beside them. The table has the
best five; --all-rows and the other styles have everything. Several checkpoints after --path are seeds of one set-up:
mean and spread. Intervals are the middle 95% of AERs on resamplings of the sentences.

--factors shows instead what each choice brings: every combination of look (AWO, AWI, both), method (weights, norms),
layer or head, decision and direction, with paired tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..analysis.comparison import Sampling, Seed, compare
from ..analysis.decisions import check_gold
from ..errors import NormalignError
from ..files import STDIO, check_writable, open_output
from ..links.decide import Link
from ..links.formats import Lengths, in_step, open_alignment
from ..links.gold import Gold, golds_of, read_links
from ..links.symmetrize import AGREED, SOFT_SYMMETRIZATIONS, SYMMETRIZATIONS
from ..options import MODEL, READS, FilePath, option, options, output, positive, written
from ..show.figures import figure_format
from ..show.plots import draw_layers
from ..show.tables import STYLES, TABLE_STYLES, render_comparison, render_tables
from ..version import __version__
from .link_files import CONVERT_OPTIONS, GOLD_OPTIONS, GoldFormat, TextFiles, format_options
from .shared import (
    COMBINING,
    READING,
    BitextOptions,
    ModelOptions,
    check_sides,
    from_stdin,
    given_text,
    method_list,
    prepare_torch,
    progress_bar,
    warn_of_text,
    warn_of_unknown_pieces,
)

if TYPE_CHECKING:
    from ..align.aligner import Aligner
    from ..jobs import TextPair


@options
class Options(GoldFormat, BitextOptions, ModelOptions):
    """Everything that changes what is compared, and how it is shown."""

    GROUP: ClassVar = "comparing"
    HIDDEN: ClassVar = (*READING, *COMBINING, "path", "reverse")
    EXAMPLE: ClassVar = "normalign compare --path de-en.pt --bpe-codes codes --source t.de --target t.en --gold g.talp"
    FIRST: ClassVar = (
        *("paths", "reverses", "source", "target", "bpe_codes", "gold", "add", "limit", "json", "output"),
    )
    path: FilePath = option(default="")
    paths: Sequence[str] = option(
        help="fairseq checkpoint, or a folder or hub name of transformers; several: seeds of one set-up",
        flags=["--path"],
        metavar="MODEL",
        nargs="+",
        role=MODEL,
        group="model",
    )
    reverses: Any = option(
        default=None,
        help="models that translate target to source, in the same order",
        flags=["--reverse-path"],
        also={"--reverse": ("", "the models of --path, the other way round, if they are multilingual")},
        metavar="MODEL",
        nargs="+",
        role=MODEL,
        group="the other direction",
    )
    gold: str = option(help="gold alignments", metavar="FILE", role=READS)
    methods: str = option(default="weights,norms", help="methods separated by commas, or 'all'")
    add: Sequence[str] = option(
        default=(), help="another aligner's links as a row; repeatable", repeat=True, metavar="NAME=FILE", role=READS
    )
    ways: str = option(
        default="grow-diag,agreed-grow-diag",
        help=f"how two directions are combined, separated by commas: {', '.join(SYMMETRIZATIONS)}; with '{AGREED}' in "
        "front the soft alignments are multiplied first",
        flags=["--symmetrize"],
        metavar="WAYS",
    )
    factors: bool = option(default=False, help="what each choice brings, by every combination of them")
    limit: int | None = option(default=None, help="the first N sentences only", parse=positive, metavar="N")
    bootstrap: int = option(default=1000, help="resamplings", parse=positive, metavar="N")
    seed: int = option(default=12345, help="seed of the resamplings", parse=int)
    style: str = option(
        default="table",
        help="how results are laid out",
        choices=[one for one in dict.fromkeys((*STYLES, *TABLE_STYLES)) if one != "json"],
        group="writing",
    )
    json: bool = option(default=False, help="write JSON", group="writing")
    full: bool = option(
        default=False, help="every layer and system, not the best five alone", flags=["--all-rows"], group="writing"
    )
    digits: int = option(default=1, help="decimals of percentages", parse=int, group="writing")
    figure: str | None = written("draw the AER of every layer (.png, .svg, .pdf)")
    output: str = output()


def run(args: Options) -> None:
    check_sides(args)
    prepare_torch(args)
    ways, added = _check(args)
    methods = method_list(args.methods)
    from ..align.aligner import load_aligner
    from ..align.comparing import measure, measure_factors

    # files whose words are those that links count help to tell the base of an alignment file
    split_here = not (args.tokenizer or args.words) and (args.bpe_codes or args.sentencepiece_model)
    texts: TextFiles = {}
    if split_here and not args.bitext and not from_stdin(args):
        texts = {"source": args.source, "target": args.target}
    pairs, golds, signature = _read(args, texts)
    sampling = Sampling(args.bootstrap, args.seed)

    def loaded(path: str, reverse: str | None) -> Aligner:
        aligner = load_aligner(replace(args, path=path, reverse=reverse))
        warn_of_text("normalign compare", aligner, pairs)
        return aligner

    if args.factors:
        aligner = loaded(args.paths[0], args.reverses[0] if args.reverses else args.reverses)
        with progress_bar(args, len(pairs) * len(aligner.directions), " pairs") as bar:
            tables = measure_factors(
                aligner, pairs, golds, sampling=sampling, name=args.gold, done=bar.update, on_method=bar.set_postfix_str
            )
        style = "json" if args.json else args.style
        text = render_tables(tables, style, f"factors|{signature}", more="more in --style tsv")
    else:
        others: dict[str, Sequence[Sequence[Link]]] = {}
        for name, file in added.items():
            links = read_links(file, options=CONVERT_OPTIONS, **texts)
            if len(links) < len(golds) or (args.limit is None and len(links) != len(golds)):
                raise NormalignError(f"{file}: {len(links)} sentences, the gold has {len(golds)}")
            others[name] = links[: len(golds)]
        seeds: list[Seed] = []
        reverses = [""] * len(args.paths) if args.reverses == "" else args.reverses or [None] * len(args.paths)
        for path, reverse in zip(args.paths, reverses, strict=True):
            aligner = loaded(path, reverse)
            soft = reverse is not None and any(way in SOFT_SYMMETRIZATIONS for way in ways)
            with progress_bar(args, len(pairs) * (1 if reverse is None else 2), " pairs") as bar:
                seeds.append(
                    measure(aligner, pairs, methods, soft=soft, done=bar.update, on_method=bar.set_postfix_str)
                )
            check_gold(args.gold, golds, seeds[-1].forward)
            warn_of_unknown_pieces("normalign compare", aligner)
        found = compare(golds, seeds, added=others, symmetrizations=ways, sampling=sampling)
        found = replace(found, signature=signature)
        if args.figure:
            draw_layers(found.layers, args.figure)
        text = render_comparison(found, "json" if args.json else args.style, args.digits, full=args.full)
    with open_output(args.output) as handle:
        handle.write(text)


def _check(args: Options) -> tuple[list[str], dict[str, str]]:
    """-> the ways to symmetrize, and the other aligners' files by name."""
    if args.reverses and len(args.reverses) != len(args.paths):
        raise NormalignError(
            f"--path has {len(args.paths)} models, --reverse-path {len(args.reverses)}: each needs its partner"
        )
    if not 0 <= args.digits <= 17:
        raise NormalignError(f"--digits is from 0 to 17, not {args.digits}")
    if args.style not in (TABLE_STYLES if args.factors else STYLES):
        raise NormalignError(f"--style {args.style} is for the table {'without' if args.factors else 'of'} --factors")
    if args.factors and (len(args.paths) > 1 or args.add or args.figure):
        raise NormalignError("--factors compares the readings of one model: one --path, without --add and --figure")
    if args.seed < 0:
        raise NormalignError(f"--seed is at least 0, not {args.seed}")
    ways = [way for way in args.ways.split(",") if way]
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


def _read(args: Options, texts: TextFiles) -> tuple[list[TextPair], list[Gold], str]:
    """Return the pairs, their gold, and the signature of what is measured on them."""
    from ..jobs import Bitext

    with open_alignment(args.gold, options=GOLD_OPTIONS, **format_options(args, "gold")) as file:
        lengths = Lengths(texts.get("source"), texts.get("target"))
        golds = golds_of(links for (block,) in in_step([file], lengths) for links in block.sentences())
        gold = file.signature
    bitext = Bitext(*given_text(args))
    bitext.count()
    pairs = list(bitext.pairs())
    if len(golds) != len(pairs):
        raise NormalignError(f"{args.gold}: {len(golds)} sentences, but {bitext.source} has {len(pairs)}")
    golds = golds[: args.limit]
    parts = [f"gold:{gold}", f"sentences:{len(golds)}", f"null:{args.null}", "merge:sum,mean"]
    parts += [f"checkpoints:{len(args.paths)}", f"bootstrap:{args.bootstrap},seed:{args.seed}"]
    return pairs[: args.limit], golds, "|".join([*parts, f"normalign:{__version__}"])

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
from typing import Any, ClassVar

from ..analysis.comparison import Sampling, compare
from ..analysis.decisions import check_gold
from ..errors import NormalignError
from ..files import STDIO, open_output
from ..links.formats import Lengths, in_step, open_alignment
from ..links.gold import golds_of, read_links
from ..links.symmetrize import AGREED, SOFT_SYMMETRIZATIONS, SYMMETRIZATIONS
from ..options import MODEL, READS, FilePath, option, optional, options, output, switch
from ..show.plots import draw_layers
from ..show.tables import STYLES, TABLE_STYLES, render_comparison, render_tables
from ..version import __version__
from .bitext import (
    COMBINING,
    READING,
    BitextOptions,
    ModelOptions,
    method_list,
    prepare_torch,
    progress_bar,
    warn_of_text,
    warn_of_unknown_pieces,
)
from .link_files import CONVERT_OPTIONS, TextFiles, alignment_files, drawing, layouts, reading_of

WAYS = (*SYMMETRIZATIONS, *SOFT_SYMMETRIZATIONS)


@options
@alignment_files("gold", group="gold")
class Options(BitextOptions, ModelOptions):
    """Everything that changes what is compared, and how it is shown."""

    GROUP: ClassVar = "comparing"
    HIDDEN: ClassVar = (*READING, *COMBINING, "path", "reverse")
    EXAMPLE: ClassVar = "normalign compare --path de-en.pt --bpe-codes codes --source t.de --target t.en --gold g.talp"
    FIRST: ClassVar = "paths reverses source target bpe_codes gold add limit json output".split()
    path: FilePath = option(default="")
    paths: Sequence[str] = option(
        "fairseq checkpoint, or a folder or hub name of transformers; several: seeds of one set-up",
        flags=["--path"],
        nargs="+",
        role=MODEL,
        group="model",
    )
    reverses: Any = optional(
        "models that translate target to source, in the same order",
        flags=["--reverse-path"],
        also={"--reverse": ("", "the models of --path, the other way round, if they are multilingual")},
        nargs="+",
        role=MODEL,
        group="the other direction",
    )
    gold: str = option("gold alignments", role=READS)
    methods: str = option("methods separated by commas, or 'all'", default="weights,norms")
    add: Sequence[str] = option(
        "another aligner's links as a row; repeatable", default=(), repeat=True, metavar="NAME=FILE", role=READS
    )
    ways: str = option(
        f"how two directions are combined, separated by commas: {', '.join(SYMMETRIZATIONS)}; with '{AGREED}' in "
        "front the soft alignments are multiplied first",
        default="grow-diag,agreed-grow-diag",
        flags=["--symmetrize"],
    )
    factors: bool = switch("what each choice brings, by every combination of them", excludes=("add", "figure"))
    limit: int | None = optional("the first N sentences only", least=1)
    bootstrap: int = option("resamplings", default=1000, least=1)
    seed: int = option("seed of the resamplings", default=12345, least=0)
    style: str = layouts(tuple(dict.fromkeys((*STYLES, *TABLE_STYLES))))
    json: bool = switch("write JSON", group="writing")
    full: bool = switch("every layer and system, not the best five alone", flags=["--all-rows"], group="writing")
    digits: int = option("decimals of percentages", default=1, least=0, most=17, group="writing")
    figure: str | None = drawing("draw the AER of every layer")
    output: str = output()


def run(args: Options) -> None:
    ways, added, layout = _checked(args)
    prepare_torch(args)
    from ..align.aligner import load_aligner
    from ..align.comparing import measure, measure_factors
    from ..align.sample import doubts_of_both

    methods = method_list(args.methods)
    # files whose words are those that links count help to tell the base of an alignment file
    natural = args.tokenizer or args.words or not (args.bpe_codes or args.sentencepiece_model)
    in_words = not natural and not args.bitext and STDIO not in (args.source, args.target)
    texts: TextFiles = {"source": args.source, "target": args.target} if in_words else {}
    with open_alignment(args.gold, **reading_of(args, "gold")) as file:
        lengths = Lengths(texts.get("source"), texts.get("target"))
        golds = golds_of(links for (block,) in in_step([file], lengths) for links in block.sentences())
        signature = f"gold:{file.signature}"
    bitext = args.opened()
    pairs = list(bitext.pairs())
    if len(golds) != len(pairs):
        raise NormalignError(f"{args.gold}: {len(golds)} sentences, but {bitext.source} has {len(pairs)}")
    pairs, golds = pairs[: args.limit], golds[: args.limit]
    others = {}
    for name, path in added.items():
        links = read_links(path, options=CONVERT_OPTIONS, **texts)
        if len(links) < len(golds) or (args.limit is None and len(links) != len(golds)):
            raise NormalignError(f"{path}: {len(links)} sentences, the gold has {len(golds)}")
        others[name] = links[: len(golds)]
    sampling = Sampling(args.bootstrap, args.seed)
    signature = "|".join(
        [
            *("factors",) * args.factors,
            *(signature, f"sentences:{len(golds)}", f"null:{args.null}", "merge:sum,mean"),
            *(f"checkpoints:{len(args.paths)}", f"bootstrap:{args.bootstrap},seed:{args.seed}"),
            f"normalign:{__version__}",
        ]
    )

    seeds = []
    reverses = [args.reverses] * len(args.paths) if not args.reverses else args.reverses
    for path, reverse in zip(args.paths, reverses, strict=True):
        aligner = load_aligner(replace(args, path=path, reverse=reverse))
        warn_of_text("normalign compare", doubts_of_both(aligner, pairs))
        with progress_bar(args, len(pairs) * len(aligner.directions), " pairs") as bar, aligner.counting() as counts:
            progress: Any = {"done": bar.update, "on_method": bar.set_postfix_str}
            if args.factors:
                tables = measure_factors(aligner, pairs, golds, sampling=sampling, name=args.gold, **progress)
            else:
                soft = reverse is not None and any(way in SOFT_SYMMETRIZATIONS for way in ways)
                seeds.append(measure(aligner, pairs, methods, soft=soft, **progress))
                check_gold(args.gold, golds, seeds[-1].forward)
        warn_of_unknown_pieces("normalign compare", counts)
    if args.factors:
        text = render_tables(tables, layout, signature, more="more in --style tsv")
    else:
        found = replace(
            compare(golds, seeds, added=others, symmetrizations=ways, sampling=sampling), signature=signature
        )
        if args.figure:
            draw_layers(found.layers, args.figure)
        text = render_comparison(found, layout, args.digits, full=args.full)
    with open_output(args.output) as handle:
        handle.write(text)


def _checked(args: Options) -> tuple[list[str], dict[str, str], str]:
    """-> the ways to symmetrize, the other aligners' files by name, and how results are laid out."""
    if args.reverses and len(args.reverses) != len(args.paths):
        raise NormalignError(
            f"--path has {len(args.paths)} models, --reverse-path {len(args.reverses)}: each needs its partner"
        )
    if args.style not in (TABLE_STYLES if args.factors else STYLES):
        raise NormalignError(f"--style {args.style} is for the table {'without' if args.factors else 'of'} --factors")
    if args.factors and len(args.paths) > 1:
        raise NormalignError("--factors compares the readings of one model: one --path")
    ways = [way for way in args.ways.split(",") if way]
    for way in ways:
        if way not in WAYS:
            raise NormalignError(f"unknown symmetrization '{way}'; choose some of {', '.join(WAYS)}")
    added = {}
    for given in args.add:
        name, sign, file = given.partition("=")
        if not (name and sign and file):
            raise NormalignError(f"--add {given}: write it as NAME=FILE")
        added[name] = file
    return ways, added, "json" if args.json else args.style

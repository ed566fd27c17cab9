"""Score alignments against gold: AER, precision, recall and F, in percent.

  AER = 1 - (|A and S| + |A and P|) / (|A| + |S|)      A: the links of HYP
  P   = |A and P| / |A|                                S: sure gold links
  R   = |A and S| / |S|                                P: possible gold links, the sure ones among them
  F   = 1 / (alpha / P + (1 - alpha) / R)

A corpus score comes from counts summed over sentences. Links are sets: one given twice counts once, and a gold link
marked both sure and possible is sure. Marks in HYP (ipj, P) are not looked at: every link of it is in A.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator

import numpy as np

from ..errors import NormalignError, note, one_line
from ..files import open_output
from ..links.formats import FORMATS, AlignmentFile, Lengths, open_alignment
from ..links.score import (
    COUNTS,
    METRICS,
    SentenceSink,
    Totals,
    bootstrap,
    compare_to_first,
    evaluate,
    intervals,
    metrics_of,
    score_of,
)
from ..show.tables import STYLES, Result, render_scores
from ..version import __version__
from .option_names import reading_options

EPILOG = """\
formats: pharaoh (i-j), talp (i-j sure, ipj possible), naacl (id i j [S|P] [confidence], counted from 1, 0 is NULL and
left out), rwth (SENT: id, then S i j or P i j), fairseq (the log of fairseq-generate with --print-alignment).

Format, base and direction are found from the file where it shows them: an index 0 means counted from 0; ten sentences
or more without one, counted from 1; an index past a sentence's end (with --source and --target) rules a reading out.
What the file does not show is asked for. The signature says how each file was read.

sentences without gold links: they are scored like the others, so each link there is wrong; --skip-goldless leaves them
out. Hypotheses without links: they find nothing, recall 0, and claim nothing, precision 100. Without sure gold links
recall is 100; where in addition nothing is linked AER is 0. In naacl files a sentence without links cannot be written:
ids are line numbers then, or, when there are as many ids as lines, stand in their order (ids:in-order).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("gold", metavar="GOLD", help="gold alignments ('-': standard input)")
    parser.add_argument("hyp", metavar="HYP", nargs="+", help="alignments to score ('-': standard input)")
    reading = parser.add_argument_group("reading")
    for side in ("gold", "hyp"):
        reading.add_argument(f"--{side}-format", choices=("auto", *FORMATS), default="auto", help="(auto)")
        reading.add_argument(f"--{side}-base", type=int, choices=(0, 1), help="what the first word is counted as")
        reading.add_argument(
            f"--reverse-{side}", action=argparse.BooleanOptionalAction, help="whether links have the target word first"
        )
    reading.add_argument("--source", metavar="FILE", help="source sentences, words separated by spaces: checks ranges")
    reading.add_argument("--target", metavar="FILE", help="target sentences")
    reading.add_argument("--nth", type=int, default=1, help="which hypothesis of an n-best fairseq log (1: the best)")
    reading.add_argument("--allow-missing", action="store_true", help="sentences missing in a fairseq log are empty")
    reading.add_argument("--skip-goldless", action="store_true", help="leave out sentences without any gold link")
    scoring = parser.add_argument_group("scoring")
    scoring.add_argument("--alpha", type=float, default=0.5, help="weight of precision in F (0.5)")
    scoring.add_argument(
        "--bootstrap", type=int, metavar="N", help="95%% intervals from N resamplings of the sentences"
    )
    scoring.add_argument(
        "--paired", action="store_true", help="test every HYP against the first: paired bootstrap and randomization"
    )
    scoring.add_argument("--trials", type=int, default=10000, help="trials of approximate randomization (10000)")
    scoring.add_argument("--seed", type=int, default=12345, help="seed of all resampling (12345)")
    writing = parser.add_argument_group("writing")
    writing.add_argument("--style", choices=STYLES, default="table", help="(table)")
    writing.add_argument("--digits", type=int, default=1, help="decimals of percentages, but not of JSON's (1)")
    writing.add_argument(
        "--per-sentence", metavar="FILE", help="also write counts and scores of every sentence, as TSV"
    )
    writing.add_argument("-o", "--output", metavar="FILE", default="-", help="where to write (standard output)")


def run(args: argparse.Namespace) -> None:
    _check(args)
    with contextlib.ExitStack() as stack:
        gold = stack.enter_context(_open(args, args.gold, "gold"))
        hypotheses = [stack.enter_context(_open(args, path, "hyp")) for path in args.hyp]
        totals = evaluate(
            gold,
            hypotheses,
            Lengths(args.source, args.target),
            keep=bool(args.bootstrap or args.paired),
            skip_goldless=args.skip_goldless,
            sink=stack.enter_context(_sentence_sink(args)),
            warn=lambda message: note(f"normalign score: warning: {message}"),
        )
    if totals.sentences and totals.goldless == totals.sentences:
        raise NormalignError(f"{gold.name}: no sentence has a link; there is nothing to score against")
    results = _results(args, totals, gold, hypotheses)
    with open_output(args.output) as handle:
        handle.write(render_scores(results, args.style, digits=args.digits))


def _check(args: argparse.Namespace) -> None:
    if args.paired and len(args.hyp) < 2:
        raise NormalignError("--paired compares two hypothesis files or more; there is one")
    if [args.gold, *args.hyp].count("-") > 1:
        raise NormalignError("standard input ('-') can be read only once")
    for name, least in (("nth", 1), ("trials", 1), ("bootstrap", 1), ("digits", 0), ("seed", 0)):
        value = getattr(args, name)
        if value is not None and value < least:
            raise NormalignError(f"--{name} is at least {least}, not {value}")
    if not 0 <= args.alpha <= 1:
        raise NormalignError(f"--alpha is a number from 0 to 1, not {args.alpha}")


def _open(args: argparse.Namespace, path: str, side: str) -> contextlib.AbstractContextManager[AlignmentFile]:
    return open_alignment(
        path,
        format=getattr(args, f"{side}_format"),
        base=getattr(args, f"{side}_base"),
        reverse=getattr(args, f"reverse_{side}"),
        options=reading_options(side, allow_missing=True, no_reverse=True),
        nth=args.nth,
        allow_missing=args.allow_missing,
    )


def _results(
    args: argparse.Namespace, totals: Totals, gold: AlignmentFile, hypotheses: list[AlignmentFile]
) -> list[Result]:
    resampled: list = [None] * len(hypotheses)
    comparisons: list = [None] * len(hypotheses)
    samples = args.bootstrap or 1000
    if args.bootstrap:
        resampled = bootstrap(totals.per_sentence, samples, seed=args.seed, alpha=args.alpha)
    if args.paired:
        tested = {"samples": samples, "trials": args.trials, "seed": args.seed, "alpha": args.alpha}
        comparisons[1:] = compare_to_first(totals.per_sentence, **tested)
    return [
        Result(
            file.name,
            score_of(counts, alpha=args.alpha),
            _signature(args, totals, gold, file),
            intervals(values) if values else None,
            comparison,
        )
        for file, counts, values, comparison in zip(hypotheses, totals.counts, resampled, comparisons, strict=True)
    ]


def _signature(args: argparse.Namespace, totals: Totals, gold: AlignmentFile, file: AlignmentFile) -> str:
    scored = totals.sentences - (totals.goldless if args.skip_goldless else 0)
    parts = [f"gold:{gold.signature}", f"hyp:{file.signature}", f"sentences:{scored}"]
    if totals.goldless:
        parts.append(f"goldless:{totals.goldless},{'skipped' if args.skip_goldless else 'scored'}")
    parts.append(f"alpha:{args.alpha:g}")
    if args.bootstrap or args.paired:
        trials = f",trials:{args.trials}" if args.paired else ""
        parts.append(f"bootstrap:{args.bootstrap or 1000}{trials},seed:{args.seed}")
    return "|".join([*parts, f"normalign:{__version__}"])


@contextlib.contextmanager
def _sentence_sink(args: argparse.Namespace) -> Iterator[SentenceSink | None]:
    if not args.per_sentence:
        yield None
        return
    with open_output(args.per_sentence) as handle:
        print("system", "sentence", *METRICS, *COUNTS, sep="\t", file=handle)

        def sink(system: int, first: int, counts: np.ndarray) -> None:
            metrics = metrics_of(counts, alpha=args.alpha)
            for row, numbers in enumerate(counts.tolist()):
                values = [f"{100 * metrics[name][row]:.{args.digits}f}" for name in METRICS]
                print(one_line(args.hyp[system]), first + row + 1, *values, *numbers, sep="\t", file=handle)

        yield sink

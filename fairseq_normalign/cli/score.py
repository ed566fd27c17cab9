"""Score alignments against gold: AER, precision, recall and F, in percent.

  AER = 1 - (|A and S| + |A and P|) / (|A| + |S|)      A: the links of HYP
  P   = |A and P| / |A|                                S: sure gold links
  R   = |A and S| / |S|                                P: possible gold links, the sure ones among them
  F   = 1 / (alpha / P + (1 - alpha) / R)

A corpus score comes from counts summed over sentences. Links are sets: one given twice counts once, and a gold link
marked both sure and possible is sure. Marks in HYP (ipj, P) are not looked at: every link of it is in A.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from ..errors import NormalignError, note, one_line
from ..files import open_output
from ..links.formats import AlignmentFile, Lengths, open_alignment
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
from ..options import READS, option, optional, options, output, switch, written
from ..show.tables import STYLES, Result, render_scores
from ..version import __version__
from .link_files import LengthOptions, LogOptions, alignment_files, layouts, reading_of

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


@options
@alignment_files("gold", "hyp")
class Options(LogOptions, LengthOptions):
    """Everything that changes what is scored and how, and what is written."""

    GROUP: ClassVar = "scoring"
    EXAMPLE: ClassVar = "normalign score gold.talp a.pharaoh b.pharaoh --gold-base 1 --paired"
    FIRST: ClassVar = "gold hyp gold_base gold_format source target bootstrap paired json output".split()
    gold: str = option("gold alignments ('-': standard input)", metavar="GOLD", positional=True, role=READS)
    hyp: Sequence[str] = option(
        "alignments to score ('-': standard input)", metavar="HYP", nargs="+", positional=True, role=READS
    )
    skip_goldless: bool = switch("leave out sentences without any gold link", group="reading")
    alpha: float = option("weight of precision in F", default=0.5, least=0, most=1)
    bootstrap: int | None = optional("95% intervals from N resamplings of the sentences", least=1)
    paired: bool = switch("test every HYP against the first: paired bootstrap and randomization")
    trials: int = option("trials of approximate randomization", default=10000, least=1)
    seed: int = option("seed of all resampling", default=12345, least=0)
    style: str = layouts(STYLES)
    json: bool = switch("write JSON", group="writing")
    digits: int = option("decimals of percentages, but not of JSON's", default=1, least=0, group="writing")
    per_sentence: str | None = written("also write counts and scores of every sentence, as TSV", stream=True)
    output: str = output()


def run(args: Options) -> None:
    if args.paired and len(args.hyp) < 2:
        raise NormalignError("--paired compares two hypothesis files or more; there is one")
    with contextlib.ExitStack() as stack:
        gold, *hypotheses = [
            stack.enter_context(
                open_alignment(path, **reading_of(args, side), nth=args.nth, allow_missing=args.allow_missing)
            )
            for side, path in [("gold", args.gold), *(("hyp", path) for path in args.hyp)]
        ]
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
        handle.write(render_scores(results, "json" if args.json else args.style, digits=args.digits))


def _results(args: Options, totals: Totals, gold: AlignmentFile, hypotheses: list[AlignmentFile]) -> list[Result]:
    resampled: list = [None] * len(hypotheses)
    comparisons: list = [None] * len(hypotheses)
    samples = args.bootstrap or 1000
    if args.bootstrap:
        resampled = bootstrap(totals.per_sentence, samples, seed=args.seed, alpha=args.alpha)
    if args.paired:
        tested: dict[str, Any] = {"samples": samples, "trials": args.trials, "seed": args.seed, "alpha": args.alpha}
        comparisons[1:] = compare_to_first(totals.per_sentence, **tested)
    scored = totals.sentences - (totals.goldless if args.skip_goldless else 0)
    parts = [f"sentences:{scored}"]
    if totals.goldless:
        parts.append(f"goldless:{totals.goldless},{'skipped' if args.skip_goldless else 'scored'}")
    parts.append(f"alpha:{args.alpha:g}")
    if args.bootstrap or args.paired:
        trials = f",trials:{args.trials}" if args.paired else ""
        parts.append(f"bootstrap:{samples}{trials},seed:{args.seed}")
    signature = "|".join([*parts, f"normalign:{__version__}"])
    return [
        Result(
            file.name,
            score_of(counts, alpha=args.alpha),
            f"gold:{gold.signature}|hyp:{file.signature}|{signature}",
            intervals(values) if values else None,
            comparison,
        )
        for file, counts, values, comparison in zip(hypotheses, totals.counts, resampled, comparisons, strict=True)
    ]


@contextlib.contextmanager
def _sentence_sink(args: Options) -> Iterator[SentenceSink | None]:
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

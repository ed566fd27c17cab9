"""Check whether targets translate their sources: one line of numbers per pair, in the order of the input.

The output is a table (TSV) with a header line; with --json it has one JSON object per pair. 'score' combines the other
numbers: higher is better. A pair that is empty on one side, or longer than the model's positions, has no numbers.

With -o FILE, finished windows of 1,024 pairs are kept in FILE.parts until all are done: the same command, run again
after an interruption, continues. --processes N and --cluster ADDRESS share the work; the bytes are the same.
"""

from __future__ import annotations

import argparse
import functools
import math
from typing import Any, ClassVar

from ..analysis.check_lines import columns_of, json_line, table_line
from ..errors import note
from ..options import optional, options, output, switch, written
from .bitext import JobOptions, opened_job


def _share_or_score(text: str) -> tuple[str, float]:
    """'80%' -> ('share', 0.8); '-1.5' -> ('least', -1.5)."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (text.endswith("%") and not 0 < value <= 100):
        raise argparse.ArgumentTypeError(f"'{text}' is neither a score nor a percentage above 0% and up to 100%")
    return ("share", value / 100) if text.endswith("%") else ("least", value)


@options
class Options(JobOptions):
    """Everything that changes what is checked, and what is written."""

    GROUP: ClassVar = "checking"
    HIDDEN: ClassVar = ("level", "symmetrize")
    EXAMPLE: ClassVar = "normalign check --path de-en.pt --bpe-codes codes --source text.de --target text.en -o scores"
    FIRST: ClassVar = "path reverse source target bpe_codes tokenizer lowercase by_word json output".split()
    full: bool = switch(
        "also the share of the source in what the model computed (rollout, ALTI+); takes several times longer"
    )
    by_word: bool = switch("name the words without a source or a target; JSON: numbers per word")
    keep: Any = optional(
        "write the good pairs: the best N percent of all pairs, or those with at least this score",
        parse=_share_or_score,
        metavar="N%|SCORE",
        needs=("keep_to",),
    )
    keep_to: str | None = written(
        "where: PREFIX.source and PREFIX.target",
        metavar="PREFIX",
        endings=("source", "target"),
        group="checking",
        needs=("keep",),
    )
    output: str = output("the numbers (standard output)")
    json: bool = switch("write JSON lines", group="writing")


def run(args: Options) -> None:
    bitext = args.opened()
    if args.keep:
        args.check_twice("--keep reads")
    from ..align.checking import best_pairs, check_window, write_kept

    columns = columns_of(reverse=args.reverse is not None, full=args.full, words=args.by_word and not args.json)
    line = functools.partial(json_line if args.json else table_line, columns=columns, by_word=args.by_word)
    scores: list[float | None] = []
    with opened_job(args, "check", bitext) as job:
        counts = job.run(
            check_window,
            bitext.windows(),
            [args.output],
            args.full,
            line,
            header=["" if args.json else "\t".join(columns) + "\n"],
            take=lambda part: scores.extend(part.record) if args.keep else None,
        )
    job.report(counts, "no numbers")
    if not args.keep:
        return
    which, value = args.keep
    written = [None if score is None else round(score, 6) if args.json else float(f"{score:.6g}") for score in scores]
    kept = best_pairs(written, share=value) if which == "share" else best_pairs(written, least=value)
    count = write_kept(bitext, kept, f"{args.keep_to}.source", f"{args.keep_to}.target")
    lowest = min((score for score, good in zip(written, kept, strict=True) if good and score is not None), default=None)
    said = "" if lowest is None else f", with scores from {lowest:g} on"
    note(f"normalign check: kept {count} of {len(kept)} pairs{said}")

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

from .. import jobs
from ..analysis.check_lines import columns_of, json_line, table_line
from ..errors import NormalignError, note
from ..files import check_distinct, check_writable, is_stdout
from ..jobs import Bitext
from ..options import WRITES, option, options, output
from .bitext_job import JobOptions, opened_job
from .shared import check_sides, from_stdin, given_text


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
    FIRST: ClassVar = (
        *("path", "reverse", "source", "target", "bpe_codes", "tokenizer", "lowercase", "by_word", "json", "output"),
    )
    full: bool = option(
        default=False,
        help="also the share of the source in what the model computed (rollout, ALTI+); takes several times longer",
    )
    by_word: bool = option(default=False, help="name the words without a source or a target; JSON: numbers per word")
    keep: Any = option(
        default=None,
        help="write the good pairs: the best N percent of all pairs, or those with at least this score",
        parse=_share_or_score,
        metavar="N%|SCORE",
    )
    keep_to: str | None = option(
        default=None,
        help="where: PREFIX.source and PREFIX.target",
        metavar="PREFIX",
        role=WRITES,
        endings=("source", "target"),
    )
    output: str = output("the numbers (standard output)")
    json: bool = option(default=False, help="write JSON lines", group="writing")


def run(args: Options) -> None:
    check_sides(args)
    if (args.keep is None) != (args.keep_to is None):
        raise NormalignError("--keep says which pairs are written and --keep-to where; give both")
    if args.keep and from_stdin(args):
        raise NormalignError("--keep reads the text again; give files to --source and --target")
    outputs = [args.output, *(_kept_files(args) if args.keep else ())]
    check_distinct(outputs, [path for path in given_text(args) if path])
    for path in outputs:
        if not is_stdout(path):
            check_writable(path)
    from ..align.checking import check_window

    columns = columns_of(reverse=args.reverse is not None, full=args.full, words=args.by_word and not args.json)
    line = functools.partial(json_line if args.json else table_line, columns=columns, by_word=args.by_word)
    scores: list[float | None] = []
    bitext = Bitext(*given_text(args))
    with opened_job(args, "check", bitext) as job:
        counts = jobs.run(
            job.workers,
            check_window,
            bitext.windows(),
            [args.output],
            job.readings,
            args.full,
            line,
            parts=job.parts,
            job=job.digest(args.full, args.json, args.by_word),
            header=["" if args.json else "\t".join(columns) + "\n"],
            take=lambda part: scores.extend(part.record) if args.keep else None,
            done=job.done,
        )
    job.report(counts, "no numbers")
    if args.keep:
        _keep(args, bitext, scores)


def _kept_files(args: Options) -> tuple[str, str]:
    return f"{args.keep_to}.source", f"{args.keep_to}.target"


def _keep(args: Options, bitext: Bitext, scores: list[float | None]) -> None:
    from ..align.checking import best_pairs, write_kept

    which, value = args.keep
    written = [None if score is None else round(score, 6) if args.json else float(f"{score:.6g}") for score in scores]
    kept = best_pairs(written, share=value) if which == "share" else best_pairs(written, least=value)
    count = write_kept(bitext, kept, *_kept_files(args))
    lowest = min((score for score, good in zip(written, kept, strict=True) if good and score is not None), default=None)
    said = "" if lowest is None else f", with scores from {lowest:g} on"
    note(f"normalign check: kept {count} of {len(kept)} pairs{said}")

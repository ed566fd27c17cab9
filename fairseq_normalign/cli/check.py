"""Check whether targets translate their sources: one line of numbers per pair, in the order of the input.

The output is a table (TSV) with a header line; with --json it has one JSON object per pair. 'score' combines the other
numbers: higher is better. A pair that is empty on one side, or longer than the model's positions, has no numbers.

A run with -o FILE that was interrupted goes on with --resume: what is done is kept in FILE.part. On several
processors or machines: torchrun --nproc-per-node N -m fairseq_normalign.cli check ... writes the same bytes as one
process.
"""

from __future__ import annotations

import argparse
import functools
import math
from typing import TYPE_CHECKING

from ..analysis.check_lines import columns_of, json_line, table_line
from ..errors import NormalignError, note
from ..files import STDIO, check_distinct, check_writable, is_stdout, is_stream
from .bitext_job import (
    add_job_arguments,
    check_job,
    end_early,
    in_processes,
    open_files,
    progress_bar,
    report_skipped,
    settled_aligner,
)
from .model_arguments import (
    add_model_arguments,
    add_reverse_arguments,
    add_text_arguments,
    check_sides,
    from_stdin,
    given_text,
    warn_of_text,
    warn_of_unknown_pieces,
)
from .reading_arguments import add_choice_argument, add_reading_arguments

if TYPE_CHECKING:
    from ..align.bitext import Bitext
    from ..align.processes import Processes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_text_arguments(parser)
    add_choice_argument(add_reading_arguments(parser))
    add_reverse_arguments(parser)
    checking = parser.add_argument_group("checking")
    checking.add_argument(
        "--full",
        action="store_true",
        help="also the share of the source in what the model computed (rollout, ALTI+); takes several times longer",
    )
    checking.add_argument(
        "--by-word", action="store_true", help="name the words without a source or a target; JSON: numbers per word"
    )
    checking.add_argument(
        "--keep",
        type=_share_or_score,
        metavar="N%|SCORE",
        help="write the good pairs: the best N percent of all pairs, or those with at least this score",
    )
    checking.add_argument("--keep-to", metavar="PREFIX", help="where: PREFIX.source and PREFIX.target")
    writing = parser.add_argument_group("writing")
    writing.add_argument("-o", "--output", metavar="FILE", default=STDIO, help="the numbers (standard output)")
    writing.add_argument("--json", action="store_true", help="write JSON lines")
    add_job_arguments(writing)


def _share_or_score(text: str) -> tuple[str, float]:
    """'80%' -> ('share', 0.8); '-1.5' -> ('least', -1.5)."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (text.endswith("%") and not 0 < value <= 100):
        raise argparse.ArgumentTypeError(f"'{text}' is neither a score nor a percentage above 0% and up to 100%")
    return ("share", value / 100) if text.endswith("%") else ("least", value)


def run(args: argparse.Namespace) -> int:
    return in_processes(args, lambda group: _checked(args, group))


def _checked(args: argparse.Namespace, group: Processes) -> None:
    check_sides(args)
    check_job(args, group)
    if (args.keep is None) != (args.keep_to is None):
        raise NormalignError("--keep says which pairs are written and --keep-to where; give both")
    if args.keep and (is_stream(args.output) or from_stdin(args)):
        raise NormalignError("--keep reads the scores and the text again; give files to -o, --source and --target")
    outputs = [args.output, *(_kept_files(args) if args.keep else ())]
    check_distinct(outputs, [path for path in given_text(args) if path])
    for path in outputs:
        if group.is_first and not is_stdout(path):
            check_writable(path)
    _run(args, group)


def _kept_files(args: argparse.Namespace) -> tuple[str, str]:
    return f"{args.keep_to}.source", f"{args.keep_to}.target"


def _run(args: argparse.Namespace, group: Processes) -> None:
    from ..align.bitext import Bitext
    from ..align.checking import Checker, check_bitext
    from ..align.doubts import SAMPLE

    bitext = Bitext(*given_text(args))
    total = bitext.count()
    files = open_files(args, [args.output], total) if group.is_first else None
    columns = columns_of(reverse=bool(args.reverse_path), full=args.full, words=args.by_word and not args.json)
    write = functools.partial(json_line if args.json else table_line, columns=columns, by_word=args.by_word)
    header = "" if args.json else "\t".join(columns) + "\n"
    try:
        aligner = settled_aligner(args, bitext, files, group, verb="check")
        if files:
            warn_of_text("normalign check", aligner, bitext.first(SAMPLE))
        with progress_bar(args, total, files) as bar:
            checker = Checker(aligner, full=args.full)
            counts = check_bitext(bitext, checker, files, group, line=write, header=header, done=bar.update)
        if files:
            files.finish()
    except BaseException:
        end_early("check", files)
        raise
    if files:
        report_skipped("check", counts, "no numbers")
        warn_of_unknown_pieces("normalign check", aligner)
        if args.keep:
            _keep(args, bitext)


def _keep(args: argparse.Namespace, bitext: Bitext) -> None:
    from ..align.keeping import best_pairs, read_scores, write_kept

    which, value = args.keep
    scores = read_scores(args.output)
    kept = best_pairs(scores, share=value) if which == "share" else best_pairs(scores, least=value)
    count = write_kept(bitext, kept, *_kept_files(args))
    lowest = min((score for score, good in zip(scores, kept, strict=True) if good and score is not None), default=None)
    said = "" if lowest is None else f", with scores from {lowest:g} on"
    note(f"normalign check: kept {count} of {len(kept)} pairs{said}")

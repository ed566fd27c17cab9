"""Align a bitext by forced decoding, with any fairseq Transformer.

One line of links per pair, in the order of the input: 0-based 'source-target' pairs of words (Pharaoh), or JSON lines
with both texts, the place of every word in them, and how sure each link is (--format jsonl). A pair that is empty on
one side, or longer than the model's positions, gets an empty line; their number is reported at the end.

A run with -o FILE that was interrupted goes on with --resume: what is done is kept in FILE.part. On several
processors or machines: torchrun --nproc-per-node N -m fairseq_normalign.cli align ... writes the same bytes as one
process.
"""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING

from ..errors import NormalignError
from ..files import STDIO, check_distinct, check_writable, is_stdout
from ..links.dump import DumpWriter
from ..links.experts import VOTE
from ..links.symmetrize import SOFT_SYMMETRIZATIONS
from .bitext_job import (
    add_job_arguments,
    check_job,
    end_early,
    in_processes,
    learning_bar,
    open_files,
    progress_bar,
    report_skipped,
    settled_aligner,
)
from .model_arguments import (
    SYMMETRIZATION,
    add_model_arguments,
    add_reverse_arguments,
    add_symmetrize_argument,
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
    from ..align.both_directions import BitextAligner
    from ..align.directions import Posteriors
    from ..align.job import Files
    from ..align.processes import Processes

LEARNED_FROM = ("words", "looks")
"""What --learn learns from: the words of each pair alone, or also what the models look at."""

EPILOG = """\
--soft and --scores are files beside the links, with one line per pair. --soft: one row per target word, rows separated
by spaces, the numbers of a row by commas, adding up to one (as fairseq-generate prints soft alignments). --scores: one
number per link, in the order of the links: the share of the source word in its target word's row; with two directions
the mean of both, the geometric mean where soft alignments are multiplied.
--dump: every layer between pieces, as a directory of safetensors that fairseq_normalign.links.dump.Dump reads.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    add_model_arguments(parser)
    add_text_arguments(parser)
    add_choice_argument(add_reading_arguments(parser))
    add_symmetrize_argument(add_reverse_arguments(parser))
    _add_expert_arguments(parser)
    writing = parser.add_argument_group("writing")
    writing.add_argument("-o", "--output", metavar="FILE", default=STDIO, help="the links (standard output)")
    writing.add_argument("--format", choices=("pharaoh", "jsonl"), default="pharaoh", help="how they are written")
    writing.add_argument("--write-words", metavar="PREFIX", help="the words that links count: PREFIX.source, .target")
    writing.add_argument("--level", choices=("word", "piece"), default="word", help="what links count (word)")
    writing.add_argument("--scores", metavar="FILE", help="how sure each link is")
    writing.add_argument("--soft", metavar="FILE", help="soft alignments, as text")
    writing.add_argument("--dump", metavar="DIR", help="soft alignments of all layers, in a new directory")
    add_job_arguments(writing)


def _add_expert_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--vote",
        nargs="+",
        default=[],
        metavar="FILE",
        help="links of another aligner for the same pairs: one file, or those of each direction (source-target both)",
    )
    parser.add_argument(
        "--learn",
        nargs="?",
        choices=LEARNED_FROM,
        const=LEARNED_FROM[0],
        help="learn a statistical aligner (HMM) from the words of the text itself and multiply what it believes; "
        "looks: learn also from what the models look at, which takes as long as aligning once more",
    )
    parser.add_argument(
        "--learn-from",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="learn it from this text as well, tokenized like --source and --target",
    )
    parser.add_argument(
        "--vote-weight",
        type=float,
        metavar="X",
        help=f"how many times what they link counts ({VOTE:g}; with --learn 2)",
    )


def run(args: argparse.Namespace) -> int:
    return in_processes(args, lambda group: _checked(args, group))


def _checked(args: argparse.Namespace, group: Processes) -> None:
    _check(args, group)
    _align(args, group)


def _check(args: argparse.Namespace, group: Processes) -> None:
    check_sides(args)
    if args.level == "piece" and (args.format == "jsonl" or args.write_words):
        raise NormalignError("--format jsonl and --write-words are of words; leave --level piece out")
    outputs = _outputs(args)
    if any(is_stdout(path) for path in outputs[1:]):
        raise NormalignError("only the links (-o) can go to standard output")
    check_distinct(outputs)
    for path in outputs:
        if group.is_first and not is_stdout(path):
            check_writable(path)
    if args.symmetrize and not args.reverse_path:
        raise NormalignError("--symmetrize needs the model of the other direction: --reverse-path")
    if args.symmetrize in SOFT_SYMMETRIZATIONS and args.decide:
        raise NormalignError(f"--symmetrize {args.symmetrize} and --decide both decide links; give one of them")
    if args.reverse_path and (args.soft or args.dump):
        raise NormalignError("--soft and --dump are of one direction; leave --reverse-path out")
    if args.resume and args.dump:
        raise NormalignError("--resume cannot go on with a --dump; leave one of them out")
    check_job(args, group)
    if args.learn_from and not args.learn:
        raise NormalignError("--learn-from adds to what --learn learns from; give --learn too")
    if (args.learn or args.vote) and args.level == "piece":
        raise NormalignError("--learn and --vote speak of words, not of pieces")
    if args.learn and from_stdin(args):
        raise NormalignError("--learn reads the text twice, which '-' does not allow; give files")
    if len(args.vote) > 1 and not args.reverse_path:
        raise NormalignError("two files to --vote are for two directions: --reverse-path")
    if len(args.vote) > 2:
        raise NormalignError(f"--vote takes one file, or one for each direction; {len(args.vote)} were given")
    if (args.vote or args.learn) and args.symmetrize and args.symmetrize not in SOFT_SYMMETRIZATIONS:
        raise NormalignError(
            f"--vote and --learn change soft alignments, which --symmetrize {args.symmetrize} does not look at"
        )


def _outputs(args: argparse.Namespace) -> list[str]:
    words = [f"{args.write_words}.{side}" for side in ("source", "target")] if args.write_words else []
    return [path for path in (args.output, args.scores, args.soft, *words) if path is not None]


def _align(args: argparse.Namespace, group: Processes) -> None:
    from ..align.bitext import Bitext
    from ..align.doubts import SAMPLE
    from ..align.job import Outputs, align_bitext

    bitext = Bitext(*given_text(args), beside=args.vote)
    total = bitext.count()
    files = open_files(args, _outputs(args), total, whole=bool(args.dump)) if group.is_first else None
    outputs = Outputs(
        scores=bool(args.scores),
        soft=bool(args.soft),
        layers=bool(args.dump),
        json=args.format == "jsonl",
        words=bool(args.write_words),
    )
    try:
        combine = args.symmetrize or SYMMETRIZATION
        aligner = settled_aligner(args, bitext, files, group, verb="align", level=args.level, combine=combine)
        if files:
            warn_of_text("normalign align", aligner, bitext.first(SAMPLE))
        if args.learn:
            aligner.posteriors = _learned(args, aligner, bitext, files)
        with contextlib.ExitStack() as stack:
            dump = stack.enter_context(DumpWriter(args.dump, method=args.method)) if args.dump and files else None
            bar = stack.enter_context(progress_bar(args, total, files))
            counts = align_bitext(bitext, aligner, files, group, outputs=outputs, dump=dump, done=bar.update)
            if files:
                files.finish()  # before the dump, which is refused when it is there already
    except BaseException:
        end_early("align", files)
        raise
    if files:
        report_skipped("align", counts, "an empty line")
        warn_of_unknown_pieces("normalign align", aligner)


def _learned(args: argparse.Namespace, aligner: BitextAligner, bitext: Bitext, files: Files | None) -> Posteriors:
    from ..align.learning import learned_posteriors

    if args.learn == "words":
        return learned_posteriors(aligner, bitext, args.learn_from)
    with learning_bar(args, files) as bar:
        return learned_posteriors(aligner, bitext, args.learn_from, looks=True, done=bar.update)

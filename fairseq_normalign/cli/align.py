"""Align a bitext by forced decoding, with any fairseq Transformer.

One line of links a pair, in the order of the input: 0-based 'source-target' pairs of words (Pharaoh). A pair that is
empty on one side, or longer than the model's positions, gets an empty line; how many there were is said at the end.

A run with -o FILE that was interrupted goes on with --resume: what is done is kept in FILE.part. On several
processors or machines: torchrun --nproc-per-node N -m fairseq_normalign.cli align ... writes the same bytes as one
process.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..alignment.dump import DumpWriter
from ..alignment.experts import VOTE, parse_expert
from ..alignment.readings import Reading
from ..alignment.symmetrize import SOFT_SYMMETRIZATIONS
from ..errors import NormalignError, note
from ..files import STDIO, check_distinct, check_writable, is_stdout, is_stream
from .model_arguments import (
    SYMMETRIZATION,
    add_model_arguments,
    add_reverse_arguments,
    add_symmetrize_argument,
    add_text_arguments,
    bitext_aligner,
    prepare_torch,
    warn_of_text,
    warn_of_unknown_pieces,
)
from .reading_arguments import (
    add_choice_argument,
    add_reading_arguments,
    alignment_options,
    check_choice,
    chooses_readings,
    take_given_readings,
)

if TYPE_CHECKING:
    from ..aligning.bitext import Bitext
    from ..aligning.directions import BitextAligner
    from ..aligning.job import Files
    from ..aligning.processes import Processes

WITHOUT_EFFECT = {
    *("source", "target", "output", "scores", "soft", "resume", "restart", "progress"),
    *("data", "reverse_data", "threads"),
}
"""Arguments that may change between an interrupted run and the one that goes on."""

EMPTY, TOO_LONG = "empty", "too long"

EPILOG = """\
--soft and --scores are files beside the links, with a line a pair. --soft: a row a target word, rows separated by
spaces, the numbers of a row by commas, adding up to one (as fairseq-generate prints soft alignments). --scores: a
number a link, in the order of the links: the share of the source word in its target word's row; with two directions the
mean of theirs, the geometric one where soft alignments are multiplied.
--dump: every layer between pieces, as a directory of safetensors that fairseq_normalign.alignment.dump.Dump reads.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    add_model_arguments(parser)
    add_text_arguments(parser)
    add_choice_argument(add_reading_arguments(parser))
    add_symmetrize_argument(add_reverse_arguments(parser))
    parser.add_argument(
        "--vote",
        nargs="+",
        default=[],
        metavar="FILE",
        help="links of another aligner for the same pairs: one file, or those of each direction (source-target both)",
    )
    parser.add_argument(
        "--learn",
        action="store_true",
        help="learn a statistical aligner (HMM) from the text itself and multiply what it believes",
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
    writing = parser.add_argument_group("writing")
    writing.add_argument("-o", "--output", metavar="FILE", default=STDIO, help="the links (standard output)")
    writing.add_argument("--level", choices=("word", "piece"), default="word", help="what links count (word)")
    writing.add_argument("--scores", metavar="FILE", help="how sure each link is")
    writing.add_argument("--soft", metavar="FILE", help="soft alignments, as text")
    writing.add_argument("--dump", metavar="DIR", help="soft alignments of all layers, in a new directory")
    writing.add_argument("--resume", action="store_true", help="go on where an interrupted run stopped")
    writing.add_argument("--restart", action="store_true", help="throw away what an interrupted run has done")
    writing.add_argument("--progress", action="store_true", help="show progress even where stderr is no terminal")


def run(args: argparse.Namespace) -> int:
    prepare_torch(args)
    from ..aligning.processes import processes

    with processes() as group:
        try:
            _check(args, group)
            _align(args, group)
        except NormalignError:
            if group.is_first:
                raise
            return 2  # the first process says it
    return 0


def _check(args: argparse.Namespace, group: Processes) -> None:
    outputs = _outputs(args)
    if any(is_stdout(path) for path in outputs[1:]):
        raise NormalignError("only the links (-o) can go to standard output")
    check_distinct(outputs)
    for path in outputs:
        if not is_stdout(path):
            check_writable(path)
    if args.symmetrize and not args.reverse_path:
        raise NormalignError("--symmetrize needs the model of the other direction: --reverse-path")
    if args.reverse_path and (args.soft or args.dump):
        raise NormalignError("--soft and --dump are of one direction; leave --reverse-path out")
    if args.resume and (is_stream(args.output) or args.dump):
        raise NormalignError("--resume needs a file to go on with: -o FILE, and no --dump")
    if args.resume and args.restart:
        raise NormalignError("give --resume or --restart, not both")
    check_choice(args)
    if args.learn_from and not args.learn:
        raise NormalignError("--learn-from adds to what --learn learns from; give --learn too")
    if (args.learn or args.vote) and args.level == "piece":
        raise NormalignError("--learn and --vote speak of words, not of pieces")
    if args.learn and STDIO in (args.source, args.target):
        raise NormalignError("--learn reads the text twice, which '-' does not allow; give files")
    if len(args.vote) > 1 and not args.reverse_path:
        raise NormalignError("two files to --vote are for two directions: --reverse-path")
    if len(args.vote) > 2:
        raise NormalignError(f"--vote takes one file, or one for each direction; {len(args.vote)} were given")
    if (args.vote or args.learn) and args.symmetrize and args.symmetrize not in SOFT_SYMMETRIZATIONS:
        raise NormalignError(
            f"--vote and --learn change soft alignments, which --symmetrize {args.symmetrize} does not look at"
        )
    if group.count > 1 and STDIO in (args.source, args.target):
        raise NormalignError("several processes cannot share standard input; give files")


def _outputs(args: argparse.Namespace) -> list[str]:
    return [path for path in (args.output, args.scores, args.soft) if path is not None]


def _align(args: argparse.Namespace, group: Processes) -> None:
    from ..aligning.bitext import Bitext
    from ..aligning.doubts import SAMPLE
    from ..aligning.job import Outputs, align_bitext
    from ..aligning.learning import learned_posteriors

    bitext = Bitext(args.source, args.target, beside=args.vote)
    total = bitext.count()
    files = _files(args, total) if group.is_first else None
    outputs = Outputs(scores=bool(args.scores), soft=bool(args.soft), layers=bool(args.dump))
    try:
        aligner = _aligner(args, bitext, files, group)
        if files:
            warn_of_text("normalign align", aligner, bitext.first(SAMPLE))
        if args.learn:
            aligner.posteriors = learned_posteriors(aligner, bitext, args.learn_from)
        with contextlib.ExitStack() as stack:
            dump = stack.enter_context(DumpWriter(args.dump, method=args.method)) if args.dump and files else None
            bar = stack.enter_context(_progress(args, total, files))
            counts = align_bitext(bitext, aligner, files, group, outputs=outputs, dump=dump, done=bar.update)
            if files:
                files.finish()  # before the dump, which is refused when it is there already
    except BaseException:
        if files and files.abandon():
            note(f"normalign align: what is done is kept in {files.kept}; --resume goes on")
        raise
    if files:
        _report(counts)
        warn_of_unknown_pieces("normalign align", aligner)


def _files(args: argparse.Namespace, lines: int | None) -> Files:
    from ..resumable import PlainFiles, ResumableFiles, UnfinishedRun, can_be_continued

    if args.dump or not can_be_continued(args.output):
        return PlainFiles(_outputs(args))
    try:
        return ResumableFiles(_outputs(args), _job(args, lines), resume=args.resume, restart=args.restart)
    except UnfinishedRun as error:
        raise NormalignError(f"{error}; --resume goes on with it, --restart throws it away") from None


def _job(args: argparse.Namespace, lines: int | None) -> dict[str, object]:
    """What must not change while a run is interrupted. The texts are watched by their content."""
    from ..aligning.build import dictionaries, fingerprint

    described = {name: value for name, value in vars(args).items() if name not in WITHOUT_EFFECT}
    for name in ("path", "reverse_path", "bpe_codes", "sentencepiece_model", "vote", "choice", "learn_from"):
        given = described[name] or []
        described[name] = [fingerprint(file) for file in (given.split(":") if isinstance(given, str) else given)]
    job = {f"--{name.replace('_', '-')}": value for name, value in described.items()}
    known = dictionaries(args.path, args.data)
    if args.reverse_path:
        known += dictionaries(args.reverse_path, args.reverse_data)
    return {**job, "the dictionaries": [fingerprint(file) for file in known], "the number of lines": lines}


def _aligner(args: argparse.Namespace, bitext: Bitext, files: Files | None, group: Processes) -> BitextAligner:
    from ..aligning.options import layer_argument

    layer = layer_argument(args.layer)
    options = alignment_options(args, layer)
    aligner = bitext_aligner(args, options, level=args.level, combine=args.symmetrize or SYMMETRIZATION)
    if layer == "auto" or chooses_readings(args, options):
        settled = _settle(args, aligner, bitext, files) if files else None
        for direction, expert in zip((aligner.forward, aligner.backward), group.share(settled), strict=False):
            if direction is not None:
                direction.aligner.read_with(parse_expert(expert))
    take_given_readings(args, options, aligner)
    return aligner


def _settle(args: argparse.Namespace, aligner: BitextAligner, bitext: Bitext, files: Files) -> list[str]:
    """Return the readings of each direction: those of the interrupted run, or the best on the first pairs."""
    if not files.journal.choice:
        choose = _one_layer if args.layer == "auto" else _readings
        files.journal.choice = choose(args, aligner, bitext)
    return files.journal.choice


def _readings(args: argparse.Namespace, aligner: BitextAligner, bitext: Bitext) -> list[str]:
    from ..aligning.choose import choose_readings, sentence_of_choice
    from ..aligning.choose_layer import SAMPLE

    choices = choose_readings(aligner, bitext.first(SAMPLE))
    for which, choice in zip(("", "the other direction "), choices, strict=False):
        note(f"normalign align: {which}{sentence_of_choice(choice)}")
    return [str(choice.expert) for choice in choices]


def _one_layer(args: argparse.Namespace, aligner: BitextAligner, bitext: Bitext) -> list[str]:
    from ..aligning.choose_layer import SAMPLE, judge_by_text
    from ..alignment.steps_to_words import SETTINGS
    from ..analysis.layer_choice import sentence_of

    settings = (args.setting,) if args.setting else SETTINGS
    verdict = judge_by_text(aligner, bitext.first(SAMPLE), methods=[args.method], settings=settings)
    note(f"normalign align: {sentence_of(verdict.choice, verdict.criteria, '--')}")
    choices = [verdict.choice]
    if verdict.reverse_choice is not None:
        note(f"normalign align: reverse {sentence_of(verdict.reverse_choice, verdict.reverse_criteria, '--')}")
        choices.append(verdict.reverse_choice)
    return [Reading(one.candidate.method, one.candidate.layer, None, one.candidate.setting).spec for one in choices]


def _progress(args: argparse.Namespace, total: int | None, files: Files | None) -> Any:
    from tqdm import tqdm

    return tqdm(
        total=total,
        initial=files.journal.counts.get("pairs", 0) if files else 0,
        unit=" pairs",
        disable=not files or not (args.progress or sys.stderr.isatty()),
        dynamic_ncols=True,
        smoothing=0.05,
    )


def _report(counts: Counter[str]) -> None:
    """Say which pairs have no alignment."""
    empty, long = counts[EMPTY], counts[TOO_LONG]
    if empty or long:
        print(
            f"normalign align: {empty + long} of {counts['pairs']} pairs have an empty line: "
            f"{empty} empty on one side, {long} longer than the model's positions",
            file=sys.stderr,
        )

"""Align a bitext by forced decoding, with any translation Transformer.

One line of links per pair, in the order of the input: 0-based 'source-target' pairs of words (Pharaoh), or JSON lines
with both texts, the place of every word in them, and how sure each link is (--json). A pair that is empty on
one side, or longer than the model's positions, gets an empty line; their number is reported at the end.

With -o FILE, finished windows of 1,024 pairs are kept in FILE.parts until all are done: the same command, run again
after an interruption, continues. --processes N and --cluster ADDRESS share the work; the bytes are the same.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, ClassVar

from .. import jobs
from ..errors import NormalignError
from ..files import check_distinct, check_new_directory, check_writable, is_stdout, read_parallel
from ..jobs import Bitext, digest
from ..links.dump import DumpWriter
from ..links.experts import VOTE, VOTE_BESIDE_HMM
from ..links.symmetrize import SOFT_SYMMETRIZATIONS
from ..options import READS, WRITES, option, options, output, written
from .bitext_job import Job, JobOptions, opened_job
from .shared import (
    check_sides,
    from_stdin,
    given_text,
)

if TYPE_CHECKING:
    from ..analysis.hmm import HmmAligner

LEARNED_FROM = ("words", "looks")
"""What --learn learns from: the words of each pair alone, or also what the models look at."""

EPILOG = """\
--soft and --scores are files beside the links, with one line per pair. --soft: one row per target word, rows separated
by spaces, the numbers of a row by commas, adding up to one (as fairseq-generate prints soft alignments). --scores: one
number per link, in the order of the links: the share of the source word in its target word's row; with two directions
the mean of both, the geometric mean where soft alignments are multiplied.
--dump: every layer between pieces, as a directory of safetensors that fairseq_normalign.links.dump.Dump reads.
"""


@options
class Options(JobOptions):
    """Everything that changes what is aligned and how, and what is written."""

    GROUP: ClassVar = "more evidence"
    EXAMPLE: ClassVar = "normalign align --path de-en.pt --bpe-codes codes --source text.de --target text.en -o links"
    FIRST: ClassVar = (
        *("path", "reverse", "source", "target", "bpe_codes", "tokenizer", "lowercase", "data", "json", "output"),
    )
    vote: Sequence[str] = option(
        default=(),
        help="links of another aligner for the same pairs: one file, or those of each direction (source-target both)",
        nargs="+",
        metavar="FILE",
        role=READS,
    )
    learn: str | None = option(
        default=None,
        help="learn a statistical aligner (HMM) from the words of the text itself, and combine its posteriors with the "
        "model's; looks: learn also from what the models look at, which takes as long as aligning once more",
        nargs="?",
        choices=LEARNED_FROM,
        const=LEARNED_FROM[0],
    )
    learn_from: Sequence[str] | None = option(
        default=None,
        help="learn it from this text as well, tokenized like --source and --target",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        role=READS,
    )
    vote_weight: float | None = option(
        default=None,
        help=f"how many times what they link counts ({VOTE:g}; with --learn {VOTE_BESIDE_HMM:g})",
        parse=float,
        metavar="X",
    )
    output: str = output("the links (standard output)")
    json: bool = option(default=False, help="write JSON lines: texts, words, links, scores", group="writing")
    write_words: str | None = option(
        default=None,
        help="the words that links count: PREFIX.source, PREFIX.target",
        metavar="PREFIX",
        role=WRITES,
        endings=("source", "target"),
        group="writing",
    )
    scores: str | None = written("how sure each link is")
    soft: str | None = written("soft alignments, as text")
    dump: str | None = option(
        default=None,
        help="soft alignments of all layers, in a new directory",
        metavar="DIR",
        role=WRITES,
        group="writing",
    )


def run(args: Options) -> None:
    _check(args)
    from ..align.aligner import Outputs, add_to_dump, align_window

    outputs = _outputs(args)
    wanted = Outputs(
        scores=bool(args.scores),
        soft=bool(args.soft),
        layers=bool(args.dump),
        json=args.json,
        words=bool(args.write_words),
    )
    vote = (VOTE_BESIDE_HMM if args.learn else VOTE) if args.vote_weight is None else args.vote_weight
    bitext = Bitext(*given_text(args), beside=args.vote)
    with contextlib.ExitStack() as stack, opened_job(args, "align", bitext, vote=vote) as job:
        hmm, learned_from = _learned(args, job, bitext) if args.learn else (None, "")
        dump = stack.enter_context(DumpWriter(args.dump, method=args.method)) if args.dump else None
        counts = jobs.run(
            job.workers,
            align_window,
            bitext.windows(),
            outputs,
            job.readings,
            wanted,
            parts=job.parts,
            job=job.digest(asdict(wanted), learned_from),
            extra=(lambda window: (_posteriors(hmm, job, window),)) if hmm else lambda window: (),
            ahead=2 * max(2, args.processes) if args.dump else None,
            take=functools.partial(add_to_dump, dump) if dump else lambda part: None,
            done=job.done,
        )
    job.report(counts, "an empty line")


def _learned(args: Options, job: Job, bitext: Bitext) -> tuple[HmmAligner, str]:
    """Return the HMM that was learned from the text, and what stands for everything it was learned from."""
    from ..align.learning import learned, words_of_window

    looks = args.learn == "looks"
    pairs = itertools.chain(bitext.pairs(), read_parallel(*args.learn_from) if args.learn_from else iter(()))
    files = [path for path in (*given_text(args), *(args.learn_from or ())) if path]
    name = digest([jobs.fingerprint(path) for path in files], looks)
    parts = job.parts if looks else None
    windows = jobs.windows_of(pairs)
    found = jobs.mapped(job.workers, words_of_window, windows, job.readings, looks, parts=parts, job=job.digest(name))
    if looks:
        job.bar.total = None if args.learn_from or job.bar.total is None else 2 * job.bar.total
    hmm = learned(_shown(job, found) if looks else (part for _, part in found))
    job.before = job.bar.n
    return hmm, name


def _shown(job: Job, found: Iterator[tuple[jobs.Window, jobs.Part]]) -> Iterator[jobs.Part]:
    for window, part in found:
        job.done(window.first + len(window.pairs))
        yield part


def _posteriors(hmm: HmmAligner, job: Job, window: jobs.Window) -> object:
    from ..align.learning import posteriors_of, words_of_window

    return posteriors_of(hmm, words_of_window(job.workers.models, window))


def _check(args: Options) -> None:
    check_sides(args)
    if args.level == "piece" and (args.json or args.write_words):
        raise NormalignError("--json and --write-words are of words; leave --level piece out")
    outputs = _outputs(args)
    if any(is_stdout(path) for path in outputs[1:]):
        raise NormalignError("only the links (-o) can go to standard output")
    check_distinct(outputs)
    for path in outputs:
        if not is_stdout(path):
            check_writable(path)
    if args.dump:
        check_new_directory(args.dump, "a dump")
    if args.symmetrize and args.reverse is None:
        raise NormalignError("--symmetrize needs the model of the other direction: --reverse-path")
    if args.symmetrize in SOFT_SYMMETRIZATIONS and args.decision:
        raise NormalignError(f"--symmetrize {args.symmetrize} and --decide both decide links; give one of them")
    if args.reverse is not None and (args.soft or args.dump):
        raise NormalignError("--soft and --dump are of one direction; leave --reverse-path out")
    if args.learn_from and not args.learn:
        raise NormalignError("--learn-from adds to what --learn learns from; give --learn too")
    if (args.learn or args.vote) and args.level == "piece":
        raise NormalignError("--learn and --vote speak of words, not of pieces")
    if args.learn and from_stdin(args):
        raise NormalignError("--learn reads the text twice, which '-' does not allow; give files")
    if len(args.vote) > 1 and args.reverse is None:
        raise NormalignError("two files to --vote are for two directions: --reverse-path")
    if len(args.vote) > 2:
        raise NormalignError(f"--vote takes one file, or one for each direction; {len(args.vote)} were given")
    if (args.vote or args.learn) and args.symmetrize and args.symmetrize not in SOFT_SYMMETRIZATIONS:
        raise NormalignError(
            f"--vote and --learn change soft alignments, which --symmetrize {args.symmetrize} does not look at"
        )


def _outputs(args: Options) -> list[str]:
    words = [f"{args.write_words}.{side}" for side in ("source", "target")] if args.write_words else []
    return [path for path in (args.output, args.scores, args.soft, *words) if path is not None]

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
from collections.abc import Sequence
from typing import Any, ClassVar

from .. import jobs
from ..errors import NormalignError
from ..files import read_parallel
from ..links.experts import VOTE, VOTE_BESIDE_HMM
from ..links.symmetrize import SOFT_SYMMETRIZATIONS
from ..options import READS, option, optional, options, output, switch, written
from .bitext import JobOptions, opened_job

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
    FIRST: ClassVar = "path reverse source target bpe_codes tokenizer lowercase data json output".split()
    vote: Sequence[str] = option(
        "links of another aligner for the same pairs: one file, or those of each direction (source-target both)",
        default=(),
        nargs="+",
        role=READS,
    )
    learn: str | None = optional(
        "learn a statistical aligner (HMM) from the words of the text itself, and combine its posteriors with the "
        "model's; looks: learn also from what the models look at, which takes as long as aligning once more",
        nargs="?",
        choices=LEARNED_FROM,
        const=LEARNED_FROM[0],
    )
    learn_from: Sequence[str] | None = optional(
        "learn it from this text as well, tokenized like --source and --target",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        role=READS,
        needs=("learn",),
    )
    vote_weight: float | None = optional(
        f"how many times what they link counts ({VOTE:g}; with --learn {VOTE_BESIDE_HMM:g})"
    )
    output: str = output("the links (standard output)")
    json: bool = switch("write JSON lines: texts, words, links, scores", group="writing")
    write_words: str | None = written(
        "the words that links count: PREFIX.source, PREFIX.target", metavar="PREFIX", endings=("source", "target")
    )
    scores: str | None = written("how sure each link is")
    soft: str | None = written("soft alignments, as text", excludes=("reverse",))
    dump: str | None = written(
        "soft alignments of all layers, in a new directory", metavar="DIR", folder="a dump", excludes=("reverse",)
    )


def run(args: Options) -> None:
    _check(args)
    from ..align.aligner import Outputs, add_to_dump, align_window

    words = [f"{args.write_words}.{side}" for side in ("source", "target")] if args.write_words else []
    outputs = [path for path in (args.output, args.scores, args.soft, *words) if path is not None]
    wanted = Outputs(bool(args.scores), bool(args.soft), bool(args.dump), args.json, bool(args.write_words))
    vote = (VOTE_BESIDE_HMM if args.learn else VOTE) if args.vote_weight is None else args.vote_weight
    bitext = args.opened(beside=args.vote)
    with contextlib.ExitStack() as stack, opened_job(args, "align", bitext, vote=vote) as job:
        learned_from, more = None, dict[str, Any]()
        if args.learn:
            from ..align.learning import learned, posteriors_of, words_of_window

            looks = args.learn == "looks"
            files = [path for path in (*args.text_files(), *(args.learn_from or ())) if path]
            learned_from = [jobs.fingerprint(path) for path in files]
            pairs = itertools.chain(bitext.pairs(), read_parallel(*args.learn_from) if args.learn_from else ())
            found = jobs.mapped(
                job.workers,
                words_of_window,
                jobs.windows_of(pairs),
                job.readings,
                looks,
                parts=job.parts if looks else None,
                job=job.digest("looks", learned_from),
            )
            if looks:
                job.bar.total = None if args.learn_from or job.bar.total is None else 2 * job.bar.total
            hmm = learned(job.shown(found) if looks else (part for _, part in found))
            job.before = job.bar.n

            def posteriors(window: jobs.Window) -> tuple[object, ...]:
                return (posteriors_of(hmm, words_of_window(job.workers.models, window)),)

            more["extra"] = posteriors
        if args.dump:
            from ..links.dump import DumpWriter

            dump = stack.enter_context(DumpWriter(args.dump, method=args.method))
            more |= {"take": functools.partial(add_to_dump, dump), "ahead": 2 * max(2, args.processes)}
        counts = job.run(align_window, bitext.windows(), outputs, wanted, more=learned_from, **more)
    job.report(counts, "an empty line")


def _check(args: Options) -> None:
    if args.level == "piece" and (args.json or args.write_words or args.learn or args.vote):
        raise NormalignError("--json, --write-words, --learn and --vote are of words; leave --level piece out")
    if args.symmetrize in SOFT_SYMMETRIZATIONS and args.decision:
        raise NormalignError(f"--symmetrize {args.symmetrize} and --decide both decide links; give one of them")
    if args.learn:
        args.check_twice("--learn reads")
    if len(args.vote) > 1 and args.reverse is None:
        raise NormalignError("two files to --vote are for two directions: --reverse-path")
    if len(args.vote) > 2:
        raise NormalignError(f"--vote takes one file, or one for each direction; {len(args.vote)} were given")
    if (args.vote or args.learn) and args.symmetrize and args.symmetrize not in SOFT_SYMMETRIZATIONS:
        raise NormalignError(
            f"--vote and --learn change soft alignments, which --symmetrize {args.symmetrize} does not look at"
        )

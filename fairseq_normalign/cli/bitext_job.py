"""What the verbs share that work through a whole bitext: where the work is done, readings, progress. Not a verb."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import NormalignError, note
from ..files import is_stream
from ..jobs import Bitext, Parts, Place, Workers, digest
from ..links.experts import Expert, parse_expert
from ..version import __version__
from .model_arguments import ADVICE, positive, prepare_torch, report_unknown_pieces, setup_of
from .reading_arguments import alignment_options, check_choice, chooses_readings, given_readings

if TYPE_CHECKING:
    from tqdm import tqdm

SAMPLE = 500
"""Pairs that readings are chosen by."""
EMPTY, TOO_LONG = "empty", "too long"


def add_job_arguments(group: argparse._ArgumentGroup) -> None:
    """Where the work is done."""
    group.add_argument("--progress", action="store_true", help="show progress even where stderr is no terminal")
    group.add_argument(
        "--processes", type=positive, default=1, metavar="N", help="share the work between N processes (1)"
    )
    group.add_argument(
        "--cluster", metavar="ADDRESS", help="share the work between the workers of a Dask scheduler: address or file"
    )
    group.add_argument("--tls-ca", metavar="FILE", help="certificate of the authority that the cluster trusts")
    group.add_argument("--tls-cert", metavar="FILE", help="own certificate, for the cluster")
    group.add_argument("--tls-key", metavar="FILE", help="key of that certificate")


@dataclass
class Job:
    """A bitext, the workers for it, and the readings that they use."""

    verb: str
    bitext: Bitext
    total: int | None
    workers: Workers
    parts: Parts | None
    readings: list[Expert | None]
    bar: tqdm
    before: int = 0
    """Pairs that were shown as done in a pass before."""

    def digest(self, *more: object) -> str:
        """Return what stands for everything that a window's result depends on, beside its text."""
        setup = self.workers.setup
        chosen = [str(expert) for expert in self.readings]
        return digest(__version__, self.verb, setup.describe(), self.workers.known, chosen, *more)

    def done(self, pairs: int) -> None:
        """Show that so many pairs are done; batches within a window may have been shown before."""
        self.bar.update(max(0, pairs + self.before - self.bar.n))

    def report(self, counts: Mapping[str, int], what: str) -> None:
        """Say how many pairs have ``what`` because they could not be aligned, and whether many pieces are unknown."""
        empty, long = counts.get(EMPTY, 0), counts.get(TOO_LONG, 0)
        if empty or long:
            note(
                f"normalign {self.verb}: {empty + long} of {counts['pairs']} pairs have {what}: "
                f"{empty} empty on one side, {long} longer than the model's positions"
            )
        report_unknown_pieces(f"normalign {self.verb}", counts)


@contextmanager
def opened_job(
    args: argparse.Namespace, verb: str, bitext: Bitext, *, level: str = "word", combine: str = "agreed-grow-diag"
) -> Iterator[Job]:
    """Settle everything that a job over a bitext needs: its workers, and the readings that suit the text."""
    from tqdm import tqdm

    check_choice(args)
    if args.cluster and args.processes > 1:
        raise NormalignError("--cluster has workers of its own; leave --processes out")
    total = bitext.count()
    prepare_torch(args)
    options = alignment_options(args)
    setup = setup_of(args, options, level=level, combine=combine)
    parts = None if is_stream(args.output) else Parts(args.output)
    place = Place(args.processes, args.threads, args.cluster, args.tls_ca, args.tls_cert, args.tls_key)
    shown = args.progress or sys.stderr.isatty()
    bar = tqdm(total=total, unit=" pairs", disable=not shown, dynamic_ncols=True, smoothing=0.05)
    try:
        with bar, Workers(setup, place, done=bar.update) as workers:
            job = Job(verb, bitext, total, workers, parts, [], bar)
            job.readings = _settled(args, job, chooses_readings(args, options))
            yield job
    except BaseException:
        if parts:
            note(f"normalign {verb}: what is done is kept in {parts.folder}; the same command continues")
        raise


def _settled(args: argparse.Namespace, job: Job, choose: bool) -> list[Expert | None]:
    """Return the readings of each direction, chosen by the first pairs or given; say what in the text is doubtful."""
    from ..align.job import look_at
    from ..jobs import Part

    sample = job.bitext.first(SAMPLE)
    name = f"look-{job.digest(sample, choose)}"
    part = job.parts.read(name) if job.parts else None
    found = part.record if part else job.workers.call(look_at, sample, choose)
    if job.parts is not None and part is None:
        job.parts.write(name, Part(record=found))
    for which, said in zip(("", "the other direction "), found["said"], strict=False):
        note(f"normalign {job.verb}: {which}{said}")
    for doubt in found["doubts"]:
        note(f"normalign {job.verb}: warning: {doubt['text']}; {ADVICE[doubt['kind']]}")
    return given_readings(args, [parse_expert(text) for text in found["readings"]])

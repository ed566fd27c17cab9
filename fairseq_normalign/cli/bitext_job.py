"""What the verbs share that work through a whole bitext: where the work is done, readings, progress. Not a verb."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ..align.options import AUTO, LoadOptions
from ..errors import NormalignError, note
from ..files import is_stream
from ..jobs import Bitext, Part, Parts, Place, TextPair, Workers, digest
from ..links.experts import VOTE, Expert, parse_expert
from ..options import SPEED, TEXT, option, options, output, part_of, positive
from ..version import __version__
from .shared import (
    ADVICE,
    MANY_UNKNOWN,
    BitextOptions,
    ModelOptions,
    prepare_torch,
    progress_bar,
    report_unknown_pieces,
)

if TYPE_CHECKING:
    from tqdm import tqdm

SAMPLE = 500
"""Pairs that readings are chosen by."""
EMPTY, TOO_LONG, NO_MEMORY = "empty", "too long", "not enough memory"


@options
class WorkerOptions(ModelOptions):
    """Models, and where the work is done."""

    GROUP: ClassVar = "workers"
    processes: int = option(
        default=1, help="share the work between N processes", parse=positive, metavar="N", role=SPEED
    )
    cluster: str | None = option(
        default=None,
        help="share the work between the workers of a Dask scheduler: address or file",
        metavar="ADDRESS",
        role=SPEED,
    )
    tls_ca: str | None = option(
        default=None, help="certificate of the authority that the cluster trusts", metavar="FILE", role=TEXT
    )
    tls_cert: str | None = option(default=None, help="own certificate, for the cluster", metavar="FILE", role=TEXT)
    tls_key: str | None = option(default=None, help="key of that certificate", metavar="FILE", role=TEXT)
    output: str = output()


@options
class JobOptions(BitextOptions, WorkerOptions):
    """A bitext, models, and where the work is done."""

    GROUP: ClassVar = "text"


@dataclass
class Job:
    """The workers of a command, and the readings that they use."""

    verb: str
    workers: Workers
    parts: Parts | None
    readings: list[Expert | None]
    bar: tqdm
    floor: float | None = None
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
        empty, long, large = (counts.get(reason, 0) for reason in (EMPTY, TOO_LONG, NO_MEMORY))
        if empty or long or large:
            note(
                f"normalign {self.verb}: {empty + long + large} of {counts['pairs']} pairs have {what}: "
                f"{empty} empty on one side, {long} longer than the model's positions"
                + (f", {large} too large for the memory" if large else "")
            )
        report_unknown_pieces(f"normalign {self.verb}", counts)
        aligned = counts.get("pairs", 0) - empty - long - large
        if "links" in counts and not counts["links"] and aligned:
            note(f"normalign {self.verb}: warning: 0 links in {aligned} pairs: {self._why_no_links(counts)}")

    def _why_no_links(self, counts: Mapping[str, int]) -> str:
        if counts.get("unknown source pieces", 0) > MANY_UNKNOWN * counts.get("source pieces", 0):
            return "the model does not know most of the pieces; is it a model of these languages, with these codes?"
        if self.floor is not None:
            return f"no word pair has an agreement above --floor {self.floor:g}"
        return (
            "no word of the model's attention stands out; has it been trained long enough? "
            "--decide argmax links each target word to its best source word"
        )


@contextmanager
def opened_job(args: WorkerOptions, verb: str, bitext: Bitext | None = None, *, vote: float = VOTE) -> Iterator[Job]:
    """Settle everything that a job needs: its workers, and the readings that suit the bitext, if there is one."""
    args.check_choice()
    if bitext is None and args.readings == AUTO:
        raise NormalignError("readings are chosen by a bitext: find them by normalign layers, and give them here")
    if args.cluster and args.processes > 1:
        raise NormalignError("--cluster has workers of its own; leave --processes out")
    total = None if bitext is None else bitext.count()
    prepare_torch(args)
    from ..align.aligner import Setup

    args.alignment(), args.text()  # a mistake in them is reported before anything is written
    setup = Setup(part_of(LoadOptions, replace(args, choice=(), reverse_readings=None)), vote)
    parts = None if is_stream(args.output) else Parts(args.output)
    place = Place(args.processes, args.threads, args.cluster, args.tls_ca, args.tls_cert, args.tls_key)
    bar = progress_bar(args, total, " lines" if bitext is None else " pairs")
    try:
        with bar, Workers(setup, place, done=bar.update) as workers:
            job = Job(verb, workers, parts, args.given_readings(), bar, args.floor)
            if bitext is not None:
                job.readings = _settled(args, job, bitext.first(SAMPLE))
            yield job
    except BaseException:
        if parts and parts.windows():
            note(f"normalign {verb}: what is done is kept in {parts.folder}; the same command continues")
        elif parts:
            parts.remove()
        raise


def _settled(args: WorkerOptions, job: Job, sample: Sequence[TextPair]) -> list[Expert | None]:
    """Return the readings of each direction, chosen by the first pairs or given; say what in the text is doubtful."""
    from ..align.sample import look_at

    choose = args.chooses_readings()
    name = f"look-{job.digest(sample, choose)}"
    part = job.parts.read(name) if job.parts else None
    found = part.record if part else job.workers.call(look_at, sample, choose)
    if job.parts is not None and part is None:
        job.parts.write(name, Part(record=found))
    for said in found["said"]:
        note(f"normalign {job.verb}: {said}")
    for kind, doubt in found["doubts"]:
        note(f"normalign {job.verb}: warning: {doubt}; {ADVICE[kind]}")
    return args.given_readings([parse_expert(text) for text in found["readings"]])

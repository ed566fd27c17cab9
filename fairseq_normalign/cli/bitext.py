"""What the verbs share that run a model: options, a job over a whole bitext, and what is said about a text. Not a
verb.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from .. import jobs
from ..align.options import AUTO, LoadOptions
from ..errors import NormalignError, note
from ..files import STDIO, is_stream
from ..jobs import Bitext, Part, Parts, Place, Window, Workers, digest
from ..links.experts import VOTE, Expert, parse_expert
from ..options import SPEED, TEXT, option, optional, options, output, part_of, result_options, switch
from ..version import __version__

if TYPE_CHECKING:
    from tqdm import tqdm


READING = ("method", "readings", "layer", "head", "step", "decision", "floor", "self_test", "choice", "level")
"""Options of :class:`LoadOptions` that verbs hide which read everything, or nothing."""
REVERSE = ("reverse", "reverse_data", "reverse_bpe_codes", "reverse_sentencepiece_model")
COMBINING = ("reverse_readings", "symmetrize")

EMPTY, TOO_LONG, NO_MEMORY = "empty", "too long", "not enough memory"
"""Why pairs are skipped."""
MANY_UNKNOWN = 0.3
"""A larger share of unknown pieces is a sign that text, codes and model do not belong together."""
ADVICE = {
    "cased": "if it was trained on lower-case text, add --lowercase",
    "glued": "if the text is not tokenized, add --tokenizer moses",
    "turned": "are --source and --target, or --path and --reverse-path, the wrong way round?",
    "same way": "is --reverse-path a model of the other direction?",
}
"""What to do about each kind of doubt."""


@options
class ModelOptions(LoadOptions):
    """What every verb takes that runs a model."""

    GROUP: ClassVar = "model"
    threads: int | None = optional("threads of each process on CPU", least=1, most=1024, role=SPEED)
    progress: bool = switch("show progress even where stderr is no terminal", role=SPEED, group="writing")


@options
class BitextOptions:
    """The bitext, as two files or as one."""

    GROUP: ClassVar = "text"
    source: Any = optional("source sentences, one per line ('-': standard input)", role=TEXT)
    target: Any = optional("target sentences ('-': standard input)", role=TEXT)
    bitext: Any = optional("both, with ' ||| ' or a tab between, instead", role=TEXT, excludes=("source", "target"))

    def text_files(self) -> tuple[str, str | None]:
        """Return the files of the text: source and target, or the one that holds both and None."""
        if not self.bitext and not (self.source and self.target):
            raise NormalignError("the text is needed: --source FILE and --target FILE, or --bitext FILE")
        return (self.bitext, None) if self.bitext else (self.source, self.target)

    def opened(self, beside: Sequence[str] = ()) -> Bitext:
        """Return the text, of which both sides have equally many lines; ``beside``: files with a line per pair."""
        bitext = Bitext(*self.text_files(), beside=beside)
        bitext.count()
        return bitext

    def check_twice(self, why: str) -> None:
        """Refuse standard input, which can be read only once."""
        if STDIO in (self.source, self.target, self.bitext):
            raise NormalignError(f"{why} the text twice, which '-' does not allow; give files")


@options
class WorkerOptions(ModelOptions):
    """Models, and where the work is done."""

    GROUP: ClassVar = "workers"
    processes: int = option("share the work between N processes", default=1, least=1, role=SPEED)
    cluster: str | None = optional(
        "share the work between the workers of a Dask scheduler: address or file",
        metavar="ADDRESS",
        role=SPEED,
        excludes=("processes",),
    )
    tls_ca: str | None = optional("certificate of the authority that the cluster trusts", role=TEXT)
    tls_cert: str | None = optional("own certificate, for the cluster", role=TEXT)
    tls_key: str | None = optional("key of that certificate", role=TEXT)
    output: str = output()


@options
class JobOptions(BitextOptions, WorkerOptions):
    """A bitext, models, and where the work is done."""

    GROUP: ClassVar = "text"


def prepare_torch(args: ModelOptions) -> None:
    """Make results independent of the number of threads; to be called before torch is imported."""
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
    warnings.filterwarnings("ignore", category=UserWarning, module="torch")  # on how fairseq calls it
    import torch

    from ..align.aligner import import_user_code
    from ..hosts.precision import prepare_cpu

    if args.threads is not None:
        torch.set_num_threads(args.threads)
    if args.device == "cpu" or not (args.device or torch.cuda.is_available()):
        prepare_cpu(args.precision, started=False)
    import_user_code(args)


def progress_bar(args: ModelOptions, total: int | None = None, unit: str = " lines") -> tqdm:
    """Return a bar that is shown on a terminal, or where it is asked for."""
    from tqdm import tqdm

    shown = args.progress or sys.stderr.isatty()
    return tqdm(total=total, unit=unit, disable=not shown, dynamic_ncols=True, smoothing=0.05)


def method_list(text: str) -> list[str]:
    """'norms,weights', or 'all' for every method there is."""
    from ..methods import METHODS, method_class

    if text == "all":
        return list(METHODS)
    names = [name for name in text.split(",") if name]
    for name in names:
        method_class(name)
    if not names:
        raise NormalignError(f"--methods names no method; choose some of {', '.join(METHODS)}, or all")
    return list(dict.fromkeys(names))


# -- a job ------------------------------------------------------------------------------------------------------------


@dataclass
class Job:
    """The workers of a command, and the readings that they use."""

    args: WorkerOptions
    verb: str
    workers: Workers
    parts: Parts | None
    readings: list[Expert | None]
    bar: tqdm
    before: int = 0
    """Pairs that were shown as done in a pass before."""

    def digest(self, *more: object) -> str:
        """Return what stands for everything that a window's result depends on, beside its text."""
        chosen = [str(expert) for expert in self.readings]
        return digest(__version__, self.verb, result_options(self.args), self.workers.known, chosen, *more)

    def run(
        self,
        function: Callable[..., Part],
        windows: Iterable[Window],
        outputs: Sequence[str],
        *arguments: object,
        more: object = None,
        **others: Any,
    ) -> Counter[str]:
        """Do the work on every window, as :func:`..jobs.run` does; ``more``: what else the results depend on."""
        given = {"parts": self.parts, "job": self.digest(more), "done": self.done, **others}
        return jobs.run(self.workers, function, windows, outputs, self.readings, *arguments, **given)

    def mapped(
        self, function: Callable[..., Any], windows: Iterable[Window], *arguments: object, more: object = None
    ) -> Iterator[tuple[Window, Any]]:
        """Yield each window with its result, in order."""
        job = self.digest(more)
        return jobs.mapped(self.workers, function, windows, self.readings, *arguments, parts=self.parts, job=job)

    def shown(self, found: Iterable[tuple[Window, Any]]) -> Iterator[Any]:
        """Yield the results of windows, and show that their pairs are done."""
        for window, part in found:
            self.done(window.first + len(window.pairs))
            yield part

    def done(self, pairs: int) -> None:
        """Show that so many pairs are done; batches within a window may have been shown before."""
        self.bar.update(max(0, pairs + self.before - self.bar.n))

    def report(self, counts: Mapping[str, int], what: str) -> None:
        """Say how many pairs have ``what`` because they could not be aligned, and whether many pieces are unknown."""
        name = f"normalign {self.verb}"
        empty, long, large = (counts.get(reason, 0) for reason in (EMPTY, TOO_LONG, NO_MEMORY))
        if empty or long or large:
            note(
                f"{name}: {empty + long + large} of {counts['pairs']} pairs have {what}: "
                f"{empty} empty on one side, {long} longer than the model's positions"
                + (f", {large} too large for the memory" if large else "")
            )
        warn_of_unknown_pieces(name, counts)
        aligned = counts.get("pairs", 0) - empty - long - large
        if "links" not in counts or counts["links"] or not aligned:
            return
        reason = (
            "no word of the model's attention stands out; has it been trained long enough? "
            "--decide argmax links each target word to its best source word"
        )
        if counts.get("unknown source pieces", 0) > MANY_UNKNOWN * counts.get("source pieces", 0):
            reason = "the model does not know most of the pieces; is it a model of these languages, with these codes?"
        elif self.args.floor is not None:
            reason = f"no word pair has an agreement above --floor {self.args.floor:g}"
        note(f"{name}: warning: 0 links in {aligned} pairs: {reason}")


@contextmanager
def opened_job(args: WorkerOptions, verb: str, bitext: Bitext | None = None, *, vote: float = VOTE) -> Iterator[Job]:
    """Settle everything that a job needs: its workers, and the readings that suit the bitext, if there is one."""
    args.check_choice()
    if bitext is None and args.readings == AUTO:
        raise NormalignError("readings are chosen by a bitext: find them by normalign layers, and give them here")
    prepare_torch(args)
    from ..align.aligner import Setup
    from ..align.sample import SAMPLE, look_at

    args.alignment(), args.text()  # a mistake in them is reported before anything is written
    setup = Setup(part_of(LoadOptions, replace(args, choice=(), reverse_readings=None)), vote)
    parts = None if is_stream(args.output) else Parts(args.output)
    place = Place(args.processes, args.threads, args.cluster, args.tls_ca, args.tls_cert, args.tls_key)
    bar = progress_bar(args, None, " lines") if bitext is None else progress_bar(args, bitext.total, " pairs")
    try:
        with bar, Workers(setup, place, done=bar.update) as workers:
            job = Job(args, verb, workers, parts, args.given_readings(), bar)
            if bitext is not None:
                sample, choose = bitext.first(SAMPLE), args.chooses_readings()
                name = f"look-{job.digest(sample, choose)}"
                part = parts.read(name) if parts else None
                if part is None:
                    part = Part(record=workers.call(look_at, sample, choose))
                    if parts is not None:
                        parts.write(name, part)
                job.readings = settled_readings(args, f"normalign {verb}", part.record)
            yield job
    except BaseException:
        if parts and parts.windows():
            note(f"normalign {verb}: what is done is kept in {parts.folder}; the same command continues")
        elif parts:
            parts.remove()
        raise


def settled_readings(args: LoadOptions, name: str, found: Mapping[str, Any]) -> list[Expert | None]:
    """Return the readings of each direction, chosen or given, and report what a look at the first pairs found."""
    for said in found["said"]:
        note(f"{name}: {said}")
    warn_of_text(name, found["doubts"])
    return args.given_readings([parse_expert(text) for text in found["readings"]])


def warn_of_text(name: str, doubts: Iterable[tuple[str, str]]) -> None:
    """Say what in the first pairs does not suit the model, and what to add."""
    for kind, doubt in doubts:
        note(f"{name}: warning: {doubt}; {ADVICE[kind]}")


def warn_of_unknown_pieces(name: str, counts: Mapping[str, int]) -> None:
    """Say so when many pieces are unknown: codes or a dictionary of another model make nonsense without an error."""
    for side in ("source", "target"):
        seen, unknown = counts.get(f"{side} pieces", 0), counts.get(f"unknown {side} pieces", 0)
        if unknown > MANY_UNKNOWN * seen:
            note(
                f"{name}: warning: {unknown} of {seen} {side} pieces are not in the dictionary; "
                "are text, codes and dictionary those it was trained with? "
                "(--bpe-codes or --sentencepiece-model makes pieces of words)"
            )

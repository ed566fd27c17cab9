"""What the verbs share that work through a whole bitext: files, choice of readings, progress. Not a verb."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..errors import NormalignError, note
from ..files import is_stream
from ..links.experts import parse_expert
from .model_arguments import SYMMETRIZATION, bitext_aligner, from_stdin, prepare_torch
from .reading_arguments import alignment_options, check_choice, chooses_readings, take_given_readings

if TYPE_CHECKING:
    from tqdm import tqdm

    from ..align.bitext import Bitext
    from ..align.both_directions import BitextAligner
    from ..align.job import Files
    from ..align.processes import Processes

WITHOUT_EFFECT = {
    *("source", "target", "bitext", "output", "scores", "soft", "write_words", "resume", "restart", "progress"),
    *("data", "reverse_data", "threads", "keep", "keep_to"),
}
"""Arguments that may change between an interrupted run and the one that goes on."""

EMPTY, TOO_LONG = "empty", "too long"


def add_job_arguments(group: argparse._ArgumentGroup) -> None:
    """What is done with an interrupted run."""
    group.add_argument("--resume", action="store_true", help="go on where an interrupted run stopped")
    group.add_argument("--restart", action="store_true", help="throw away what an interrupted run has done")
    group.add_argument("--progress", action="store_true", help="show progress even where stderr is no terminal")


def in_processes(args: argparse.Namespace, run: Callable[[Processes], None]) -> int:
    """Run a job in each of the processes that torchrun started, or in this one; return the exit code."""
    prepare_torch(args)
    from ..align.processes import Superseded, processes

    while True:
        with contextlib.suppress(Superseded), processes() as group:
            if not group.finished:
                run(group)
                group.finish()
            return 0


def check_job(args: argparse.Namespace, group: Processes) -> None:
    """Raise an error for arguments that do not go together; a job that torchrun starts again goes on by itself."""
    if group.restarted and group.is_first:
        _go_on(args)
    if args.resume and is_stream(args.output):
        raise NormalignError("--resume needs a file to go on with: -o FILE")
    if args.resume and args.restart:
        raise NormalignError("give --resume or --restart, not both")
    check_choice(args)
    if group.count > 1 and from_stdin(args):
        raise NormalignError("several processes cannot share standard input; give files")


def _go_on(args: argparse.Namespace) -> None:
    if is_stream(args.output):
        raise NormalignError("torchrun has started the job again, and what is printed stays printed; give -o FILE")
    args.resume, args.restart = not getattr(args, "dump", None), False


def end_early(verb: str, files: Files | None) -> None:
    """End a job early, and say where what is done is kept."""
    if files and files.abandon():
        note(f"normalign {verb}: what is done is kept in {files.kept}; --resume goes on")


def open_files(args: argparse.Namespace, outputs: Sequence[str], lines: int | None, *, whole: bool = False) -> Files:
    """Return the files of a job over ``lines`` pairs; ``whole``: they cannot be continued."""
    from ..resumable import PlainFiles, ResumableFiles, UnfinishedRun, can_be_continued

    if whole or not can_be_continued(args.output):
        return PlainFiles(outputs)
    try:
        return ResumableFiles(outputs, _job(args, lines), resume=args.resume, restart=args.restart)
    except UnfinishedRun as error:
        raise NormalignError(f"{error}; --resume goes on with it, --restart throws it away") from None


def _job(args: argparse.Namespace, lines: int | None) -> dict[str, object]:
    """What must not change while a run is interrupted. The texts are watched by their content."""
    from ..align.build import dictionaries, fingerprint

    described = {name: value for name, value in vars(args).items() if name not in WITHOUT_EFFECT}
    for name in ("path", "reverse_path", "bpe_codes", "sentencepiece_model", "vote", "choice", "learn_from"):
        given = described.get(name) or []
        described[name] = [fingerprint(file) for file in (given.split(":") if isinstance(given, str) else given)]
    job = {f"--{name.replace('_', '-')}": value for name, value in described.items()}
    known = dictionaries(args.path, args.data)
    if args.reverse_path:
        known += dictionaries(args.reverse_path, args.reverse_data)
    return {**job, "the dictionaries": [fingerprint(file) for file in known], "the number of lines": lines}


def settled_aligner(
    args: argparse.Namespace,
    bitext: Bitext,
    files: Files | None,
    group: Processes,
    *,
    verb: str,
    level: str = "word",
    combine: str = SYMMETRIZATION,
) -> BitextAligner:
    """Return the models of a job with their readings, which the first process settles for all."""
    options = alignment_options(args)
    aligner = bitext_aligner(args, options, level=level, combine=combine)
    if chooses_readings(args, options):
        settled = _settle(verb, aligner, bitext, files) if files else []
        for direction, expert in zip((aligner.forward, aligner.backward), group.share(settled), strict=False):
            if direction is not None:
                direction.aligner.read_with(parse_expert(expert))
    take_given_readings(args, options, aligner)
    return aligner


def _settle(verb: str, aligner: BitextAligner, bitext: Bitext, files: Files) -> list[str]:
    """Return the readings of each direction: those of the interrupted run, or the best on the first pairs."""
    if not files.journal.choice:
        files.journal.choice = _readings(verb, aligner, bitext)
    return files.journal.choice


def _readings(verb: str, aligner: BitextAligner, bitext: Bitext) -> list[str]:
    from ..align.choose import SAMPLE, choose_readings, sentence_of_choice

    choices = choose_readings(aligner, bitext.first(SAMPLE))
    for which, choice in zip(("", "the other direction "), choices, strict=False):
        note(f"normalign {verb}: {which}{sentence_of_choice(choice)}")
    return [str(choice.expert) for choice in choices]


def progress_bar(args: argparse.Namespace, total: int | None, files: Files | None) -> tqdm:
    """Return a bar that the first process shows on a terminal, or where it is asked for."""
    return _bar(args, files, " pairs", total, files.journal.counts.get("pairs", 0) if files else 0)


def learning_bar(args: argparse.Namespace, files: Files | None) -> tqdm:
    """Return the bar of the pass over a text that is learned from."""
    return _bar(args, files, " pairs looked at")


def _bar(args: argparse.Namespace, files: Files | None, unit: str, total: int | None = None, initial: int = 0) -> tqdm:
    from tqdm import tqdm

    is_shown = files is not None and (args.progress or sys.stderr.isatty())
    return tqdm(total=total, initial=initial, unit=unit, disable=not is_shown, dynamic_ncols=True, smoothing=0.05)


def report_skipped(verb: str, counts: Counter[str], what: str) -> None:
    """Say how many pairs have ``what``, because they could not be aligned."""
    empty, long = counts[EMPTY], counts[TOO_LONG]
    if empty or long:
        print(
            f"normalign {verb}: {empty + long} of {counts['pairs']} pairs have {what}: "
            f"{empty} empty on one side, {long} longer than the model's positions",
            file=sys.stderr,
        )

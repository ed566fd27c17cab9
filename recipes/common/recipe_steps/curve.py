"""AER over updates: the best look at AWI, the best at AWO, two looks of one model, and both directions.

Takes the checkpoints that training kept (checkpoint_EPOCH_UPDATES.pt) and both directions have. The readings are chosen
for each of them by a lexicon of the text, without gold, or given: then there are one direction and both.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from normalign_training.averaging import average

from fairseq_normalign.align.aligner import Aligner
from fairseq_normalign.align.sample import choose_readings
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import open_output, read_parallel
from fairseq_normalign.links.experts import Expert, parse_expert
from fairseq_normalign.links.gold import Gold
from fairseq_normalign.options import positive

from .gold_text import Pairs, add_gold_arguments, error_rates, load_both, read_gold_text

KEPT = re.compile(r"checkpoint_[0-9]+_([0-9]+)\.pt")
ROWS = ("AWI", "AWO", "two looks", "both directions")
GIVEN_ROWS = ("one direction", "both directions")
HEAD = ("updates", "row", "readings", "aer", "aer_odd", "aer_even")

Line = tuple[int, str, str, float, float, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", type=Path, nargs=2, required=True, metavar=("FORWARD", "BACKWARD"), help="folders")
    add_gold_arguments(parser)
    parser.add_argument("--readings", help="read so, for example weights:1:awi, instead of choosing")
    parser.add_argument("--choose-by", type=Path, nargs=2, metavar=("SOURCE", "TARGET"), help="text to choose by")
    parser.add_argument("--floor", type=float, help="of the agreement of links")
    parser.add_argument(
        "--average", type=positive, default=1, metavar="N", help="the mean of the last N that were kept"
    )
    parser.add_argument("--every", type=positive, default=1, metavar="N", help="points at multiples of N updates only")
    parser.add_argument("--figure", type=Path, help="a picture of it")
    parser.add_argument("-o", "--output", type=Path, required=True, help="TSV")


def run(args: argparse.Namespace) -> None:
    pairs, golds = read_gold_text(args)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for updates, files in last_kept(kept_by_both(*args.models), args.average, args.every):
            lines += measure(args, updates, averaged(files, Path(folder)), pairs, golds)
    with open_output(args.output) as out:
        out.write("\t".join(HEAD) + "\n")
        for updates, row, readings, *rates in lines:
            out.write("\t".join([str(updates), row, readings, *(f"{rate:.2f}" for rate in rates)]) + "\n")
    if args.figure:
        draw(lines, args.figure)


def kept_by_both(forward: Path, backward: Path) -> list[tuple[int, tuple[Path, Path]]]:
    """The numbers of updates at which both models were kept, with their files, the fewest first."""
    first, second = (_kept(folder) for folder in (forward, backward))
    common = sorted(first.keys() & second.keys())
    if not common:
        raise NormalignError(
            f"{forward}, {backward}: no checkpoints of the same number of updates; "
            "train with --keep-interval-updates -1"
        )
    return [(updates, (first[updates], second[updates])) for updates in common]


def last_kept(
    kept: Sequence[tuple[int, tuple[Path, Path]]], count: int, every: int
) -> list[tuple[int, list[tuple[Path, Path]]]]:
    """For each multiple of ``every`` updates the files of the last ``count`` checkpoints up to it."""
    found = [
        (updates, [files for _, files in kept[max(0, number - count) : number]])
        for number, (updates, _) in enumerate(kept, start=1)
        if updates % every == 0
    ]
    if not found:
        raise NormalignError(f"no checkpoint was kept at a multiple of {every} updates")
    return found


def averaged(files: Sequence[tuple[Path, Path]], folder: Path) -> tuple[Path, Path]:
    """The mean parameters of the checkpoints of each direction, in a folder; one by itself stays where it is."""
    if len(files) == 1:
        return files[0]
    means = folder / "forward.pt", folder / "backward.pt"
    for mean, paths in zip(means, zip(*files, strict=True), strict=True):
        average(paths, mean)
    return means


def _kept(folder: Path) -> dict[int, Path]:
    found = ((KEPT.fullmatch(file.name), file) for file in folder.glob("checkpoint_*.pt"))
    return {int(match[1]): file for match, file in found if match}


def measure(
    args: argparse.Namespace, updates: int, paths: tuple[Path, Path], pairs: Pairs, golds: Sequence[Gold]
) -> list[Line]:
    """One line per row."""
    model = load_both(args, paths, decision="grow-diag" if args.readings else None, floor=args.floor)
    both = model.aligner
    lines = []
    rows, other = experts(both, args.readings, list(read_parallel(*args.choose_by)) if args.choose_by else pairs)
    for row, expert in rows:
        links = [pair.links for pair in Aligner(both.forward.reading(expert)).align(pairs)]
        lines.append((updates, row, str(expert), *error_rates(golds, links)))
    links = [pair.links for pair in both.reading([expert, other]).align(pairs)]
    return [*lines, (updates, ROWS[-1], str(expert), *error_rates(golds, links))]


def experts(both: Aligner, given: str | None, pairs: Pairs) -> tuple[list[tuple[str, Expert]], Expert]:
    """What is read of one direction, by the name of its row, and what of the other direction.

    What the first direction is read with beside the other one comes last.
    """
    if given:
        return [(GIVEN_ROWS[0], parse_expert(given))], parse_expert(given)
    choice, *others = choose_readings(both, pairs)
    if not choice.ranked:
        raise NormalignError(f"{len(pairs)} pairs are too few to choose readings by; give a longer text (--choose-by)")
    best = [next(r.reading for r in choice.ranked if r.reading.step == step) for step in ("awi", "awo")]
    rows = list(zip(ROWS, [*(Expert((one,), (1.0,)) for one in best), choice.expert], strict=False))
    return rows, others[0].expert if others else choice.expert


def draw(lines: Sequence[Line], path: Path) -> None:
    """AER against updates, one curve per row."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.0), layout="constrained")
    for row, mark in zip(dict.fromkeys(line[1] for line in lines), "osD^", strict=False):
        points = [(line[0], line[3]) for line in lines if line[1] == row]
        axes.plot([x for x, _ in points], [y for _, y in points], marker=mark, label=row)
    axes.set(xlabel="updates", ylabel="AER (%)", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)

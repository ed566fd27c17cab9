"""Show alignments: in the terminal, as figures, as one HTML page, or as a report in a folder.

  normalign view DUMP --gold G --sentences 3            a grid in the terminal
  normalign view weights-dump norms-dump -o fig.pdf     soft alignments side by side, one page per sentence
  normalign view DUMP --gold G --html page.html         a page with every sentence, method, layer and head
  normalign view DUMP --gold G --report folder          tables of scores, figures and examples
  normalign view --source S --target T --links A.align  any aligner's links
  normalign view --checked scores.jsonl --html page.html  words without a source or a target, worst pairs first
  normalign view --path CKPT --source-text 'ein Haus' --target-text 'a house'
  normalign view --path CKPT --reverse-path CKPT --source S --target T --sentences 3 -o fig.pdf

A model is drawn as 'normalign align' reads it: both looks, their product and, with --reverse-path, the other direction
and what both agree on; --method, --layer, --head or --step show single layers instead.

The page is one file that needs no network: search, sort by AER, switch method, layer, head, AWO or AWI, words or
pieces; press ? in it for its keys.

A report is a folder for a colleague: open its index.html. It scores what is shown, as 'normalign compare' does. Its
examples are the best, the worst and typical ones, and those that the method improves and worsens most against the
baseline; each of both is read at its best layer and step. Without gold it is about what a check found (--checked).

Figures take letters from the fonts that are installed (DejaVu, Noto, Noto CJK, those of Windows and macOS), and say in
one line which letters none of them has. Right-to-left words read from right to left; on both axes the first word of
the sentence comes first.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from ..errors import NormalignError, note
from ..files import check_new_directory, check_writable
from ..links.experts import BOTH, TWO_LOOKS
from ..links.pieces import LEVELS
from ..links.read_pair import ReadPair
from ..links.readings import Reading
from ..options import option, options, output, positive, written
from ..version import __version__
from .view_arguments import PairOptions, choices_for, pairs_of, wanted_sentences


@options
class Options(PairOptions):
    """Everything that changes what is shown, and where."""

    GROUP: ClassVar = "how"
    EXAMPLE: ClassVar = "normalign view --source text.de --target text.en --links links --gold g.talp --html page.html"
    FIRST: ClassVar = (
        *("dump", "source", "target", "links", "gold", "path", "reverse", "sentences", "output", "html", "report"),
    )
    shown_level: str = option(
        default="word", help="what rows and columns are", flags=["--level"], choices=LEVELS, group="what is shown"
    )
    threshold: float | None = option(
        default=None,
        help="link every share of a row above X, 0 to 1 (default: argmax)",
        parse=float,
        metavar="X",
        group="what is shown",
    )
    output: Any = output("write figures: a name in .png, .svg or .pdf", default=None, metavar="FIGURE")
    no_reference: bool = option(default=False, help="no panel of the gold alone in figures")
    html: Any = written("write the page", metavar="PAGE")
    report: Any = written("write a report into a folder that does not exist yet", metavar="FOLDER")
    title: str = option(default="Word alignments", help="title of the page and of the report")
    colour: str = option(default="auto", help="colour in the terminal", choices=("auto", "always", "never"))
    examples_of: str | None = option(
        default=None, help="whose examples are chosen (norms, or the last method)", metavar="M", group="report"
    )
    baseline: str | None = option(
        default=None, help="what its improvement is against (weights, or the first method)", metavar="M", group="report"
    )
    each: int = option(default=3, help="examples of each kind", parse=positive, metavar="N", group="report")
    all_sentences: bool = option(default=False, help="also a page of every sentence", group="report")
    bootstrap: int = option(default=1000, help="resamplings for intervals", parse=positive, metavar="N", group="report")
    seed: int = option(default=12345, help="seed of the resamplings", parse=int, group="report")

    @property
    def every_layer(self) -> bool:
        """A page and a report have every layer to choose from."""
        return self.html is not None or self.report is not None


def run(args: Options) -> None:
    _check(args)
    wanted = wanted_sentences(args.sentences)
    pairs = pairs_of(args, wanted)
    chosen = wanted is not None or args.worst is not None
    if not chosen and not args.every_layer:
        pairs = _first_only(pairs)
    first = next(pairs, None)
    if first is None:
        raise NormalignError("there is no sentence to show")
    if not first.readings:
        raise NormalignError("no alignment to show: give --links or --soft-file with the sentences")
    choices = choices_for(args, {name: reading.shape for name, reading in first.readings.items()})
    pairs = itertools.chain([first], pairs)
    if args.html is not None and args.output is None and args.report is None:
        _page(args, pairs, choices)  # the only output that needs no more memory for more sentences
    elif args.every_layer or args.output is not None:
        kept = list(pairs)
        if args.report is not None:
            _report(args, kept)
        if args.html is not None:
            _page(args, iter(kept), choices)
        if args.output is not None:
            _figures(args, kept if chosen else kept[:1], choices)
    else:
        _terminal(args, pairs, choices)


def _check(args: Options) -> None:
    if args.threshold is not None and not 0 <= args.threshold <= 1:
        raise NormalignError(f"--threshold is a share from 0 to 1, not {args.threshold}")
    if args.one_head is not None and args.one_head < 1:
        raise NormalignError(f"--head counts from 1, not {args.one_head}")
    if args.seed < 0:
        raise NormalignError(f"--seed is at least 0, not {args.seed}")
    for path in (args.html, args.output):
        if path is not None:
            check_writable(path)
    if args.output is not None:
        from ..show.figures import figure_format

        figure_format(args.output)
    if args.report is not None:
        from ..show.report import REPORT

        if args.gold is None and args.check_file is None:
            raise NormalignError("a report needs gold alignments (--gold), or what a check found (--checked)")
        check_new_directory(args.report, REPORT)


def _first_only(pairs: Iterator[ReadPair]) -> Iterator[ReadPair]:
    """Figures and grids are for sentences that were chosen; without a choice, the first."""
    first = next(pairs, None)
    if first is None:
        return
    if next(pairs, None) is not None:
        print("normalign view: the first sentence only; --sentences 1,4-7 chooses", file=sys.stderr)
    yield first


def _page(args: Options, pairs: Iterator[ReadPair], choices: Sequence[Reading]) -> None:
    from ..show.page import write_page

    asked = args.methods or args.layers or args.one_head or args.one_step
    start, beside = (choices[0], choices[1] if len(choices) > 1 else None) if asked and choices else (None, None)
    if not asked and len(choices) > 1:
        beside = choices[0]
    summary = write_page(args.html, pairs, title=args.title, start=start, beside=beside)
    note(f"{args.html}: {summary.sentences} sentences, {summary.bytes / 1e6:.1f} MB")


def _figures(args: Options, pairs: Sequence[ReadPair], choices: Sequence[Reading]) -> None:
    from ..show.figures import Style, figure_format, save_figure
    from ..show.fonts import note_on_missing

    style = Style(threshold=args.threshold, level=args.shown_level, reference=not args.no_reference)
    path = Path(args.output)
    if figure_format(path) == "pdf" or len(pairs) == 1:
        written = {path: pairs}
    else:
        written = {path.with_name(f"{path.stem}-{pair.id + 1}{path.suffix}"): [pair] for pair in pairs}
    missing = "".join(save_figure(name, chosen, choices, style) for name, chosen in written.items())
    if missing:
        note(f"normalign view: {note_on_missing(''.join(sorted(set(missing))))}")


def _report(args: Options, pairs: Sequence[ReadPair]) -> None:
    """Write the report; its examples are those of both directions, two looks or norms unless others are asked for."""
    from ..analysis.comparison import Sampling, compare_pairs, examples_of_method
    from ..show.report import Measured, write_report

    if args.gold is None:
        if not any(pair.flags for pair in pairs):
            raise NormalignError(f"{args.check_file}: none of these pairs was checked")
        signature = f"pairs:{len(pairs)}|normalign:{__version__}"
        write_report(args.report, pairs, None, title=args.title, signature=signature)
        note(f"{args.report}/index.html: {len(pairs)} pairs, lowest scores first")
        return
    known = list(pairs[0].readings)
    for given in (args.examples_of, args.baseline):
        if given is not None and given not in known:
            raise NormalignError(f"no method '{given}' here; there are {', '.join(known)}")
    looks = [name for name in (BOTH, TWO_LOOKS) if name in known]
    method = args.examples_of or next(name for name in (*looks, "norms", known[-1]) if name in known)
    others = [name for name in known if name != method]
    usual = ("norms", "weights") if method in looks else ("weights",)
    baseline = args.baseline or next((name for name in (*usual, *others) if name in others), None)

    signature = f"sentences:{len(pairs)}|null:best|merge:sum,mean|bootstrap:{args.bootstrap},seed:{args.seed}"
    signature = f"{signature}|normalign:{__version__}"
    found = replace(compare_pairs(pairs, Sampling(args.bootstrap, args.seed)), signature=signature)
    measured = Measured(found, examples_of_method(pairs, method, baseline, each=args.each))
    write_report(args.report, pairs, measured, title=args.title, signature=signature, all_sentences=args.all_sentences)
    note(f"{args.report}/index.html: {len(pairs)} sentences, {len(measured.chosen.examples)} examples")


def _terminal(args: Options, pairs: Iterator[ReadPair], choices: Sequence[Reading]) -> None:
    from ..show.grids import Look, text_grid

    terminal = sys.stdout.isatty()
    colour = args.colour == "always" or (args.colour == "auto" and terminal and "NO_COLOR" not in os.environ)
    try:
        "■✗○·░▒▓█…".encode(sys.stdout.encoding or "ascii")
        speaks_unicode = True
    except UnicodeEncodeError:
        speaks_unicode = False
    look = Look(colour, speaks_unicode, shutil.get_terminal_size().columns if terminal else 10_000)
    for number, (pair, choice) in enumerate((pair, choice) for pair in pairs for choice in choices):
        if number:
            print()
        for line in text_grid(pair, choice, look, threshold=args.threshold, level=args.shown_level):
            print(line)

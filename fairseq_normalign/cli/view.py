"""Show alignments: in the terminal, as figures, or as one HTML page.

  normalign view DUMP --gold G --sentences 3            a grid in the terminal
  normalign view weights-dump norms-dump -o fig.pdf     soft alignments side by side, one page per sentence
  normalign view DUMP --gold G --html page.html         a page with every sentence, method, layer and head
  normalign view --source S --target T --links A.align  any aligner's links
  normalign view --checked scores.jsonl --html page.html  words without a source or a target, worst pairs first
  normalign view --path CKPT --source-text 'ein Haus' --target-text 'a house'
  normalign view --path CKPT --reverse-path CKPT --source S --target T --sentences 3 -o fig.pdf

A model is drawn as 'normalign align' reads it: both looks, their product and, with --reverse-path, the other direction
and what both agree on; --method, --layer, --head or --step show single layers instead.

The page is one file that needs no network: search, sort by AER, switch method, layer, head, AWO or AWI, words or
pieces; press ? in it for its keys.

Figures take letters from the fonts that are installed (DejaVu, Noto, Noto CJK, those of Windows and macOS), and say in
one line which letters none of them has. Right-to-left words read from right to left; on both axes the first word of
the sentence comes first.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from ..errors import NormalignError, note
from ..files import check_writable
from ..links.pieces import LEVELS
from ..links.read_pair import ReadPair
from ..links.readings import Reading
from ..options import option, options, output, written
from .view_arguments import PairOptions, choices_for, pairs_of, wanted_sentences


@options
class Options(PairOptions):
    """Everything that changes what is shown, and where."""

    GROUP: ClassVar = "how"
    EXAMPLE: ClassVar = "normalign view --source text.de --target text.en --links links --gold g.talp --html page.html"
    FIRST: ClassVar = (
        *("dump", "source", "target", "links", "gold", "path", "reverse", "sentences", "output", "html"),
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
    title: str = option(default="Word alignments", help="title of the page")
    colour: str = option(default="auto", help="colour in the terminal", choices=("auto", "always", "never"))

    @property
    def every_layer(self) -> bool:
        """A page has every layer to choose from."""
        return self.html is not None


def run(args: Options) -> None:
    _check(args)
    wanted = wanted_sentences(args.sentences)
    pairs = pairs_of(args, wanted)
    if args.html is None and wanted is None and args.worst is None:
        pairs = _first_only(pairs)
    first = next(pairs, None)
    if first is None:
        raise NormalignError("there is no sentence to show")
    if not first.readings:
        raise NormalignError("no alignment to show: give --links or --soft with the sentences")
    choices = choices_for(args, {name: reading.shape for name, reading in first.readings.items()})
    pairs = itertools.chain([first], pairs)
    if args.html is not None:
        _page(args, pairs, choices)
    elif args.output is not None:
        _figures(args, list(pairs), choices)
    else:
        _terminal(args, pairs, choices)


def _check(args: Options) -> None:
    if args.html is not None and args.output is not None:
        raise NormalignError("give -o for figures or --html for the page, not both")
    if args.threshold is not None and not 0 <= args.threshold <= 1:
        raise NormalignError(f"--threshold is a share from 0 to 1, not {args.threshold}")
    if args.one_head is not None and args.one_head < 1:
        raise NormalignError(f"--head counts from 1, not {args.one_head}")
    for path in (args.html, args.output):
        if path is not None:
            check_writable(path)
    if args.output is not None:
        from ..show.figures import figure_format

        figure_format(args.output)


def _first_only(pairs: Iterator[ReadPair]) -> Iterator[ReadPair]:
    """Figures and grids are for sentences that were chosen; without a choice, the first."""
    first = next(pairs, None)
    if first is None:
        return
    if next(pairs, None) is not None:
        print("normalign view: the first sentence only; --sentences 1,4-7 chooses", file=sys.stderr)
    yield first


def _page(args: Options, pairs: Iterator[ReadPair], choices: list[Reading]) -> None:
    from ..show.page import write_page

    asked = args.methods or args.layers or args.one_head or args.one_step
    start, beside = (choices[0], choices[1] if len(choices) > 1 else None) if asked and choices else (None, None)
    if not asked and len(choices) > 1:
        beside = choices[0]
    summary = write_page(args.html, pairs, title=args.title, start=start, beside=beside)
    note(f"{args.html}: {summary.sentences} sentences, {summary.bytes / 1e6:.1f} MB")


def _figures(args: Options, pairs: list[ReadPair], choices: list[Reading]) -> None:
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


def _terminal(args: Options, pairs: Iterator[ReadPair], choices: list[Reading]) -> None:
    from ..show.grids import Look, text_grid

    terminal = sys.stdout.isatty()
    colour = args.colour == "always" or (args.colour == "auto" and terminal and "NO_COLOR" not in os.environ)
    look = Look(colour, _speaks_unicode(), shutil.get_terminal_size().columns if terminal else 10_000)
    for number, (pair, choice) in enumerate((pair, choice) for pair in pairs for choice in choices):
        if number:
            print()
        for line in text_grid(pair, choice, look, threshold=args.threshold, level=args.shown_level):
            print(line)


def _speaks_unicode() -> bool:
    try:
        "■✗○·░▒▓█…".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True

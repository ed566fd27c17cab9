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
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from ..errors import NormalignError, note
from ..files import check_new_directory, check_writable, words_of
from ..links.experts import BOTH, TWO_LOOKS
from ..links.gold import Gold, read_gold, read_marked
from ..links.pieces import LEVELS
from ..links.read_pair import ReadPair
from ..links.readings import Reading, ReadingShape
from ..links.words import STEPS
from ..options import MODEL, READS, FilePath, option, options, output, positive, written
from ..show import sources
from ..version import __version__
from .link_files import GOLD_OPTIONS, LINK_OPTIONS, GoldFormat, LinksFormat, TextFiles, format_options
from .shared import (
    BitextOptions,
    ModelOptions,
    check_sides,
    from_stdin,
    given_text,
    method_list,
    prepare_torch,
    warn_of_text,
    warn_of_unknown_pieces,
)

MOST_SENTENCES = 1_000_000
"""In one range of --sentences."""


@options
class Options(LinksFormat, GoldFormat, BitextOptions, ModelOptions):
    """Where pairs, links and gold come from, what is read of a model, and what is shown where."""

    GROUP: ClassVar = "files"
    HIDDEN: ClassVar = ("method", "layer", "head", "step", "level", "self_test")
    EXAMPLE: ClassVar = "normalign view --source text.de --target text.en --links links --gold g.talp --html page.html"
    FIRST: ClassVar = (
        *("dump", "source", "target", "links", "gold", "path", "reverse", "sentences", "output", "html", "report"),
    )
    dump: Sequence[str] = option(
        default=(),
        help="dumps of soft alignments (fairseq-generate --normalign-dump, normalign align --dump) of one test set",
        nargs="*",
        metavar="[NAME=]DUMP",
        positional=True,
        role=READS,
    )
    path: FilePath = option(
        default="", help="a model that reads the text, in place of files", metavar="MODEL", role=MODEL, group="model"
    )
    soft_files: Sequence[str] = option(
        default=(),
        help="soft alignments of the sentences; repeatable",
        flags=["--soft-file"],
        repeat=True,
        metavar="[NAME=]FILE",
        role=READS,
    )
    links: Sequence[str] = option(
        default=(), help="links of any aligner; repeatable", repeat=True, metavar="[NAME=]FILE", role=READS
    )
    gold: str | None = option(
        default=None, help="gold alignments: shows what is right, wrong and missed", metavar="FILE", role=READS
    )
    check_file: str | None = option(
        default=None,
        flags=["--checked"],
        help="what 'normalign check --json --by-word' wrote of the pairs: marks words without a source or a target; "
        "alone, its pairs are shown",
        metavar="FILE",
        role=READS,
    )
    worst: Any = option(
        default=None, help="of --checked: only the N pairs with the lowest scores", parse=positive, metavar="N"
    )
    heads: bool = option(default=False, help="read every head as well", group="model")
    source_text: Any = option(
        default=None, help="the source sentence of one pair, for --path", metavar="TEXT", group="text"
    )
    target_text: Any = option(default=None, help="the target sentence", metavar="TEXT", group="text")
    sentences: str | None = option(default=None, help="which sentences, counted from 1: 3 or 1,4-7", metavar="LIST")
    methods: str | None = option(
        default=None,
        help="methods side by side, by name (all there are)",
        flags=["--method"],
        metavar="M[,M]",
        group="what is shown",
    )
    layers: str | None = option(
        default=None,
        help="decoder layers from 1, or 'all' (a third of the way up)",
        flags=["--layer"],
        metavar="N[,N]",
        group="what is shown",
    )
    one_head: int | None = option(
        default=None, help="this head alone, from 1", flags=["--head"], parse=int, metavar="N", group="what is shown"
    )
    one_step: str | None = option(
        default=None,
        help="where a word is output or input (awi)",
        flags=["--step"],
        choices=STEPS,
        group="what is shown",
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
    no_reference: bool = option(default=False, help="no panel of the gold alone in figures", group="what is shown")
    html: Any = written("write the page", metavar="PAGE")
    report: Any = written("write a report into a folder that does not exist yet", metavar="FOLDER")
    title: str = option(default="Word alignments", help="title of the page and of the report", group="writing")
    colour: str = option(
        default="auto", help="colour in the terminal", choices=("auto", "always", "never"), group="what is shown"
    )
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
        """A page and a report have every layer of a model to choose from."""
        return self.html is not None or self.report is not None

    @property
    def wants_looks(self) -> bool:
        """Whether the looks of a model, their product and the agreement of two directions are shown."""
        asked = self.readings or self.choice or self.reverse is not None
        single = self.methods or self.layers or self.one_head or self.one_step
        return bool(self.path and (asked or not single))


def run(args: Options) -> None:
    wanted = _check(args)
    pairs = _pairs(args, wanted)
    first = next(pairs, None)
    if first is None:
        raise NormalignError("there is no sentence to show")
    if not first.readings:
        raise NormalignError("no alignment to show: give --links or --soft-file with the sentences")
    choices = _choices(args, {name: reading.shape for name, reading in first.readings.items()})
    chosen = wanted is not None or args.worst is not None
    if chosen or args.every_layer:
        pairs = itertools.chain([first], pairs)
    else:  # figures and grids are for sentences that were chosen
        if next(pairs, None) is not None:
            print("normalign view: the first sentence only; --sentences 1,4-7 chooses", file=sys.stderr)
        pairs = iter([first])

    if args.html is not None and args.output is None and args.report is None:
        _page(args, pairs, choices)  # the only output that needs no more memory for more sentences
    elif args.every_layer or args.output is not None:
        kept = list(pairs)
        if args.report is not None:
            _report(args, kept)
        if args.html is not None:
            _page(args, kept, choices)
        if args.output is not None:
            _figures(args, kept if chosen else kept[:1], choices)
    else:
        _terminal(args, pairs, choices)


def _check(args: Options) -> set[int] | None:
    """Check what needs no file to be read; return the numbers of the sentences that are asked for, from 0."""
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

    if args.worst is not None:
        from ..analysis.check_lines import worst_numbers

        if args.check_file is None:
            raise NormalignError("--worst looks at the scores of a check: give --checked FILE")
        if args.sentences is not None:
            raise NormalignError("--worst and --sentences both choose sentences; give one of them")
        return worst_numbers(args.check_file, args.worst)
    if args.sentences is None:
        return None
    wanted: set[int] = set()
    for part in args.sentences.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        start, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not found or start < 1 or last < start or last - start > MOST_SENTENCES:
            raise NormalignError(
                f"--sentences {args.sentences}: '{part}' is neither a number from 1 on nor a range such as 4-7"
            )
        wanted.update(range(start - 1, last))
    return wanted


# -- what is shown ----------------------------------------------------------------------------------------------------


def _pairs(args: Options, wanted: set[int] | None) -> Iterator[ReadPair]:
    """Give the pairs that a model reads or that dumps, files or a check hold, with gold, flags and other links."""
    if (args.source is None) != (args.target is None):
        raise NormalignError("--source and --target belong together")
    in_files = bool(given_text(args)[0])
    if in_files:
        check_sides(args)
    # the texts settle base and direction of links, if they are in words, not raw or in pieces
    in_words = not args.path or bool(args.bpe_codes or args.sentencepiece_model)
    texts: TextFiles = {}
    if in_words and args.source is not None and not (args.dump or args.tokenizer or args.words):
        texts = {"source": args.source, "target": args.target}
    golds = None
    if args.gold is not None:
        golds = read_gold(args.gold, options=GOLD_OPTIONS, **format_options(args, "gold"), **texts)

    pairs: Iterable[ReadPair]
    if args.path:
        pairs = _pairs_of_model(args, golds, wanted)
    else:
        for name in ("source_text", "target_text", "reverse", "readings", "choice", "bpe_codes"):
            if getattr(args, name) not in (None, ()):
                flag = "reverse-path" if name == "reverse" else name.replace("_", "-")
                raise NormalignError(f"--{flag} is for a model: give --path")
        if args.dump:
            if args.soft_files:
                raise NormalignError("--soft-file goes with --source and --target, not with a dump")
            pairs = sources.pairs_of_dumps(sources.open_dumps(args.dump), golds=golds, wanted=wanted)
        elif in_files:
            soft = {name: sources.read_soft(path) for name, path in _named(args.soft_files)}
            split = [_splitter(args, language) for language in (args.source_lang, args.target_lang)]
            pairs = sources.pairs_of_files(*given_text(args), split=split, soft=soft, golds=golds, wanted=wanted)
        elif args.check_file is not None:
            pairs = sources.pairs_of_check(args.check_file, golds=golds, wanted=wanted)
        else:
            raise NormalignError("nothing to show: give a dump, --source and --target, --path with text, or --checked")
    if args.check_file is not None and (args.path or args.dump or in_files):
        pairs = sources.with_flags(pairs, args.check_file)
    links = {
        name: read_marked(path, options=LINK_OPTIONS, **format_options(args, "links"), **texts)
        for name, path in _named(args.links)
    }
    return sources.with_links(pairs, links)


def _named(arguments: Sequence[str]) -> list[tuple[str, Path]]:
    found = [(name or path.name, path) for name, path in sources.named_paths(arguments)]
    names = [name for name, _ in found]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise NormalignError(f"two files are called '{double}'; give each a name: NAME=FILE")
    return found


def _splitter(args: Options, language: str | None) -> Callable[[str], list[str]]:
    """Return how a line of one language becomes words."""
    from ..text.subwords import MosesTokenizer
    from ..text.words import words_at

    find = args.text().finder(language)
    if find is not None:
        return lambda line: words_at(line, find(line))
    return MosesTokenizer(language or "en", args.tokenizer) if args.tokenizer else words_of


def _pairs_of_model(args: Options, golds: Sequence[Gold] | None, wanted: set[int] | None) -> Iterator[ReadPair]:
    in_files, sentence = bool(given_text(args)[0]), (args.source_text, args.target_text)
    if args.dump or args.soft_files:
        raise NormalignError("--path reads a model; give it, or a dump, or --soft-file")
    if from_stdin(args):
        raise NormalignError("a model reads the text twice, which '-' does not allow; give files")
    if (sentence[0] is None) != (sentence[1] is None):
        raise NormalignError("--source-text and --target-text belong together")
    if sentence[0] is not None and in_files:
        raise NormalignError("give --source-text and --target-text, or --source and --target, not both")
    if sentence[0] is None and not in_files:
        raise NormalignError("a checkpoint needs sentences: --source and --target, or --source-text and --target-text")
    prepare_torch(args)
    args.check_choice()
    from ..align.aligner import load_aligner
    from ..align.sample import SAMPLE, choose_readings, sentences_of_choices
    from ..align.survey import read_looks, read_pairs
    from ..jobs import Bitext

    # every layer is read for a page or a report; for pictures of two looks only what is asked for
    unasked = args.methods is None and args.wants_looks and not args.every_layer
    methods = [] if unasked else method_list(args.methods or "weights,norms")
    aligner = load_aligner(args)
    texts: Iterable[tuple[str, str]] = [sentence]
    if in_files:
        sample = Bitext(*given_text(args)).first(SAMPLE)
        if args.wants_looks and args.chooses_readings():
            choices = choose_readings(aligner, sample)
            for said in sentences_of_choices(choices):
                note(f"normalign: {said}")
            aligner = aligner.reading(args.given_readings([choice.expert for choice in choices]))
        warn_of_text("normalign", aligner, sample)
        texts = sources.lines_of(*given_text(args))

    lines = ((number, *pair) for number, pair in enumerate(texts) if wanted is None or number in wanted)
    heads = args.heads or args.one_head is not None

    def say(number: int, why: str) -> None:
        note(f"normalign: sentence {number + 1} is left out: {why}")

    if args.wants_looks:
        pairs = read_looks(aligner, lines, methods, heads=heads, skipped=say)
    else:
        pairs = read_pairs(aligner.forward, lines, methods, heads=heads, skipped=say)
    for read in pairs:
        yield replace(read, gold=sources.gold_at(golds, read.id, read.source, read.target))
    warn_of_unknown_pieces("normalign", aligner)


def _choices(args: Options, shapes: dict[str, ReadingShape]) -> list[Reading]:
    """What ``--method``, ``--layer``, ``--head`` and ``--step`` ask for, side by side; without them the looks."""
    methods = list(shapes) if args.methods is None else [name.strip() for name in args.methods.split(",")]
    unknown = next((name for name in methods if name not in shapes), None)
    if unknown is not None:
        raise NormalignError(f"no method '{unknown}' here; there are {', '.join(shapes)}")
    if args.wants_looks:
        methods = [name for name in shapes if shapes[name].kind != "steps" or (name in methods and args.methods)]
    found = []
    for name in methods:
        shape = shapes[name]
        layers = list(range(shape.layers))
        if shape.layers > 1 and args.layers is None:
            layers = [max(1, round(shape.layers / 3)) - 1]  # a third of the way up
        elif shape.layers > 1 and args.layers is not None and args.layers != "all":
            layers = []
            for part in args.layers.split(","):
                if not re.fullmatch(r"\s*\d{1,6}\s*", part) or not 1 <= int(part) <= shape.layers:
                    raise NormalignError(
                        f"--layer {args.layers}: '{part}' is neither 'all' nor a layer from 1 to {shape.layers}"
                    )
                layers.append(int(part) - 1)
        head = args.one_head - 1 if args.one_head is not None and shape.kind == "steps" else None
        step = args.one_step or "awi"
        found += [Reading(name, layer, head, step if step in shape.steps else shape.steps[0]) for layer in layers]
    return found


# -- where it is shown ------------------------------------------------------------------------------------------------


def _page(args: Options, pairs: Iterable[ReadPair], choices: Sequence[Reading]) -> None:
    from ..show.page import write_page

    asked = args.methods or args.layers or args.one_head or args.one_step
    start, beside = (choices[0], choices[1] if len(choices) > 1 else None) if asked and choices else (None, None)
    if not asked and len(choices) > 1:
        beside = choices[0]
    sentences, size = write_page(args.html, pairs, title=args.title, start=start, beside=beside)
    note(f"{args.html}: {sentences} sentences, {size / 1e6:.1f} MB")


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
    from ..analysis.comparison import Sampling, choose_examples, compare_pairs
    from ..analysis.decisions import best_reading
    from ..show.report import write_report

    if args.gold is None:
        if not any(pair.flags for pair in pairs):
            raise NormalignError(f"{args.check_file}: none of these pairs was checked")
        signature = f"pairs:{len(pairs)}|normalign:{__version__}"
        write_report(args.report, pairs, title=args.title, signature=signature)
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
    readings = [best_reading(pairs, name) for name in (baseline, method) if name is not None]
    examples = choose_examples(pairs, readings[-1], readings[0] if len(readings) > 1 else None, each=args.each)
    write_report(
        args.report,
        pairs,
        found,
        examples,
        readings,
        title=args.title,
        signature=signature,
        all_sentences=args.all_sentences,
    )
    note(f"{args.report}/index.html: {len(pairs)} sentences, {len(examples)} examples")


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

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
from ..files import words_of
from ..jobs import Window
from ..links.experts import BOTH, TWO_LOOKS
from ..links.gold import Gold, read_gold, read_marked
from ..links.pieces import LEVELS
from ..links.read_pair import ReadPair
from ..links.readings import Reading, ReadingShape
from ..links.words import STEPS
from ..options import MODEL, READS, FilePath, option, optional, options, switch, written
from ..show import sources
from ..show.report import REPORT
from ..version import __version__
from .bitext import (
    BitextOptions,
    ModelOptions,
    method_list,
    prepare_torch,
    settled_readings,
    warn_of_unknown_pieces,
)
from .link_files import TextFiles, alignment_files, drawing, reading_of

OF_MODELS = ("reverse", "readings", "choice", "bpe_codes")
"""Some options that say how a model reads, and that files have no use for."""
MOST_SENTENCES = 1_000_000
"""In one range of --sentences."""


@options
@alignment_files("gold", group="gold")
@alignment_files("links", group="links")
class Options(BitextOptions, ModelOptions):
    """Where pairs, links and gold come from, what is shown of them, and where."""

    GROUP: ClassVar = "files"
    HIDDEN: ClassVar[tuple[str, ...]] = ("method", "layer", "head", "step", "level", "self_test")
    EXAMPLE: ClassVar = "normalign view --source text.de --target text.en --links links --gold g.talp --html page.html"
    FIRST: ClassVar = "dump source target links gold path reverse sentences output html report".split()
    dump: Sequence[str] = option(
        "dumps of soft alignments (fairseq-generate --normalign-dump, normalign align --dump) of one test set",
        default=(),
        nargs="*",
        metavar="[NAME=]DUMP",
        positional=True,
        role=READS,
    )
    path: FilePath = option(
        "a model that reads the text, in place of files",
        default="",
        role=MODEL,
        group="model",
        excludes=("dump", "soft_files"),
    )
    soft_files: Sequence[str] = option(
        "soft alignments of the sentences; repeatable",
        default=(),
        flags=["--soft-file"],
        repeat=True,
        metavar="[NAME=]FILE",
        role=READS,
        excludes=("dump",),
    )
    links: Sequence[str] = option(
        "links of any aligner; repeatable", default=(), repeat=True, metavar="[NAME=]FILE", role=READS
    )
    gold: str | None = optional("gold alignments: shows what is right, wrong and missed", role=READS)
    check_file: str | None = optional(
        "what 'normalign check --json --by-word' wrote of the pairs: marks words without a source or a target; "
        "alone, its pairs are shown",
        flags=["--checked"],
        role=READS,
    )
    worst: int | None = optional(
        "of --checked: only the N pairs with the lowest scores",
        least=1,
        needs=("check_file",),
        excludes=("sentences",),
    )
    heads: bool = switch("read every head as well", group="model")
    source_text: Any = optional(
        "the source sentence of one pair, for --path",
        metavar="TEXT",
        group="text",
        needs=("target_text", "path"),
        excludes=("source", "bitext"),
    )
    target_text: Any = optional("the target sentence", metavar="TEXT", group="text", needs=("source_text",))
    sentences: str | None = optional("which sentences, counted from 1: 3 or 1,4-7", metavar="LIST")
    methods: str | None = optional(
        "methods side by side, by name (all there are)", flags=["--method"], metavar="M[,M]", group="what is shown"
    )
    layers: str | None = optional(
        "decoder layers from 1, or 'all' (a third of the way up)",
        flags=["--layer"],
        metavar="N[,N]",
        group="what is shown",
    )
    one_head: int | None = optional("this head alone, from 1", flags=["--head"], least=1, group="what is shown")
    one_step: str | None = optional(
        "where a word is output or input (awi)", flags=["--step"], choices=STEPS, group="what is shown"
    )
    shown_level: str = option(
        "what rows and columns are", default="word", flags=["--level"], choices=LEVELS, group="what is shown"
    )
    threshold: float | None = optional(
        "link every share of a row above X, 0 to 1 (default: argmax)", least=0, most=1, group="what is shown"
    )
    output: Any = drawing("write figures", flags=["-o", "--output"], metavar="FIGURE")
    no_reference: bool = switch("no panel of the gold alone in figures", group="what is shown")
    html: Any = written("write the page", metavar="PAGE", stream=True)
    report: Any = written("write a report into a folder that does not exist yet", metavar="FOLDER", folder=REPORT)
    title: str = option("title of the page and of the report", default="Word alignments", group="writing")
    colour: str = option(
        "colour in the terminal", default="auto", choices=("auto", "always", "never"), group="what is shown"
    )
    examples_of: str | None = optional(
        "whose examples are chosen (norms, or the last method)", metavar="M", group="report"
    )
    baseline: str | None = optional(
        "what its improvement is against (weights, or the first method)", metavar="M", group="report"
    )
    each: int = option("examples of each kind", default=3, least=1, group="report")
    all_sentences: bool = switch("also a page of every sentence", group="report")
    bootstrap: int = option("resamplings for intervals", default=1000, least=1, group="report")
    seed: int = option("seed of the resamplings", default=12345, least=0, group="report")

    @property
    def every_layer(self) -> bool:
        """Whether every layer of a model is read: a page and a report have all of them to choose from."""
        return self.html is not None or self.report is not None

    @property
    def has_files(self) -> bool:
        """Whether the text is given in files."""
        return bool(self.source or self.target or self.bitext)

    @property
    def one_reading(self) -> object:
        """Whether single layers, heads or steps are asked for."""
        return self.methods or self.layers or self.one_head or self.one_step

    @property
    def looks(self) -> bool:
        """Whether the looks of a model, their product and the agreement of two directions are shown."""
        asked = bool(self.readings or self.choice) or self.reverse is not None
        return bool(self.path) and (asked or not self.one_reading)


def run(args: Options) -> None:
    if args.report is not None and args.gold is None and args.check_file is None:
        raise NormalignError("a report needs gold alignments (--gold), or what a check found (--checked)")
    wanted = _wanted_sentences(args)
    pairs = pairs_of(args, wanted)
    first = next(pairs, None)
    if first is None:
        raise NormalignError("there is no sentence to show")
    if not first.readings:
        raise NormalignError("no alignment to show: give --links or --soft-file with the sentences")
    choices = choices_for(args, {name: reading.shape for name, reading in first.readings.items()})
    if wanted is None and not args.every_layer and next(pairs, None) is not None:
        note("normalign view: the first sentence only; --sentences 1,4-7 chooses")
    pairs = itertools.chain([first], pairs if wanted is not None or args.every_layer else ())
    if args.html is not None and args.output is None and args.report is None:
        _page(args, pairs, choices)  # the only output that needs no more memory for more sentences
    elif args.every_layer or args.output is not None:
        kept = list(pairs)
        if args.report is not None:
            _report(args, kept)
        if args.html is not None:
            _page(args, iter(kept), choices)
        if args.output is not None:
            _figures(args, kept if wanted is not None else kept[:1], choices)
    else:
        _terminal(args, pairs, choices)


def _wanted_sentences(args: Options) -> set[int] | None:
    """'1,4-7' -> {0, 3, 4, 5, 6}; with --worst those with the lowest scores."""
    if args.worst is not None:
        from ..analysis.check_lines import worst_numbers

        assert args.check_file is not None
        return worst_numbers(args.check_file, args.worst)
    if args.sentences is None:
        return None
    wanted: set[int] = set()
    for part in args.sentences.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not found or first < 1 or last < first or last - first > MOST_SENTENCES:
            raise NormalignError(
                f"--sentences {args.sentences}: '{part}' is neither a number from 1 on nor a range such as 4-7"
            )
        wanted.update(range(first - 1, last))
    return wanted


# -- where pairs come from --------------------------------------------------------------------------------------------


def pairs_of(args: Options, wanted: set[int] | None) -> Iterator[ReadPair]:
    """Give the pairs that a model reads or that dumps, files or a check hold, with gold, flags and other links."""
    if args.has_files:
        args.text_files()
    # the texts settle base and direction of links, if they are in words, not raw or in pieces
    in_words = not args.path or bool(args.bpe_codes or args.sentencepiece_model)
    texts: TextFiles = {}
    if in_words and args.source is not None and not (args.dump or args.tokenizer or args.words):
        texts = {"source": args.source, "target": args.target}
    golds = None if args.gold is None else read_gold(args.gold, **reading_of(args, "gold"), **texts)
    links = {name: read_marked(path, **reading_of(args, "links"), **texts) for name, path in _named(args.links)}

    pairs: Iterable[ReadPair]
    if args.path:
        pairs = _pairs_of_model(args, golds, wanted)
    else:
        for name in OF_MODELS:
            if getattr(args, name) not in (None, ()):
                raise NormalignError("only a model (--path) takes this", option=name)
        if args.dump:
            pairs = sources.pairs_of_dumps(sources.open_dumps(args.dump), golds=golds, wanted=wanted)
        elif args.has_files:
            soft = {name: sources.read_soft(path) for name, path in _named(args.soft_files)}
            split = [_splitter(args, language) for language in (args.source_lang, args.target_lang)]
            pairs = sources.pairs_of_files(*args.text_files(), split=split, soft=soft, golds=golds, wanted=wanted)
        elif args.check_file is not None:
            pairs = sources.pairs_of_check(args.check_file, golds=golds, wanted=wanted)
        else:
            raise NormalignError("nothing to show: give a dump, --source and --target, --path with text, or --checked")
    if args.check_file is not None and (args.path or args.dump or args.has_files):
        pairs = sources.with_flags(pairs, args.check_file)
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
    """Read the pairs by a model, or by those of both directions; readings are chosen by the text unless given."""
    if args.source_text is None and not args.has_files:
        raise NormalignError("a checkpoint needs sentences: --source and --target, or --source-text and --target-text")
    args.check_twice("a model reads")
    prepare_torch(args)
    args.check_choice()
    from ..align.aligner import load_aligner
    from ..align.sample import SAMPLE, look_at
    from ..align.survey import read_looks, read_pairs

    methods = method_list(args.methods or "weights,norms")
    if args.methods is None and args.looks and not args.every_layer:
        methods = []  # pictures have the looks alone
    aligner = load_aligner(args)
    pairs: Iterable[tuple[str, str]] = [(args.source_text, args.target_text)]
    if args.has_files:
        bitext = args.opened()
        pairs = bitext.pairs()
        sample = Window(0, 0, bitext.first(SAMPLE))
        found = look_at(aligner, sample, args.looks and args.chooses_readings())
        aligner = aligner.reading(settled_readings(args, "normalign", found))
    lines = ((number, *pair) for number, pair in enumerate(pairs) if wanted is None or number in wanted)

    def say(number: int, why: str) -> None:
        note(f"normalign: sentence {number + 1} is left out: {why}")

    heads = args.heads or args.one_head is not None
    with aligner.counting() as counts:
        if args.looks:
            reads = read_looks(aligner, lines, methods, heads=heads, skipped=say)
        else:
            reads = read_pairs(aligner.forward, lines, methods, heads=heads, skipped=say)
        for read in reads:
            yield replace(read, gold=sources.gold_at(golds, read.id, read.source, read.target))
    warn_of_unknown_pieces("normalign", counts)


def choices_for(args: Options, shapes: dict[str, ReadingShape]) -> list[Reading]:
    """What ``--method``, ``--layer``, ``--head`` and ``--step`` ask for, side by side; without them the looks."""
    methods = list(shapes) if args.methods is None else [name.strip() for name in args.methods.split(",")]
    unknown = next((name for name in methods if name not in shapes), None)
    if unknown is not None:
        raise NormalignError(f"no method '{unknown}' here; there are {', '.join(shapes)}")
    if args.looks:
        methods = [name for name in shapes if shapes[name].kind != "steps" or (name in methods and args.methods)]
    found = []
    for name in methods:
        shape, count = shapes[name], shapes[name].layers
        layers = range(count) if args.layers == "all" or count == 1 else [max(1, round(count / 3)) - 1]
        if count > 1 and args.layers not in (None, "all"):
            parts = args.layers.split(",")
            for part in parts:
                if not re.fullmatch(r"\s*\d{1,6}\s*", part) or not 1 <= int(part) <= count:
                    raise NormalignError(
                        f"--layer {args.layers}: '{part}' is neither 'all' nor a layer from 1 to {count}"
                    )
            layers = [int(part) - 1 for part in parts]
        head = args.one_head - 1 if args.one_head is not None and shape.kind == "steps" else None
        step = args.one_step or "awi"
        step = step if step in shape.steps else shape.steps[0]
        found += [Reading(name, layer, head, step) for layer in layers]
    return found


# -- what is made of them ---------------------------------------------------------------------------------------------


def _page(args: Options, pairs: Iterator[ReadPair], choices: Sequence[Reading]) -> None:
    from ..show.page import write_page

    start = choices[0] if args.one_reading and choices else None
    beside = choices[1 if args.one_reading else 0] if len(choices) > 1 else None
    sentences, size = write_page(args.html, pairs, title=args.title, start=start, beside=beside)
    note(f"{args.html}: {sentences} sentences, {size / 1e6:.1f} MB")


def _figures(args: Options, pairs: Sequence[ReadPair], choices: Sequence[Reading]) -> None:
    from ..show.figures import figure_format, save_figure
    from ..show.fonts import note_on_missing

    style: dict[str, Any] = {"threshold": args.threshold, "level": args.shown_level, "reference": not args.no_reference}
    path = Path(args.output)
    if figure_format(path) == "pdf" or len(pairs) == 1:
        written = {path: pairs}
    else:
        written = {path.with_name(f"{path.stem}-{pair.id + 1}{path.suffix}"): [pair] for pair in pairs}
    missing = "".join(save_figure(name, chosen, choices, **style) for name, chosen in written.items())
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

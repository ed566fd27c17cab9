"""What normalign view shows: the options for it, and the pairs and readings they stand for. Not a verb."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import NormalignError, note
from ..files import words_of
from ..links.gold import Gold, read_gold, read_marked
from ..links.read_pair import ReadPair
from ..links.readings import Reading, ReadingShape
from ..links.words import STEPS
from ..options import MODEL, READS, FilePath, option, options, positive
from ..show import sources
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

if TYPE_CHECKING:
    from ..align.aligner import Aligner


@options
class PairOptions(LinksFormat, GoldFormat, BitextOptions, ModelOptions):
    """Where pairs, links and gold come from, and what is read of a model."""

    GROUP: ClassVar = "files"
    HIDDEN: ClassVar[tuple[str, ...]] = ("method", "layer", "head", "step", "level", "self_test")
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

    @property
    def every_layer(self) -> bool:
        """Whether every layer of a model is read, and not only what decides."""
        return True


MOST_SENTENCES = 1_000_000
"""In one range of --sentences."""


def wanted_sentences(text: str | None) -> set[int] | None:
    """'1,4-7' -> {0, 3, 4, 5, 6}."""
    if text is None:
        return None
    wanted: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not found or first < 1 or last < first or last - first > MOST_SENTENCES:
            raise NormalignError(f"--sentences {text}: '{part}' is neither a number from 1 on nor a range such as 4-7")
        wanted.update(range(first - 1, last))
    return wanted


def pairs_of(args: PairOptions, wanted: set[int] | None) -> Iterator[ReadPair]:
    """Give the pairs that a model reads or that dumps, files or a check hold, with gold, flags and other links."""
    if (args.source is None) != (args.target is None):
        raise NormalignError("--source and --target belong together")
    if _has_files(args):
        check_sides(args)
    # the texts settle base and direction of links, if they are in words, not raw or in pieces
    in_words = not args.path or bool(args.bpe_codes or args.sentencepiece_model)
    texts: TextFiles = {}
    if in_words and args.source is not None and not (args.dump or args.tokenizer or args.words):
        texts = {"source": args.source, "target": args.target}
    golds = None
    if args.gold is not None:
        golds = read_gold(args.gold, options=GOLD_OPTIONS, **format_options(args, "gold"), **texts)
    if args.worst is not None:
        from ..analysis.check_lines import worst_numbers

        if args.check_file is None:
            raise NormalignError("--worst looks at the scores of a check: give --checked FILE")
        if wanted is not None:
            raise NormalignError("--worst and --sentences both choose sentences; give one of them")
        wanted = worst_numbers(args.check_file, args.worst)

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
        elif _has_files(args):
            soft = {name: sources.read_soft(path) for name, path in _named(args.soft_files)}
            split = [_splitter(args, language) for language in (args.source_lang, args.target_lang)]
            pairs = sources.pairs_of_files(*given_text(args), split=split, soft=soft, golds=golds, wanted=wanted)
        elif args.check_file is not None:
            pairs = sources.pairs_of_check(args.check_file, golds=golds, wanted=wanted)
        else:
            raise NormalignError("nothing to show: give a dump, --source and --target, --path with text, or --checked")
    if args.check_file is not None and (args.path or args.dump or _has_files(args)):
        pairs = sources.with_flags(pairs, args.check_file)
    links = {
        name: read_marked(path, options=LINK_OPTIONS, **format_options(args, "links"), **texts)
        for name, path in _named(args.links)
    }
    return sources.with_links(pairs, links)


def _has_files(args: PairOptions) -> bool:
    """Whether the text is given in files."""
    return args.source is not None or args.bitext is not None


def _named(arguments: Sequence[str]) -> list[tuple[str, Path]]:
    found = [(name or path.name, path) for name, path in sources.named_paths(arguments)]
    names = [name for name, _ in found]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise NormalignError(f"two files are called '{double}'; give each a name: NAME=FILE")
    return found


def _splitter(args: PairOptions, language: str | None) -> Callable[[str], list[str]]:
    """Return how a line of one language becomes words."""
    from ..text.subwords import MosesTokenizer
    from ..text.words import words_at

    find = args.text().finder(language)
    if find is not None:
        return lambda line: words_at(line, find(line))
    return MosesTokenizer(language or "en", args.tokenizer) if args.tokenizer else words_of


def wants_looks(args: PairOptions) -> bool:
    """Whether the looks of a model, their product and the agreement of two directions are shown."""
    if not args.path:
        return False
    asked = args.readings or args.choice or args.reverse is not None
    return bool(asked) or not (args.methods or args.layers or args.one_head or args.one_step)


def _pairs_of_model(args: PairOptions, golds: Sequence[Gold] | None, wanted: set[int] | None) -> Iterator[ReadPair]:
    if args.dump or args.soft_files:
        raise NormalignError("--path reads a model; give it, or a dump, or --soft-file")
    if from_stdin(args):
        raise NormalignError("a model reads the text twice, which '-' does not allow; give files")
    lines = _lines(args, wanted)
    prepare_torch(args)
    args.check_choice()
    from ..align.survey import read_looks, read_pairs

    methods = _methods(args)
    aligner = _aligner(args)
    heads = args.heads or args.one_head is not None

    def say(number: int, why: str) -> None:
        note(f"normalign: sentence {number + 1} is left out: {why}")

    if wants_looks(args):
        pairs = read_looks(aligner, lines, methods, heads=heads, skipped=say)
    else:
        pairs = read_pairs(aligner.forward, lines, methods, heads=heads, skipped=say)
    for read in pairs:
        yield replace(read, gold=sources.gold_at(golds, read.id, read.source, read.target))
    warn_of_unknown_pieces("normalign", aligner)


def _methods(args: PairOptions) -> list[str]:
    """The methods of which every layer is read: for pictures none, unless something of them is asked for."""
    if args.methods is None and wants_looks(args) and not args.every_layer:
        return []
    return method_list(args.methods or "weights,norms")


def _aligner(args: PairOptions) -> Aligner:
    """The model or models, with their readings chosen by the text unless they are given."""
    from ..align.aligner import load_aligner
    from ..align.sample import SAMPLE, choose_readings, sentences_of_choices
    from ..jobs import Bitext

    aligner = load_aligner(args)
    if wants_looks(args) and _has_files(args) and args.chooses_readings():
        choices = choose_readings(aligner, Bitext(*given_text(args)).first(SAMPLE))
        for said in sentences_of_choices(choices):
            note(f"normalign: {said}")
        aligner = aligner.reading(args.given_readings([choice.expert for choice in choices]))
    if _has_files(args):
        warn_of_text("normalign", aligner, Bitext(*given_text(args)).first(SAMPLE))
    return aligner


def _lines(args: PairOptions, wanted: set[int] | None) -> Iterator[tuple[int, str, str]]:
    texts = args.source_text, args.target_text
    if (texts[0] is None) != (texts[1] is None):
        raise NormalignError("--source-text and --target-text belong together")
    if texts[0] is not None and _has_files(args):
        raise NormalignError("give --source-text and --target-text, or --source and --target, not both")
    if texts[0] is None and not _has_files(args):
        raise NormalignError("a checkpoint needs sentences: --source and --target, or --source-text and --target-text")
    pairs = [texts] if texts[0] is not None else sources.lines_of(*given_text(args))
    return ((n, *pair) for n, pair in enumerate(pairs) if wanted is None or n in wanted)


def choices_for(args: PairOptions, shapes: dict[str, ReadingShape]) -> list[Reading]:
    """What ``--method``, ``--layer``, ``--head`` and ``--step`` ask for, side by side; without them the looks."""
    methods = list(shapes) if args.methods is None else [name.strip() for name in args.methods.split(",")]
    unknown = next((name for name in methods if name not in shapes), None)
    if unknown is not None:
        raise NormalignError(f"no method '{unknown}' here; there are {', '.join(shapes)}")
    if wants_looks(args):
        methods = [name for name in shapes if shapes[name].kind != "steps" or (name in methods and args.methods)]
    step = args.one_step or "awi"

    def layers(count: int) -> list[int]:
        """'2', '1,3' or 'all' -> 0-based layers; without --layer a third of the way up."""
        if count == 1 or args.layers in (None, "all"):
            return list(range(count)) if args.layers == "all" or count == 1 else [max(1, round(count / 3)) - 1]
        for part in args.layers.split(","):
            if not re.fullmatch(r"\s*\d{1,6}\s*", part) or not 1 <= int(part) <= count:
                raise NormalignError(f"--layer {args.layers}: '{part}' is neither 'all' nor a layer from 1 to {count}")
        return [int(part) - 1 for part in args.layers.split(",")]

    return [
        Reading(
            name,
            layer,
            args.one_head - 1 if args.one_head is not None and shapes[name].kind == "steps" else None,
            step if step in shapes[name].steps else shapes[name].steps[0],
        )
        for name in methods
        for layer in layers(shapes[name].layers)
    ]

"""The arguments that view and report share, and the pairs they stand for. Not a verb."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import NormalignError, note
from ..files import words_of
from ..links.gold import Gold, read_gold, read_marked
from ..links.read_pair import ReadPair
from ..links.readings import Reading, ReadingShape
from ..show import sources
from .model_arguments import (
    SYMMETRIZATION,
    add_model_arguments,
    add_null_arguments,
    add_reverse_arguments,
    add_symmetrize_argument,
    add_text_arguments,
    bitext_aligner,
    check_sides,
    from_stdin,
    given_text,
    method_list,
    positive,
    prepare_torch,
    text_options,
    warn_of_text,
    warn_of_unknown_pieces,
)
from .option_names import GOLD_OPTIONS, LINK_OPTIONS, TextFiles, add_format_arguments, format_options
from .reading_arguments import (
    add_choice_argument,
    add_expert_arguments,
    check_choice,
    chooses_readings,
    take_given_readings,
)

if TYPE_CHECKING:
    from ..align.both_directions import BitextAligner


def add_pair_arguments(parser: argparse.ArgumentParser) -> None:
    """Where pairs, links and gold come from."""
    parser.add_argument(
        "dump",
        nargs="*",
        metavar="[NAME=]DUMP",
        help="dumps of soft alignments (fairseq-generate --normalign-dump, normalign align --dump) of one test set",
    )
    files = parser.add_argument_group("files")
    for flag, what in (("--soft", "soft alignments of the sentences"), ("--links", "links of any aligner")):
        files.add_argument(flag, action="append", default=[], metavar="[NAME=]FILE", help=f"{what}; repeatable")
    files.add_argument("--gold", metavar="FILE", help="gold alignments: shows what is right, wrong and missed")
    files.add_argument(
        "--check",
        metavar="FILE",
        help="what 'normalign check --json --by-word' wrote of the pairs: marks words without a source or a target; "
        "alone, its pairs are shown",
    )
    files.add_argument(
        "--worst", type=positive, metavar="N", help="of --check: only the N pairs with the lowest scores"
    )
    for side in ("gold", "links"):
        add_format_arguments(files, side)
    model = add_model_arguments(parser, required=False)
    model.add_argument("--heads", action="store_true", help="read every head as well")
    add_symmetrize_argument(add_reverse_arguments(parser))
    reading = parser.add_argument_group("looks: what is multiplied and decided, as normalign align does it")
    add_expert_arguments(reading)
    add_choice_argument(reading)
    add_null_arguments(reading)
    text = add_text_arguments(parser)
    text.add_argument("--source-text", metavar="TEXT", help="the source sentence of one pair, for --path")
    text.add_argument("--target-text", metavar="TEXT")
    parser.add_argument("--sentences", metavar="LIST", help="which sentences, counted from 1: 3 or 1,4-7")


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


def pairs_of(args: argparse.Namespace, wanted: set[int] | None) -> Iterator[ReadPair]:
    """The pairs that dumps or files hold, with gold and other aligners' links."""
    if (args.source is None) != (args.target is None):
        raise NormalignError("--source and --target belong together")
    if _has_files(args):
        check_sides(args)
    golds = read_golds(args)
    if args.worst is not None:
        wanted = _worst(args, wanted)
    if args.path is not None:
        pairs: Iterable[ReadPair] = _pairs_of_model(args, golds, wanted)
    elif args.dump:
        _check_no_model(args)
        if args.soft:
            raise NormalignError("--soft goes with --source and --target, not with a dump")
        pairs = sources.pairs_of_dumps(sources.open_dumps(args.dump), golds=golds, wanted=wanted)
    elif _has_files(args):
        _check_no_model(args)
        soft = {name: sources.read_soft(path) for name, path in _named(args.soft)}
        split = _splitters(args)
        pairs = sources.pairs_of_files(*given_text(args), split=split, soft=soft, golds=golds, wanted=wanted)
    elif args.check is not None:
        _check_no_model(args)
        return with_other_links(args, sources.pairs_of_check(args.check, golds=golds, wanted=wanted))
    else:
        _check_no_model(args)
        raise NormalignError("nothing to show: give a dump, --source and --target, --path with text, or --check")
    if args.check is not None:
        pairs = sources.with_flags(pairs, args.check)
    return with_other_links(args, pairs)


def _worst(args: argparse.Namespace, wanted: set[int] | None) -> set[int]:
    """The pairs with the lowest scores, among those asked for."""
    from ..analysis.checked_pairs import worst_numbers

    if args.check is None:
        raise NormalignError("--worst looks at the scores of a check: give --check FILE")
    if wanted is not None:
        raise NormalignError("--worst and --sentences both choose sentences; give one of them")
    return worst_numbers(args.check, args.worst)


def _has_files(args: argparse.Namespace) -> bool:
    """Whether the text is given in files."""
    return args.source is not None or args.bitext is not None


def _check_no_model(args: argparse.Namespace) -> None:
    """Options that are for a model have no effect without one."""
    for name in ("source_text", "target_text", "reverse_path", "reverse", "readings", "choice", "bpe_codes"):
        if getattr(args, name):
            raise NormalignError(f"--{name.replace('_', '-')} is for a model: give --path")


def _splitters(args: argparse.Namespace) -> list[Callable[[str], list[str]]]:
    """How the lines of each side become words."""
    from ..text.subwords import MosesTokenizer
    from ..text.words import words_at

    def splitter(language: str | None) -> Callable[[str], list[str]]:
        find = text_options(args).finder(language)
        words: Callable[[str], list[str]] = words_of
        if find is not None:
            words = lambda line: words_at(line, find(line))  # noqa: E731
        elif args.tokenizer:
            words = MosesTokenizer(language or "en", args.tokenizer)
        return words

    return [splitter(args.source_lang), splitter(args.target_lang)]


def wants_looks(args: argparse.Namespace) -> bool:
    """Whether the looks of a model, their product and the agreement of two directions are shown."""
    if args.path is None:
        return False
    asked = args.readings or args.choice or args.reverse_path
    return bool(asked) or not (args.method or args.layer or args.head or args.step)


def _pairs_of_model(
    args: argparse.Namespace, golds: Sequence[Gold] | None, wanted: set[int] | None
) -> Iterator[ReadPair]:
    if args.dump or args.soft:
        raise NormalignError("--path reads a model; give it, or a dump, or --soft")
    if from_stdin(args):
        raise NormalignError("a model reads the text twice, which '-' does not allow; give files")
    lines = _lines(args, wanted)
    prepare_torch(args)
    check_choice(args)
    from ..align.every_reading import read_looks, read_pairs

    methods = _methods(args)
    aligner = _aligner(args)
    heads = args.heads or args.head is not None

    def say(number: int, why: str) -> None:
        note(f"normalign: sentence {number + 1} is left out: {why}")

    if wants_looks(args):
        pairs = read_looks(aligner, lines, methods, heads=heads, skipped=say)
    else:
        pairs = read_pairs(aligner.forward, lines, methods, heads=heads, skipped=say)
    for read in pairs:
        yield replace(read, gold=sources.gold_at(golds, read.id, read.source, read.target))
    warn_of_unknown_pieces("normalign", aligner)


def _methods(args: argparse.Namespace) -> list[str]:
    """The methods of which every layer is read: for pictures none, unless something of them is asked for."""
    if args.method is None and wants_looks(args) and not args.every_layer:
        return []
    return method_list(args.method or "weights,norms")


def _aligner(args: argparse.Namespace) -> BitextAligner:
    """The model or models, with their readings chosen by the text unless they are given."""
    from ..align.choose import SAMPLE, choose_readings, sentence_of_choice
    from ..align.doubts import SAMPLE as TEXT_SAMPLE
    from ..align.options import AlignmentOptions
    from ..jobs import Bitext
    from ..text.tags import TAGS

    options = AlignmentOptions(
        readings=None if args.readings in ("auto", "default") else args.readings,
        decision=args.decide,
        floor=args.floor,
        null=args.null,
        tags=args.tags or TAGS,
    )
    aligner = bitext_aligner(args, options, combine=args.symmetrize or SYMMETRIZATION)
    if wants_looks(args) and _has_files(args) and chooses_readings(args, options):
        choices = choose_readings(aligner, Bitext(*given_text(args)).first(SAMPLE))
        for which, choice in zip(("", "the other direction "), choices, strict=False):
            note(f"normalign: {which}{sentence_of_choice(choice)}")
    take_given_readings(args, options, aligner)
    if _has_files(args):
        warn_of_text("normalign", aligner, Bitext(*given_text(args)).first(TEXT_SAMPLE))
    return aligner


def _lines(args: argparse.Namespace, wanted: set[int] | None) -> Iterator[tuple[int, str, str]]:
    texts = args.source_text, args.target_text
    if (texts[0] is None) != (texts[1] is None):
        raise NormalignError("--source-text and --target-text belong together")
    if texts[0] is not None and _has_files(args):
        raise NormalignError("give --source-text and --target-text, or --source and --target, not both")
    if texts[0] is None and not _has_files(args):
        raise NormalignError("a checkpoint needs sentences: --source and --target, or --source-text and --target-text")
    pairs = [texts] if texts[0] is not None else sources.lines_of(*given_text(args))
    return ((n, *pair) for n, pair in enumerate(pairs) if wanted is None or n in wanted)


def with_other_links(args: argparse.Namespace, pairs: Iterable[ReadPair]) -> Iterator[ReadPair]:
    """The pairs with what ``--links`` gives."""
    links = {
        name: read_marked(path, options=LINK_OPTIONS, **format_options(args, "links"), **_texts(args))
        for name, path in _named(args.links)
    }
    return sources.with_links(pairs, links)


def read_golds(args: argparse.Namespace) -> list[Gold] | None:
    """The gold links that ``--gold`` gives."""
    if args.gold is None:
        return None
    return read_gold(args.gold, options=GOLD_OPTIONS, **format_options(args, "gold"), **_texts(args))


def _texts(args: argparse.Namespace) -> TextFiles:
    """The texts, which settle a file's base and direction: only when they are in words, not raw or in pieces."""
    in_words = args.path is None or bool(args.bpe_codes or args.sentencepiece_model)
    if args.dump or args.source is None or args.tokenizer or args.words or not in_words:
        return {}
    return {"source": args.source, "target": args.target}


def _named(arguments: Sequence[str]) -> list[tuple[str, Path]]:
    found = [(name or path.name, path) for name, path in sources.named_paths(arguments)]
    names = [name for name, _ in found]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise NormalignError(f"two files are called '{double}'; give each a name: NAME=FILE")
    return found


def layer_list(text: str | None, layers: int) -> list[int]:
    """'2', '1,3' or 'all' -> 0-based layers; None: a third of the way up."""
    if text is None:
        return [max(1, round(layers / 3)) - 1]
    if text == "all":
        return list(range(layers))
    found = []
    for part in text.split(","):
        if not re.fullmatch(r"\s*\d{1,6}\s*", part) or not 1 <= int(part) <= layers:
            raise NormalignError(f"--layer {text}: '{part}' is neither 'all' nor a layer from 1 to {layers}")
        found.append(int(part) - 1)
    return found


def choices_for(args: argparse.Namespace, shapes: dict[str, ReadingShape]) -> list[Reading]:
    """What ``--method``, ``--layer``, ``--head`` and ``--step`` ask for, side by side; without them the looks."""
    methods = list(shapes) if args.method is None else [name.strip() for name in args.method.split(",")]
    unknown = next((name for name in methods if name not in shapes), None)
    if unknown is not None:
        raise NormalignError(f"no method '{unknown}' here; there are {', '.join(shapes)}")
    if wants_looks(args):
        methods = [name for name in shapes if shapes[name].kind != "steps" or (name in methods and args.method)]
    step = args.step or "awi"
    return [
        Reading(
            name,
            layer,
            args.head - 1 if args.head is not None and shapes[name].kind == "steps" else None,
            step if step in shapes[name].steps else shapes[name].steps[0],
        )
        for name in methods
        for layer in (layer_list(args.layer, shapes[name].layers) if shapes[name].layers > 1 else [0])
    ]

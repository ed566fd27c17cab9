"""The arguments that view and report share, and the pairs they stand for. Not a verb."""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..alignment.formats import FORMATS
from ..alignment.gold import Gold, golds_of, read_marked
from ..alignment.read_pair import ReadPair
from ..alignment.readings import Reading, ReadingShape
from ..errors import NormalignError
from ..files import read_parallel
from ..report import sources
from ..text.subwords import TOKENIZERS
from .model_arguments import add_task_arguments, load_user_dirs, task_options
from .option_names import GOLD_OPTIONS, LINK_OPTIONS


def add_pair_arguments(parser: argparse.ArgumentParser) -> None:
    """Where pairs, links and gold come from."""
    parser.add_argument(
        "dump",
        nargs="*",
        metavar="[NAME=]DUMP",
        help="dumps of soft alignments (fairseq-generate --normalign-dump, normalign align --dump) of one test set",
    )
    files = parser.add_argument_group("files")
    files.add_argument("--source", metavar="FILE", help="source sentences, one a line, words separated by spaces")
    files.add_argument("--target", metavar="FILE", help="target sentences")
    named: dict[str, Any] = {"action": "append", "default": [], "metavar": "[NAME=]FILE"}
    files.add_argument("--soft", **named, help="soft alignments of the sentences; repeatable")
    files.add_argument("--links", **named, help="links of any aligner; repeatable")
    files.add_argument("--gold", metavar="FILE", help="gold alignments: shows what is right, wrong and missed")
    for side in ("gold", "links"):
        files.add_argument(f"--{side}-format", choices=("auto", *FORMATS), default="auto", help="(auto)")
        files.add_argument(f"--{side}-base", type=int, choices=(0, 1), help="what the first word is counted as")
        files.add_argument(
            f"--reverse-{side}", action=argparse.BooleanOptionalAction, help="whether links have the target word first"
        )
    model = parser.add_argument_group("checkpoint: aligns --source and --target, or one pair, by forced decoding")
    model.add_argument("--path", metavar="CKPT", help="fairseq checkpoint; a.pt:b.pt is an ensemble")
    model.add_argument("--data", metavar="DIR", help="directory of the dictionaries (default: the checkpoint's)")
    add_task_arguments(model)
    model.add_argument("--source-text", metavar="TEXT", help="the source sentence of one pair")
    model.add_argument("--target-text", metavar="TEXT")
    for name, what in (("--bpe-codes", "subword-nmt codes"), ("--sentencepiece-model", "SentencePiece")):
        model.add_argument(name, nargs="+", default=[], metavar="FILE", help=f"{what}: of both sides, or source target")
    model.add_argument("--tokenizer", choices=TOKENIZERS, help="lines are raw text")
    model.add_argument("--lowercase", action="store_true", help="lower-case the words first")
    model.add_argument("--heads", action="store_true", help="read every head as well")
    model.add_argument("--cpu", action="store_true", help="use no GPU")
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
    golds = read_golds(args)
    if args.path is not None:
        pairs: Iterable[ReadPair] = _pairs_of_checkpoint(args, golds, wanted)
    elif args.source_text is not None or args.target_text is not None:
        raise NormalignError("--source-text and --target-text are for a checkpoint: --path")
    elif args.dump:
        if args.soft:
            raise NormalignError("--soft goes with --source and --target, not with a dump")
        pairs = sources.pairs_of_dumps(sources.open_dumps(args.dump), golds=golds, wanted=wanted)
    elif args.source is not None:
        soft = {name: sources.read_soft(path) for name, path in _named(args.soft)}
        pairs = sources.pairs_of_files(args.source, args.target, soft=soft, golds=golds, wanted=wanted)
    else:
        raise NormalignError("nothing to show: give a dump, or --source and --target, or --path with text")
    return with_other_links(args, pairs)


def _pairs_of_checkpoint(
    args: argparse.Namespace, golds: Sequence[Gold] | None, wanted: set[int] | None
) -> Iterator[ReadPair]:
    if args.dump or args.soft:
        raise NormalignError("--path reads a checkpoint; give it, or a dump, or --soft")
    lines = _lines(args, wanted)
    from ..aligning.build import make_direction
    from ..aligning.every_reading import read_pairs
    from ..aligning.options import AlignmentOptions
    from ..aligning.processes import own_device
    from ..hosts.options import ModelOptions
    from ..text.options import TextOptions

    warnings.filterwarnings("ignore", category=UserWarning, module="torch")  # on how fairseq calls it

    methods = [name.strip() for name in (args.method or "weights,norms").split(",")]
    for name in methods:
        AlignmentOptions(method=name)
    text = TextOptions(tuple(args.bpe_codes), tuple(args.sentencepiece_model), args.tokenizer, args.lowercase)
    load_user_dirs(args)
    model = ModelOptions(
        args.path,
        args.data,
        args.source_lang,
        args.target_lang,
        own_device(cpu=args.cpu),
        task_options=task_options(args),
    )
    direction = make_direction(model, text, AlignmentOptions())

    def say(number: int, why: str) -> None:
        print(f"normalign: sentence {number + 1} is left out: {why}", file=sys.stderr)

    for read in read_pairs(direction, lines, methods, heads=args.heads or args.head is not None, skipped=say):
        yield replace(read, gold=sources.gold_at(golds, read.id, read.source, read.target))


def _lines(args: argparse.Namespace, wanted: set[int] | None) -> Iterator[tuple[int, str, str]]:
    texts = args.source_text, args.target_text
    if (texts[0] is None) != (texts[1] is None):
        raise NormalignError("--source-text and --target-text belong together")
    if texts[0] is not None and args.source is not None:
        raise NormalignError("give --source-text and --target-text, or --source and --target, not both")
    if texts[0] is None and args.source is None:
        raise NormalignError("a checkpoint needs sentences: --source and --target, or --source-text and --target-text")
    pairs = [texts] if texts[0] is not None else read_parallel(args.source, args.target)
    return ((n, *pair) for n, pair in enumerate(pairs) if wanted is None or n in wanted)


def with_other_links(args: argparse.Namespace, pairs: Iterable[ReadPair]) -> Iterator[ReadPair]:
    """The pairs with what ``--links`` gives."""
    links = {
        name: read_marked(
            path,
            options=LINK_OPTIONS,
            format=args.links_format,
            base=args.links_base,
            reverse=args.reverse_links,
            **_texts(args),
        )
        for name, path in _named(args.links)
    }
    return sources.with_links(pairs, links)


def read_golds(args: argparse.Namespace) -> list[Gold] | None:
    """The gold links that ``--gold`` gives."""
    if args.gold is None:
        return None
    rows = read_marked(
        args.gold,
        options=GOLD_OPTIONS,
        format=args.gold_format,
        base=args.gold_base,
        reverse=args.reverse_gold,
        **_texts(args),
    )
    return golds_of(rows)


def _texts(args: argparse.Namespace) -> dict[str, str]:
    """The texts, which settle a file's base and direction: only when they are in words, not raw or in pieces."""
    in_words = args.path is None or (bool(args.bpe_codes or args.sentencepiece_model) and not args.tokenizer)
    if args.dump or args.source is None or not in_words:
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
    """What ``--method``, ``--layer``, ``--head`` and ``--setting`` ask for, side by side."""
    methods = list(shapes) if args.method is None else [name.strip() for name in args.method.split(",")]
    unknown = next((name for name in methods if name not in shapes), None)
    if unknown is not None:
        raise NormalignError(f"no method '{unknown}' here; there are {', '.join(shapes)}")
    return [
        Reading(
            name,
            layer,
            args.head - 1 if args.head is not None and shapes[name].kind == "steps" else None,
            args.setting if args.setting in shapes[name].settings else shapes[name].settings[0],
        )
        for name in methods
        for layer in (layer_list(args.layer, shapes[name].layers) if shapes[name].kind != "links" else [0])
    ]

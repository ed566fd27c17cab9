"""Translate lines and align every translation, with a fairseq checkpoint or a model of Hugging Face transformers.

One line per translation, in the order of the input: its words, separated by spaces. With --nbest N there are N lines
for each line of the input. --links is a file with the links of each translation, 0-based 'source-target' pairs of words
(Pharaoh). With --json the output has one JSON object per translation instead: the number of the line and the rank, both
from 1, the score (mean log-probability), the words of both sides, the links and how sure each link is.

A line that is empty, or longer than the model's positions, has empty translations; how many there were is said at the
end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, TextIO

from ..alignment.formats.writing import pharaoh
from ..errors import NormalignError
from ..files import STDIO, check_distinct, is_stdout, open_output, read_lines
from .model_arguments import (
    add_model_arguments,
    add_reverse_arguments,
    add_splitting_arguments,
    bitext_aligner,
    positive,
    prepare_torch,
)
from .reading_arguments import add_reading_arguments, alignment_options

if TYPE_CHECKING:
    from ..aligning.directions import BitextAligner
    from ..aligning.translating import TranslatedLine, Translation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    group = parser.add_argument_group("text")
    group.add_argument("--source", metavar="FILE", default=STDIO, help="lines to translate (standard input)")
    add_splitting_arguments(group)
    search = parser.add_argument_group("search")
    search.add_argument("--beam", type=positive, default=5, metavar="N", help="width of the beam (5)")
    search.add_argument("--nbest", type=positive, default=1, metavar="N", help="translations per line (1)")
    add_reading_arguments(parser)
    add_reverse_arguments(parser)
    writing = parser.add_argument_group("writing")
    writing.add_argument("-o", "--output", metavar="FILE", default=STDIO, help="the translations (standard output)")
    writing.add_argument("--links", metavar="FILE", help="the links of each translation (Pharaoh)")
    writing.add_argument("--json", action="store_true", help="write JSON lines: words, links, scores")
    writing.add_argument("--progress", action="store_true", help="show progress even where stderr is no terminal")


def run(args: argparse.Namespace) -> None:
    _check(args)
    prepare_torch(args)
    aligner = _aligner(args)
    counts: Counter[str] = Counter()
    from ..aligning.translating import translate_lines

    with contextlib.ExitStack() as stack:
        output = stack.enter_context(open_output(args.output))
        links = stack.enter_context(open_output(args.links)) if args.links else None
        bar = stack.enter_context(_progress(args))
        lines = read_lines(args.source)
        for line in translate_lines(aligner, lines, beam=args.beam, nbest=args.nbest, done=bar.update):
            counts["lines"] += 1
            counts[line.skipped or "translated"] += 1
            counts["unaligned"] += sum(one.unaligned is not None for one in line.translations)
            _write(line, args, output, links)
    _report(counts)


def _check(args: argparse.Namespace) -> None:
    check_distinct([path for path in (args.output, args.links) if path is not None])
    if args.links and is_stdout(args.links):
        raise NormalignError("only the translations (-o) can go to standard output")
    if args.layer == "auto" or args.readings == "auto":
        raise NormalignError("a layer is chosen by a bitext: find it by normalign layers, and give it here")


def _aligner(args: argparse.Namespace) -> BitextAligner:
    from ..aligning.options import layer_argument
    from ..alignment.experts import parse_expert

    aligner = bitext_aligner(args, alignment_options(args, layer_argument(args.layer)), combine="agreed-grow-diag")
    if args.reverse_readings and aligner.backward is not None:
        aligner.backward.aligner.read_with(parse_expert(args.reverse_readings, method=args.method))
    return aligner


def _write(line: TranslatedLine, args: argparse.Namespace, output: TextIO, links: TextIO | None) -> None:
    for rank in range(args.nbest):
        one = line.translations[rank] if rank < len(line.translations) else None
        if args.json:
            if one is not None:
                output.write(json.dumps(_entry(line.number, rank, one), ensure_ascii=False) + "\n")
        else:
            output.write(" ".join(one.target if one else ()) + "\n")
        if links is not None:
            links.write(pharaoh(one.links if one else ()) + "\n")


def _entry(number: int, rank: int, one: Translation) -> dict[str, Any]:
    return {
        "line": number + 1,
        "rank": rank + 1,
        "score": round(one.score, 6),
        "source": one.source,
        "target": one.target,
        "links": one.links,
        "confidence": [round(value, 4) for value in one.confidence],
    }


def _progress(args: argparse.Namespace) -> Any:
    from tqdm import tqdm

    return tqdm(unit=" lines", disable=not (args.progress or sys.stderr.isatty()), dynamic_ncols=True, smoothing=0.05)


def _report(counts: Counter[str]) -> None:
    empty, long = counts["empty"], counts["too long"]
    if empty or long:
        print(
            f"normalign translate: {empty + long} of {counts['lines']} lines have no translation: "
            f"{empty} empty, {long} longer than the model's positions",
            file=sys.stderr,
        )
    if counts["unaligned"]:
        print(f"normalign translate: {counts['unaligned']} translations could not be aligned", file=sys.stderr)

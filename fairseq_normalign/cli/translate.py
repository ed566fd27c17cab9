"""Translate lines and align every translation, with a fairseq checkpoint or a model of Hugging Face transformers.

One line per translation, in the order of the input: natural text, or with --tokens the words that links count,
separated by spaces. With --nbest N there are N lines for each line of the input. --write-links names a file for the
links of each translation, 0-based 'source-target' pairs of words (Pharaoh). With --json the output has one JSON object
per translation instead: the number of the line and the rank, both from 1, the score (mean log-probability), the text,
the words of both sides, the links and how sure each link is.

A line that is empty, or longer than the model's positions, has empty translations; their number is reported at the end.

--markup: the lines have inline tags (HTML, XML, XLIFF) and placeholders; they are translated without, and the
translations get them back where they belong. --page FILE: the same for every paragraph of a page; out comes a page.
Elements with translate="no" or class="notranslate", and code, kbd, samp and var, are not translated. Lines that cannot
be translated are copied unchanged.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, TextIO

from ..errors import NormalignError
from ..files import STDIO, check_distinct, is_stdout, open_output, read_lines, read_text
from ..links.formats import pharaoh
from ..options import TEXT, option, options, output, positive, written
from ..projection.document import read_document
from ..projection.inserting import MarkedTarget, project_markup
from ..projection.markup import Marked, parse_markup
from ..projection.spans import LinkedPair
from .shared import ModelOptions, load_unchosen, prepare_torch, progress_bar

if TYPE_CHECKING:
    from ..align.both_directions import BitextAligner
    from ..align.translating import TranslatedLine, Translation


@options
class Options(ModelOptions):
    """Everything that changes what is translated and how, and what is written."""

    GROUP: ClassVar = "text"
    HIDDEN: ClassVar = ("level", "symmetrize")
    EXAMPLE: ClassVar = "normalign translate --path de-en.pt --bpe-codes codes --source text.de --write-links links"
    FIRST: ClassVar = (
        *("path", "source", "bpe_codes", "tokenizer", "markup", "beam", "nbest", "write_links", "json", "output"),
    )
    source: str = option(default=STDIO, help="lines to translate (standard input)", metavar="FILE", role=TEXT)
    markup: bool = option(default=False, help="lines have inline tags and placeholders, which are kept")
    page: str | None = option(
        default=None, help="translate a page of HTML instead of lines, and keep its tags", metavar="FILE", role=TEXT
    )
    dita: bool = option(default=False, help="<ph> holds text, as in DITA (in XLIFF and TMX it holds code)")
    no_placeholders: bool = option(default=False, help="{0}, %s and the like are words, not tags")
    beam: int = option(default=5, help="width of the beam", parse=positive, metavar="N", group="search")
    nbest: int = option(default=1, help="translations per line", parse=positive, metavar="N", group="search")
    output: str = output("the translations (standard output)")
    write_links: str | None = written("the links of each translation (Pharaoh)")
    tokens: bool = option(
        default=False, help="write the words that links count, separated by spaces, not natural text", group="writing"
    )
    json: bool = option(default=False, help="write JSON lines: texts, words, links, scores", group="writing")


def run(args: Options) -> None:
    _check(args)
    prepare_torch(args)
    aligner = load_unchosen(args)
    counts: Counter[str] = Counter()
    if args.markup or args.page:
        _translate_marked(args, aligner, counts)
        return
    from ..align.translating import translate_lines

    with contextlib.ExitStack() as stack:
        output = stack.enter_context(open_output(args.output))
        links = stack.enter_context(open_output(args.write_links)) if args.write_links else None
        bar = stack.enter_context(progress_bar(args))
        lines = read_lines(args.source)
        for line in translate_lines(aligner, lines, beam=args.beam, nbest=args.nbest, done=bar.update):
            counts["lines"] += 1
            counts[line.skipped or "translated"] += 1
            counts["unaligned"] += sum(one.unaligned is not None for one in line.translations)
            _write(line, args, aligner, output, links)
    _report(counts)


def _check(args: Options) -> None:
    check_distinct([path for path in (args.output, args.write_links) if path is not None])
    if (args.markup or args.page) and (args.write_links or args.json or args.nbest > 1):
        raise NormalignError(
            "--markup and --page write one translation with its tags; leave --write-links, --json, --nbest out"
        )
    if args.page and args.source != STDIO:
        raise NormalignError("--page holds the text to translate; leave --source out")
    if args.write_links and is_stdout(args.write_links):
        raise NormalignError("only the translations (-o) can go to standard output")


def _translate_marked(args: Options, aligner: BitextAligner, counts: Counter[str]) -> None:
    with open_output(args.output) as output:
        if args.page:
            page = read_document(read_text(args.page))
            output.write(page.filled(list(_marked_lines(args, aligner, page.lines, counts))))
        else:
            for line in _marked_lines(args, aligner, read_lines(args.source), counts):
                print(line, file=output)
    _report(counts)
    found = ", ".join(f"{counts[what]} {what.removeprefix(TAG)}" for what in sorted(counts) if what.startswith(TAG))
    print(f"normalign translate: {counts['tags']} tags{': ' + found if found else ''}", file=sys.stderr)


TAG = "tag "
"""Opens what is counted of tags that were not simply placed."""


def _marked_lines(args: Options, aligner: BitextAligner, lines: Iterable[str], counts: Counter[str]) -> Iterator[str]:
    """Translate lines with tags; those of a page are HTML, where ``&`` is written ``&amp;``."""
    from ..align.translating import translate_lines

    entities = bool(args.page)
    originals: list[tuple[str, Marked]] = []

    def bare() -> Iterator[str]:
        for line in lines:
            try:
                marked = parse_markup(
                    line, placeholders=not args.no_placeholders, entities=entities, protect=entities, dita=args.dita
                )
            except NormalignError as error:
                raise NormalignError(f"line {len(originals) + 1}: {error}") from None
            originals.append((line, marked))
            yield marked.text

    for line in translate_lines(aligner, bare(), beam=args.beam):
        original, marked = originals[line.number]
        originals[line.number] = "", Marked("", "", [])  # a text of any length is read
        counts["lines"] += 1
        counts[line.skipped or "translated"] += 1
        counts["unaligned"] += sum(one.unaligned is not None for one in line.translations)
        if not line.translations:
            yield original
            continue
        result = _with_tags(marked, line.translations[0], aligner, entities)
        counts["tags"] += result.tags
        counts.update(f"{TAG}{note.what}" for note in result.notes)
        yield result.line


def _with_tags(marked: Marked, found: Translation, aligner: BitextAligner, entities: bool) -> MarkedTarget:
    source, (text, places) = found.lines[0], aligner.forward.host.natural(found.lines[1])
    pair = LinkedPair(
        len(source.places), len(places), found.links, dict(zip(found.links, found.confidence, strict=True))
    )
    return project_markup(marked, source.places, text, places, pair, entities=entities)


def _write(line: TranslatedLine, args: Options, aligner: BitextAligner, output: TextIO, links: TextIO | None) -> None:
    for rank in range(args.nbest):
        one = line.translations[rank] if rank < len(line.translations) else None
        text = aligner.forward.host.natural(one.lines[1])[0] if one else ""
        if args.json:
            if one is not None:
                output.write(json.dumps(_entry(line.number, rank, one, text), ensure_ascii=False) + "\n")
        else:
            output.write(" ".join(one.target if one else ()) + "\n" if args.tokens else text + "\n")
        if links is not None:
            links.write(pharaoh(one.links if one else ()) + "\n")


def _entry(number: int, rank: int, one: Translation, text: str) -> dict[str, object]:
    return {
        "line": number + 1,
        "rank": rank + 1,
        "score": round(one.score, 6),
        "text": text,
        "source": one.source,
        "target": one.target,
        "links": one.links,
        "confidence": [round(value, 4) for value in one.confidence],
    }


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

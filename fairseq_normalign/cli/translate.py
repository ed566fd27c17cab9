"""Translate lines and align every translation, with any translation Transformer.

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

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from ..errors import NormalignError, note
from ..files import STDIO, open_output, read_lines, read_text
from ..jobs import Count, Part, Window, nobody, windows_of
from ..links.formats import pharaoh
from ..options import TEXT, option, optional, options, output, switch, written
from ..projection.document import read_document
from ..projection.inserting import project_markup
from ..projection.markup import parse_markup
from ..projection.spans import LinkedPair
from .bitext import EMPTY, NO_MEMORY, TOO_LONG, WorkerOptions, opened_job

if TYPE_CHECKING:
    from ..align.aligner import Aligner
    from ..links.experts import Expert


@options
class Options(WorkerOptions):
    """Everything that changes what is translated and how, and what is written."""

    GROUP: ClassVar = "text"
    HIDDEN: ClassVar = ("level", "symmetrize")
    EXAMPLE: ClassVar = "normalign translate --path de-en.pt --bpe-codes codes --source text.de --write-links links"
    FIRST: ClassVar = "path source bpe_codes tokenizer markup beam nbest write_links json output".split()
    source: str = option("lines to translate (standard input)", default=STDIO, role=TEXT)
    markup: bool = switch(
        "lines have inline tags and placeholders, which are kept", excludes=("write_links", "json", "nbest")
    )
    page: str | None = optional(
        "translate a page of HTML instead of lines, and keep its tags",
        role=TEXT,
        excludes=("source", "write_links", "json", "nbest"),
    )
    dita: bool = switch("<ph> holds text, as in DITA (in XLIFF and TMX it holds code)")
    no_placeholders: bool = switch("{0}, %s and the like are words, not tags")
    beam: int = option("width of the beam", default=5, least=1, group="search")
    nbest: int = option("translations per line", default=1, least=1, group="search")
    output: str = output("the translations (standard output)")
    write_links: str | None = written("the links of each translation (Pharaoh)")
    tokens: bool = switch("write the words that links count, separated by spaces, not natural text", group="writing")
    json: bool = switch("write JSON lines: texts, words, links, scores", group="writing")


def run(args: Options) -> None:
    from ..align.translating import LINES

    page = read_document(read_text(args.page)) if args.page else None
    lines = ((line, "") for line in (page.lines if page else read_lines(args.source)))
    with opened_job(args, "translate") as job:
        if page is None:
            outputs = [args.output, *([args.write_links] if args.write_links else [])]
            counts = job.run(translate_window, windows_of(lines, LINES), outputs, args)
        else:
            parts = [part for _, part in job.mapped(translate_window, windows_of(lines, LINES), args)]
            counts = sum((Counter(part.counts) for part in parts), Counter())
            with open_output(args.output) as output:
                output.write(page.filled([line for part in parts for line in part.record]))
            if job.parts:
                job.parts.remove()
    empty, long, large = (counts[reason] for reason in (EMPTY, TOO_LONG, NO_MEMORY))
    if empty or long or large:
        note(
            f"normalign translate: {empty + long + large} of {counts['lines']} lines have no translation: "
            f"{empty} empty, {long} longer than the model's positions"
            + (f", {large} too large for the memory" if large else "")
        )
    if counts["unaligned"]:
        note(f"normalign translate: {counts['unaligned']} translations could not be aligned")
    if args.markup or args.page:
        found = ", ".join(f"{counts[what]} {what.removeprefix(TAG)}" for what in sorted(counts) if what.startswith(TAG))
        note(f"normalign translate: {counts['tags']} tags{': ' + found if found else ''}")


TAG = "tag "
"""Opens what is counted of tags that were not simply placed."""


def translate_window(
    aligner: Aligner, window: Window, readings: Sequence[Expert | None], args: Options, *, done: Count = nobody
) -> Part:
    """Translate the lines of a window; ``record`` has the lines of a page."""
    from ..align.translating import translate

    given = [line for line, _ in window.pairs]
    lines, marked, is_page = given, [], args.page is not None
    if args.markup or is_page:
        for number, line in enumerate(given, window.first + 1):
            try:
                found = parse_markup(
                    line, placeholders=not args.no_placeholders, entities=is_page, protect=is_page, dita=args.dita
                )
            except NormalignError as error:
                raise NormalignError(f"line {number}: {error}") from None
            marked.append(found)
        lines = [one.text for one in marked]
    aligner = aligner.reading(readings)
    results = translate(aligner, lines, beam=args.beam, nbest=args.nbest, first=window.first, done=done)
    counts: Counter[str] = Counter(lines=len(lines))
    written: list[str] = []
    links: list[str] = []
    for number, result in enumerate(results):
        counts[result if isinstance(result, str) else "translated"] += 1
        ranked = [] if isinstance(result, str) else result
        counts["unaligned"] += sum(one.skipped is not None for one in ranked)
        natural = [aligner.forward.host.natural(one.lines[1]) for one in ranked if one.lines is not None]
        if marked:
            line = given[number]
            for one, (text, places) in zip(ranked, natural, strict=True):
                known = dict(zip(one.links, one.confidence, strict=True))
                pair = LinkedPair(len(one.source_spans), len(places), one.links, known)
                made = project_markup(marked[number], one.source_spans, text, places, pair, entities=is_page)
                counts["tags"] += made.tags
                counts.update(f"{TAG}{said.what}" for said in made.notes)
                line = made.line
            written.append(line)
            continue
        missing = [""] * (args.nbest - len(ranked))
        links += [*(pharaoh(one.links) for one in ranked), *missing]
        if not args.json:
            texts = [" ".join(one.target) for one in ranked] if args.tokens else [text for text, _ in natural]
            written += [*texts, *missing]
        for rank, one in enumerate(ranked if args.json else (), start=1):
            entry = {
                "line": window.first + number + 1,
                "rank": rank,
                "score": round(one.score or 0.0, 6),
                "text": natural[rank - 1][0],
                "source": one.source,
                "target": one.target,
                "links": one.links,
                "confidence": [round(value, 4) for value in one.confidence],
            }
            written.append(json.dumps(entry, ensure_ascii=False))
    files = ["".join(f"{line}\n" for line in some) for some in (written, links)]
    return Part(files[: 1 + bool(args.write_links)], counts, record=written if is_page else None)

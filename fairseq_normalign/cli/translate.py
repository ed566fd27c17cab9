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

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

from .. import jobs
from ..errors import NormalignError
from ..files import STDIO, check_distinct, is_stdout, open_output, read_lines, read_text
from ..jobs import Count, Part, Window, nobody, windows_of
from ..links.formats import pharaoh
from ..options import TEXT, option, options, output, positive, written
from ..projection.document import read_document
from ..projection.inserting import project_markup
from ..projection.markup import Marked, parse_markup
from ..projection.spans import LinkedPair
from .bitext_job import WorkerOptions, opened_job

if TYPE_CHECKING:
    from ..align.aligner import Aligner
    from ..alignment import Alignment
    from ..links.experts import Expert


@options
class Options(WorkerOptions):
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
    from ..align.translating import LINES

    page = read_document(read_text(args.page)) if args.page else None
    lines = ((line, "") for line in (page.lines if page else read_lines(args.source)))
    outputs = [args.output, *([args.write_links] if args.write_links else [])]
    how = How(
        args.beam, args.nbest, args.tokens, args.json, bool(args.write_links), args.markup or bool(args.page),
        bool(args.page), not args.no_placeholders, args.dita,
    )  # fmt: skip
    with opened_job(args, "translate") as job:
        windows, name = windows_of(lines, LINES), job.digest(asdict(how))
        if page is None:
            counts = jobs.run(
                job.workers, translate_window, windows, outputs, job.readings, how,
                parts=job.parts, job=name, done=job.done,
            )  # fmt: skip
        else:
            done = jobs.mapped(job.workers, translate_window, windows, job.readings, how, parts=job.parts, job=name)
            parts = [part for _, part in done]
            counts = sum((Counter(part.counts) for part in parts), Counter())
            with open_output(args.output) as output:
                output.write(page.filled([line for part in parts for line in part.record]))
            if job.parts:
                job.parts.remove()
    _report(counts)
    if how.markup:
        found = ", ".join(f"{counts[what]} {what.removeprefix(TAG)}" for what in sorted(counts) if what.startswith(TAG))
        print(f"normalign translate: {counts['tags']} tags{': ' + found if found else ''}", file=sys.stderr)


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


TAG = "tag "
"""Opens what is counted of tags that were not simply placed."""


@dataclass(frozen=True)
class How:
    """How lines are translated, and what is written about them."""

    beam: int
    nbest: int
    tokens: bool
    json: bool
    links: bool
    markup: bool
    entities: bool
    """The lines are those of a page, where ``&`` is written ``&amp;``."""
    placeholders: bool
    dita: bool


def translate_window(
    aligner: Aligner, window: Window, readings: Sequence[Expert | None], how: How, *, done: Count = nobody
) -> Part:
    """Translate the lines of a window; ``record`` has the lines of a page."""
    from ..align.translating import translate

    given = [line for line, _ in window.pairs]
    lines, marked = given, [_parsed(line, number, how) for number, line in enumerate(given, window.first + 1)]
    if how.markup:
        lines = [one.text for one in marked if one is not None]
    aligner = aligner.reading(readings)
    found = translate(aligner, lines, beam=how.beam, nbest=how.nbest, first=window.first, done=done)
    counts: Counter[str] = Counter(lines=len(lines))
    written: list[str] = []
    links: list[str] = []
    for number, result in enumerate(found):
        counts[result if isinstance(result, str) else "translated"] += 1
        ranked = [] if isinstance(result, str) else result
        counts["unaligned"] += sum(one.skipped is not None for one in ranked)
        if how.markup:
            written.append(_with_tags(marked[number], ranked[0], aligner, how, counts) if ranked else given[number])
            continue
        texts = [aligner.forward.host.natural(one.lines[1])[0] for one in ranked if one.lines is not None]
        missing = [""] * (how.nbest - len(ranked))
        links += [*(pharaoh(one.links) for one in ranked), *missing]
        if how.json:
            entries = [_entry(window.first + number, rank, one, texts[rank]) for rank, one in enumerate(ranked)]
            written += [json.dumps(entry, ensure_ascii=False) for entry in entries]
        else:
            written += [*([" ".join(one.target) for one in ranked] if how.tokens else texts), *missing]
    files = ["".join(f"{line}\n" for line in some) for some in (written, links)]
    return Part(files[: 1 + how.links], counts, record=written if how.entities else None)


def _parsed(line: str, number: int, how: How) -> Marked | None:
    if not how.markup:
        return None
    entities = how.entities
    try:
        return parse_markup(line, placeholders=how.placeholders, entities=entities, protect=entities, dita=how.dita)
    except NormalignError as error:
        raise NormalignError(f"line {number}: {error}") from None


def _with_tags(marked: Marked | None, found: Alignment, aligner: Aligner, how: How, counts: Counter[str]) -> str:
    assert found.lines is not None
    assert marked is not None
    text, places = aligner.forward.host.natural(found.lines[1])
    known = dict(zip(found.links, found.confidence, strict=True))
    pair = LinkedPair(len(found.source_spans), len(places), found.links, known)
    result = project_markup(marked, found.source_spans, text, places, pair, entities=how.entities)
    counts["tags"] += result.tags
    counts.update(f"{TAG}{note.what}" for note in result.notes)
    return result.line


def _entry(number: int, rank: int, one: Alignment, text: str) -> dict[str, object]:
    return {
        "line": number + 1,
        "rank": rank + 1,
        "score": round(one.score or 0.0, 6),
        "text": text,
        "source": one.source,
        "target": one.target,
        "links": one.links,
        "confidence": [round(value, 4) for value in one.confidence],
    }


def _report(counts: Counter[str]) -> None:
    empty, long, large = counts["empty"], counts["too long"], counts["not enough memory"]
    if empty or long or large:
        print(
            f"normalign translate: {empty + long + large} of {counts['lines']} lines have no translation: "
            f"{empty} empty, {long} longer than the model's positions"
            + (f", {large} too large for the memory" if large else ""),
            file=sys.stderr,
        )
    if counts["unaligned"]:
        print(f"normalign translate: {counts['unaligned']} translations could not be aligned", file=sys.stderr)

"""Carry what is marked in the source to the target, through word alignments.

--markup       lines with inline tags (HTML, XML, XLIFF's <g>, <x/>) and placeholders ({0}, %s), and their translations
               without: out come the translations with the tags.
--labels FILE  labelled spans (JSON lines with character offsets, or CoNLL columns with BIO labels) of the source: out
               come those of the target.
--strip        the source without its markup: what has to be translated and aligned.
--evaluate     how well each file of links carries spans of words, against gold alignments.

Links count the words of the source without its markup. Words are separated by spaces, or found by --words, or made by
--tokenizer. With --path instead of --links a model aligns the lines first.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from ..errors import NormalignError
from ..files import display_name, line_without_partner, open_output, read_bitext, read_lines, words_of
from ..jobs import Count, Part, Window, mapped, nobody, windows_of
from ..links.formats import AlignmentFile, open_alignment
from ..links.gold import read_gold, read_links
from ..options import MODEL, READS, FilePath, option, options, output, written
from ..projection.inserting import project_markup
from ..projection.labels import (
    LABEL_FORMATS,
    project_labels,
    read_conll,
    read_json_labels,
    write_conll,
    write_json_labels,
)
from ..projection.markup import Marked, parse_markup
from ..projection.pairs import PairReader, Side, linked_pairs, sides_of, two_sides, without_garbage_collection
from ..projection.spans import GAPS, LONGEST, LinkedPair, score_spans
from ..text.words import WordFinder, places_of, word_finder
from .bitext_job import Job, WorkerOptions, opened_job
from .link_files import LinkedText, format_options, reading_options, word_kind

if TYPE_CHECKING:
    from ..align.aligner import Aligner
    from ..links.experts import Expert

EPILOG = """\
A pair of tags encloses the target words linked to the words in it; no word is split, nesting stays valid, each tag
comes out once, and the text is left as it is. --report names each tag or label that had no link, was cut or guessed.
"""


@options
class Options(LinkedText, WorkerOptions):
    """Everything that changes what is carried over and how, and what is written."""

    GROUP: ClassVar = "how"
    HIDDEN: ClassVar = ("level", "symmetrize")
    EXAMPLE: ClassVar = "normalign project --markup --source marked.de --target text.en --links links -o marked.en"
    FIRST: ClassVar = (
        *("markup", "labels", "strip", "evaluate", "source", "target", "links", "path", "report", "output"),
    )
    path: FilePath = option(default="", help="a model that aligns the lines, in place of --links", metavar="MODEL",
                            role=MODEL, group="model")  # fmt: skip
    words: str | None = word_kind(default=None)
    markup: bool = option(default=False, help="carry inline tags and placeholders", either="what!")
    labels: Any = option(
        default=None, help="carry the labelled spans of FILE", metavar="FILE", role=READS, either="what!"
    )
    strip: bool = option(default=False, help="write the source without markup", either="what!")
    evaluate: Any = option(
        default=None,
        help="score the projection of spans against GOLD alignments",
        metavar="GOLD",
        role=READS,
        either="what!",
    )
    links: Any = option(
        default=None,
        help="alignments; more than one only with --evaluate",
        nargs="+",
        metavar="FILE",
        role=READS,
        group="links",
    )
    link_scores: str | None = option(
        default=None,
        help="how sure each link is, as 'normalign align --scores' writes",
        metavar="FILE",
        role=READS,
        group="links",
    )
    label_format: str | None = option(default=None, help="(from the first line)", choices=LABEL_FORMATS)
    word_column: int = option(default=1, help="column of the word in CoNLL, from 1", parse=int)
    label_column: int = option(default=-1, help="column of the label; -1: the last", parse=int)
    gaps: str = option(
        default="main",
        help="words linked elsewhere within a span: keep its main part alone, close over them, or split the span "
        "(labels)",
        choices=GAPS,
    )
    no_placeholders: bool = option(default=False, help="{0}, %s and the like are words, not tags")
    entities: bool = option(default=False, help="the source has &amp; and the like, the target has not")
    dita: bool = option(default=False, help="<ph> holds text, as in DITA (in XLIFF and TMX it holds code)")
    guess: bool = option(default=False, help="a label without links takes what its neighbours leave free")
    longest: int = option(default=LONGEST, help="words of a span in --evaluate", parse=int)
    output: str = output()
    report: str | None = written("what was not simply placed, one line each, as TSV")


def run(args: Options) -> None:
    if args.strip:
        _strip(args)
    elif args.evaluate:
        _evaluate(args)
    else:
        _check(args)
        _project(args)


def _check(args: Options) -> None:
    if args.path and args.links:
        raise NormalignError("--links has the alignments, or the model of --path makes them; give one of the two")
    if not args.path and (not args.links or len(args.links) > 1):
        raise NormalignError("one file of alignments is needed: --links FILE, or a model: --path MODEL")
    if args.bitext and (args.source or args.target):
        raise NormalignError("--bitext holds both sides: leave --source and --target out")
    if not args.bitext and not args.target:
        raise NormalignError("the translations are needed: --target FILE, or --bitext FILE")
    if args.markup and not (args.bitext or args.source):
        raise NormalignError("the lines with markup are needed: --source FILE, or --bitext FILE")
    if args.markup and args.gaps == "split":
        raise NormalignError("a tag cannot be split: each comes out once; choose --gaps close or --gaps main")
    if args.report == args.output:
        raise NormalignError(f"two outputs to the same file: {args.output}")
    given = [args.source, args.target, args.bitext, *(args.links or ()), args.labels, args.link_scores]
    if given.count("-") > 1:
        raise NormalignError("standard input ('-') can be read only once")
    if args.word_column < 1 or args.label_column == 0:
        raise NormalignError("columns are counted from 1")


def _strip(args: Options) -> None:
    if not (args.source or args.bitext):
        raise NormalignError("the lines with markup are needed: --source FILE, or --bitext FILE")
    lines = (source for source, _ in read_bitext(args.bitext)) if args.bitext else read_lines(args.source)
    with open_output(args.output) as handle:
        for number, line in enumerate(lines, start=1):
            print(_parsed(args, args.source or args.bitext, number, line).text, file=handle)


def _project(args: Options) -> None:
    kind = None if args.markup else args.label_format or _label_format(args.labels)
    source_lines: Iterator[str] | None = read_lines(args.source) if args.source else None
    target_lines = read_lines(args.target) if args.target else iter(())
    if args.bitext:
        source_lines, target_lines = two_sides(args.bitext)
    names = args.labels or args.source or args.bitext, args.target or args.bitext
    counts: Counter[str] = Counter()
    with contextlib.ExitStack() as stack:
        job = stack.enter_context(opened_job(args, "project")) if args.path else None
        find_source, find_target = (_finder(args, job, side) for side in ("source", "target"))
        sides = (
            _marked_sides(args, source_lines, find_source)
            if args.markup
            else _labelled_sides(args, kind, source_lines, find_source)
        )
        targets = sides_of(target_lines, find_target)
        if job is not None:
            pairs = _aligned(job, sides, targets, names)
        else:
            file = stack.enter_context(_links(args, args.links[0]))
            stack.enter_context(without_garbage_collection())
            pairs = linked_pairs(PairReader(sides, targets, names), file, args.link_scores)
        report = stack.enter_context(open_output(args.report)) if args.report else None
        handle = stack.enter_context(open_output(args.output))
        if report:
            print("line", "what", "tag or label", "details", sep="\t", file=report)
        for number, source, target, pair in pairs:
            write = _write_markup if args.markup else _write_labels
            for what, name, details in write(args, kind, source, target, pair, handle, counts):
                counts[what] += 1
                if report:
                    print(number, what, name, details, sep="\t", file=report)
    if job is not None and job.parts:
        job.parts.remove()
    _summary(args, counts)


def _finder(args: Options, job: Job | None, side: str) -> WordFinder:
    """What finds the words of one side: --words, else the tokenizer, as align does, else spaces."""
    language = getattr(args, f"{side}_language") or getattr(args, f"{side}_lang") or "en"
    if args.words or not args.tokenizer:
        return word_finder(args.words or "spaces", language=language)
    if job is not None:
        encode = getattr(job.workers.models.forward.host, side)
        return lambda line: list(encode(line).places)
    from ..text.subwords import MosesTokenizer

    tokenize = MosesTokenizer(language, args.tokenizer)
    return lambda line: places_of(line, tokenize(line))


def _aligned(
    job: Job, sources: Iterator[Side], targets: Iterator[Side], names: tuple[str, str]
) -> Iterator[tuple[int, Side, Side, LinkedPair]]:
    """Align each pair by the model; see :func:`~fairseq_normalign.projection.pairs.linked_pairs`."""
    ahead, pairs = itertools.tee(_parallel(sources, targets, names))
    lines = (((source.text, source.words), (target.text, target.words)) for source, target in ahead)
    windows: Iterator[Window] = windows_of(lines, WINDOW)  # type: ignore[arg-type]
    number = 0
    for window, part in mapped(job.workers, links_of_window, windows, job.readings, parts=job.parts, job=job.digest()):
        for source, target in itertools.islice(pairs, len(window.pairs)):
            links, confidence = part.record[number - window.first]
            number += 1
            found = [(one, other) for one, other in links]
            known = dict(zip(found, confidence, strict=True))
            yield number, source, target, LinkedPair(len(source.words), len(target.words), found, known)
        job.done(number)


def _parallel(sources: Iterator[Side], targets: Iterator[Side], names: tuple[str, str]) -> Iterator[tuple[Side, Side]]:
    for number, (source, target) in enumerate(itertools.zip_longest(sources, targets)):
        if source is None or target is None:
            longer, shorter = names[::-1] if source is None else names
            raise line_without_partner(longer, shorter, number)
        yield source, target


def links_of_window(
    aligner: Aligner, window: Window, readings: Sequence[Expert | None], *, done: Count = nobody
) -> Part:
    """Align lines whose words are known; ``record`` has the links and their confidence for each pair."""
    encoded = aligner.encode_placed(window.pairs)  # type: ignore[arg-type]
    found = aligner.reading(readings).align(encoded, done=done)
    return Part(record=[[one.links, one.confidence] for one in found])


WINDOW = 256
"""Pairs that are aligned together."""


def _write_markup(args, kind, source: Side, target: Side, pair, handle: TextIO, counts: Counter[str]) -> Iterator:
    assert source.marked is not None
    result = project_markup(
        source.marked, source.words, target.text, target.words, pair, gaps=args.gaps, entities=args.entities
    )
    handle.write(f"{result.line}\n")
    counts["in all"] += result.tags
    for note in result.notes:
        yield note.what, note.tag, note.details


def _write_labels(args, kind, source: Side, target: Side, pair, handle: TextIO, counts: Counter[str]) -> Iterator:
    counts["in all"] += len(source.labels)
    found, notes = project_labels(pair, source.labels, gaps=args.gaps, guess=args.guess)
    if kind == "jsonl":
        write_json_labels(handle, target, found, notes)
    else:
        notes = [*notes, *write_conll(handle, target, found)]
    for note in notes:
        yield note.what, f"{note.label.name} {source.text[slice(*note.label.characters)]}", note.details


def _summary(args: Options, counts: Counter[str]) -> None:
    total = counts.pop("in all")
    what = "tags" if args.markup else "labels"
    found = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    hint = "" if args.report or not found else "; --report FILE names them"
    print(f"normalign project: {total} {what}{': ' + found if found else ''}{hint}", file=sys.stderr)


def _parsed(args: Options, path: str, number: int, line: str) -> Marked:
    try:
        return parse_markup(line, placeholders=not args.no_placeholders, entities=args.entities, dita=args.dita)
    except NormalignError as error:
        raise NormalignError.at(display_name(path), number, str(error)) from None


def _marked_sides(args: Options, lines: Iterator[str] | None, find: WordFinder) -> Iterator[Side]:
    for number, line in enumerate(lines or (), start=1):
        marked = _parsed(args, args.source or args.bitext, number, line)
        yield Side(marked.text, find(marked.text), marked=marked)


def _labelled_sides(args: Options, kind: str | None, lines: Iterator[str] | None, find: WordFinder) -> Iterator[Side]:
    if kind == "conll":
        return read_conll(args.labels, word_column=args.word_column, label_column=args.label_column)
    return read_json_labels(args.labels, lines, find)


def _label_format(path: str) -> str:
    if path == "-":
        raise NormalignError("labels from standard input need --label-format jsonl or --label-format conll")
    first = next((line for line in read_lines(path) if line.strip()), "")
    return "jsonl" if first.lstrip().startswith("{") else "conll"


def _links(args: Options, path: str) -> contextlib.AbstractContextManager[AlignmentFile]:
    options = reading_options("links", no_reverse=True)
    return open_alignment(path, options=options, **format_options(args, "links"))


def _evaluate(args: Options) -> None:
    if args.longest < 1:
        raise NormalignError(f"--longest is at least 1, not {args.longest}")
    if not (args.source and args.target and args.links):
        raise NormalignError("--evaluate needs --source, --target and --links")
    lengths = [[len(words_of(line)) for line in read_lines(path)] for path in (args.source, args.target)]
    gold = read_gold(args.evaluate, source=args.source, target=args.target)
    reading = format_options(args, "links")
    with open_output(args.output) as handle:
        print(
            "links", "spans", "exact", "P", "R", "F1", "lost", "contiguous spans", "exact", "F1", sep="\t", file=handle
        )
        for path in args.links:
            pairs = list(
                zip(gold, read_links(path, **reading, source=args.source, target=args.target), *lengths, strict=True)
            )
            score = score_spans(pairs, gaps=args.gaps, longest=args.longest)
            whole = score_spans(pairs, gaps=args.gaps, longest=args.longest, contiguous=True)
            shares = [f"{score[name]:.1f}" for name in ("exact", "P", "R", "F1")]
            rest = [score["lost"], whole["spans"], f"{whole['exact']:.1f}", f"{whole['F1']:.1f}"]
            print(path, score["spans"], *shares, *rest, sep="\t", file=handle)

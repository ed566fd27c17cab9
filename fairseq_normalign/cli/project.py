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
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import NormalignError, note
from ..files import STDIO, display_name, line_without_partner, open_output, read_lines, words_of
from ..jobs import Count, Part, Window, nobody, windows_of
from ..links.formats import open_alignment
from ..links.gold import read_gold, read_links
from ..options import MODEL, READS, FilePath, option, optional, options, output, switch, written
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
from .bitext import Job, WorkerOptions, opened_job
from .link_files import LinkedText, reading_of, word_kind

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
    FIRST: ClassVar = "markup labels strip evaluate source target links path report output".split()
    path: FilePath = option(
        "a model that aligns the lines, in place of --links",
        default="",
        role=MODEL,
        group="model",
        excludes=("links",),
    )
    words: str | None = word_kind(default=None)
    markup: bool = switch("carry inline tags and placeholders", either="what!")
    labels: Any = optional("carry the labelled spans of FILE", role=READS, either="what!")
    strip: bool = switch("write the source without markup", either="what!")
    evaluate: Any = optional(
        "score the projection of spans against GOLD alignments",
        metavar="GOLD",
        role=READS,
        either="what!",
        needs=("source", "target", "links"),
    )
    links: Any = optional("alignments; more than one only with --evaluate", nargs="+", role=READS, group="links")
    link_scores: str | None = optional(
        "how sure each link is, as 'normalign align --scores' writes", role=READS, group="links"
    )
    label_format: str | None = optional("how labels are written (as the first line shows)", choices=LABEL_FORMATS)
    word_column: int = option("column of the word in CoNLL, from 1", default=1, least=1)
    label_column: int = option("column of the label; -1: the last", default=-1)
    gaps: str = option(
        "words linked elsewhere within a span: keep its main part alone, close over them, or split the span (labels)",
        default="main",
        choices=GAPS,
    )
    no_placeholders: bool = switch("{0}, %s and the like are words, not tags")
    entities: bool = switch("the source has &amp; and the like, the target has not")
    dita: bool = switch("<ph> holds text, as in DITA (in XLIFF and TMX it holds code)")
    guess: bool = switch("a label without links takes what its neighbours leave free")
    longest: int = option("words of a span in --evaluate", default=LONGEST, least=1)
    output: str = output()
    report: str | None = written("what was not simply placed, one line each, as TSV", stream=True)


def run(args: Options) -> None:
    if (args.markup or args.strip) and not (args.bitext or args.source):
        raise NormalignError("the lines with markup are needed: --source FILE, or --bitext FILE")
    if args.evaluate:
        _evaluate(args)
        return
    sources: Iterator[str] | None = read_lines(args.source) if args.source else None
    targets = read_lines(args.target) if args.target else iter(())
    if args.bitext:
        sources, targets = two_sides(args.bitext)
    if not args.strip:
        _project(args, sources, targets)
        return
    with open_output(args.output) as handle:
        for number, line in enumerate(sources or (), start=1):
            print(_parsed(args, number, line).text, file=handle)


def _project(args: Options, source_lines: Iterator[str] | None, target_lines: Iterator[str]) -> None:
    if not args.path and (not args.links or len(args.links) > 1):
        raise NormalignError("one file of alignments is needed: --links FILE, or a model: --path MODEL")
    if not args.bitext and not args.target:
        raise NormalignError("the translations are needed: --target FILE, or --bitext FILE")
    if args.markup and args.gaps == "split":
        raise NormalignError("a tag cannot be split: each comes out once; choose --gaps close or --gaps main")
    if args.label_column == 0:
        raise NormalignError("columns are counted from 1")
    kind = args.label_format
    if args.labels and not kind:
        if args.labels == STDIO:
            raise NormalignError("labels from standard input need --label-format jsonl or --label-format conll")
        first = next((line for line in read_lines(args.labels) if line.strip()), "")
        kind = "jsonl" if first.lstrip().startswith("{") else "conll"

    counts: Counter[str] = Counter()
    with contextlib.ExitStack() as stack:
        job = stack.enter_context(opened_job(args, "project")) if args.path else None
        find_source, find_target = (_finder(args, job, side) for side in ("source", "target"))
        if args.markup:
            marked = (_parsed(args, number, line) for number, line in enumerate(source_lines or (), start=1))
            sides: Iterator[Side] = (Side(one.text, find_source(one.text), marked=one) for one in marked)
        elif kind == "conll":
            sides = read_conll(args.labels, word_column=args.word_column, label_column=args.label_column)
        else:
            sides = read_json_labels(args.labels, source_lines, find_source)
        targets = sides_of(target_lines, find_target)
        names = args.labels or args.source or args.bitext, args.target or args.bitext
        if job is not None:
            pairs = _aligned(job, sides, targets, names)
        else:
            file = stack.enter_context(open_alignment(args.links[0], **reading_of(args, "links")))
            stack.enter_context(without_garbage_collection())
            pairs = linked_pairs(PairReader(sides, targets, names), file, args.link_scores)
        report = stack.enter_context(open_output(args.report)) if args.report else None
        handle = stack.enter_context(open_output(args.output))
        if report:
            print("line", "what", "tag or label", "details", sep="\t", file=report)
        for number, source, target, pair in pairs:
            said: list[tuple[str, str, str]]
            if source.marked is not None:
                made = project_markup(
                    source.marked, source.words, target.text, target.words, pair, gaps=args.gaps, entities=args.entities
                )
                handle.write(f"{made.line}\n")
                counts["in all"] += made.tags
                said = [(one.what, one.tag, one.details) for one in made.notes]
            else:
                counts["in all"] += len(source.labels)
                found, notes = project_labels(pair, source.labels, gaps=args.gaps, guess=args.guess)
                if kind == "jsonl":
                    write_json_labels(handle, target, found, notes)
                else:
                    notes = [*notes, *write_conll(handle, target, found)]
                said = [
                    (one.what, f"{one.label.name} {source.text[slice(*one.label.characters)]}", one.details)
                    for one in notes
                ]
            counts.update(what for what, *_ in said)
            for one in said if report else ():
                print(number, *one, sep="\t", file=report)
    if job is not None and job.parts:
        job.parts.remove()
    total = counts.pop("in all")
    summary = ", ".join(f"{count} {what}" for what, count in counts.most_common())
    hint = "" if args.report or not summary else "; --report FILE names them"
    what = "tags" if args.markup else "labels"
    note(f"normalign project: {total} {what}{': ' + summary if summary else ''}{hint}")


def _parsed(args: Options, number: int, line: str) -> Marked:
    try:
        return parse_markup(line, placeholders=not args.no_placeholders, entities=args.entities, dita=args.dita)
    except NormalignError as error:
        raise NormalignError.at(display_name(args.source or args.bitext), number, str(error)) from None


def _finder(args: Options, job: Job | None, side: str) -> WordFinder:
    """What finds the words of one side: --words, else the tokenizer, as align does, else spaces."""
    language = getattr(args, f"{side}_lang") or "en"
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
    for window, part in job.mapped(links_of_window, windows):
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


def _evaluate(args: Options) -> None:
    lengths = [[len(words_of(line)) for line in read_lines(path)] for path in (args.source, args.target)]
    texts = {"source": args.source, "target": args.target}
    gold = read_gold(args.evaluate, **texts)
    with open_output(args.output) as handle:
        print(
            "links", "spans", "exact", "P", "R", "F1", "lost", "contiguous spans", "exact", "F1", sep="\t", file=handle
        )
        for path in args.links:
            pairs = list(zip(gold, read_links(path, **reading_of(args, "links"), **texts), *lengths, strict=True))
            score = score_spans(pairs, gaps=args.gaps, longest=args.longest)
            whole = score_spans(pairs, gaps=args.gaps, longest=args.longest, contiguous=True)
            shares = [f"{score[name]:.1f}" for name in ("exact", "P", "R", "F1")]
            rest = [score["lost"], whole["spans"], f"{whole['exact']:.1f}", f"{whole['F1']:.1f}"]
            print(path, score["spans"], *shares, *rest, sep="\t", file=handle)

"""List the word pairs of an aligned bitext, as tab-separated values.

Columns: source word, target word, count (links between the two), p(target|source), p(source|target), and the
log-likelihood ratio (Dunning 1993), which is large for pairs linked more often than by chance and negative for pairs
linked less often. Rows are sorted by source word, the most frequent target first.
"""

from __future__ import annotations

import math
from typing import ClassVar

from ..errors import NormalignError
from ..files import open_output, read_lines
from ..links.formats import OptionNames, open_alignment
from ..options import READS, SPEED, option, options, output
from ..projection.lexicon import HELD, Lexicon
from ..projection.pairs import PairReader, Side, linked_pairs, sides_of, two_sides
from ..text.words import word_finder, words_at
from .link_files import LinkedText, format_options, word_kind

HEADER = ("source", "target", "count", "p(target|source)", "p(source|target)", "log-likelihood ratio")


@options
class Options(LinkedText):
    """Everything that changes what is counted, and what is written."""

    GROUP: ClassVar = "which pairs"
    EXAMPLE: ClassVar = "normalign lexicon --source text.de --target text.en --links links --min-count 2 -o lexicon.tsv"
    FIRST: ClassVar = (
        *("source", "target", "bitext", "links", "words", "lowercase", "min_count", "top", "letters", "output"),
    )
    words: str = word_kind()
    links: str = option(help="alignments", metavar="FILE", role=READS, group="links")
    lowercase: bool = option(default=False, help="lower-case the words first", group="text")
    held: int = option(default=HELD, help="word pairs in memory at most", parse=int, metavar="N", role=SPEED)
    min_count: int = option(default=1, help="linked at least this often", parse=int, metavar="N")
    min_probability: float = option(default=0.0, help="in both directions", parse=float, metavar="P")
    min_association: float = option(default=float("-inf"), help="log-likelihood ratio", parse=float, metavar="X")
    top: int | None = option(default=None, help="this many targets of each source word", parse=int, metavar="N")
    letters: bool = option(default=False, help="only words that have a letter")
    output: str = output()


def run(args: Options) -> None:
    _check(args)
    lexicon = Lexicon(args.held)
    options = OptionNames("--links-format", "--links-base", "--[no-]reverse-links")
    with open_alignment(args.links, options=options, **format_options(args, "links")) as file:
        for _, source, target, pair in linked_pairs(_reader(args), file):
            sources, targets = _words(args, source), _words(args, target)
            lexicon.add(
                (sources[s], targets[t])
                for s, linked in enumerate(pair.targets)
                for t in linked
                if not args.letters or (_has_letter(sources[s]) and _has_letter(targets[t]))
            )
    wanted = {name: getattr(args, name) for name in ("min_count", "min_probability", "min_association", "top")}
    with open_output(args.output) as handle:
        print(*HEADER, sep="\t", file=handle)
        for entry in lexicon.entries(**wanted):
            shares = f"{entry.target_given_source:.6f}", f"{entry.source_given_target:.6f}"
            print(entry.source, entry.target, entry.count, *shares, f"{entry.association:.2f}", sep="\t", file=handle)


def _check(args: Options) -> None:
    if args.bitext and (args.source or args.target):
        raise NormalignError("--bitext holds both sides: leave --source and --target out")
    if not args.bitext and not (args.source and args.target):
        raise NormalignError("both texts are needed: --source FILE and --target FILE, or --bitext FILE")
    if [args.source, args.target, args.bitext, args.links].count("-") > 1:
        raise NormalignError("standard input ('-') can be read only once")
    for name in ("min_count", "top", "held"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise NormalignError(f"--{name.replace('_', '-')} is at least 1, not {value}")
    if math.isnan(args.min_association):
        raise NormalignError("--min-association is a number, not nan")
    if not 0 <= args.min_probability <= 1:
        raise NormalignError(f"--min-probability is from 0 to 1, not {args.min_probability}")


def _reader(args: Options) -> PairReader:
    finders = [
        word_finder(args.words, language=language or "en") for language in (args.source_language, args.target_language)
    ]
    lines = two_sides(args.bitext) if args.bitext else (read_lines(args.source), read_lines(args.target))
    sides = [sides_of(each, find) for each, find in zip(lines, finders, strict=True)]
    return PairReader(sides[0], sides[1], (args.source or args.bitext, args.target or args.bitext))


def _words(args: Options, side: Side) -> list[str]:
    words = words_at(side.text, side.words)
    return [word.lower() for word in words] if args.lowercase else words


def _has_letter(word: str) -> bool:
    return any(letter.isalpha() for letter in word)

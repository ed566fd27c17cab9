"""List the word pairs of an aligned bitext, as tab-separated values.

Columns: source word, target word, count (links between the two), p(target|source), p(source|target), and the
log-likelihood ratio (Dunning 1993), which is large for pairs linked more often than by chance and negative for pairs
linked less often. Rows are sorted by source word, the most frequent target first.
"""

from __future__ import annotations

from typing import ClassVar

from ..files import open_output, read_lines
from ..links.formats import open_alignment
from ..options import READS, SPEED, option, optional, options, output, switch
from ..projection.lexicon import HELD, Lexicon
from ..projection.pairs import PairReader, Side, linked_pairs, sides_of, two_sides
from ..text.words import word_finder, words_at
from .link_files import LinkedText, reading_of, word_kind

HEADER = ("source", "target", "count", "p(target|source)", "p(source|target)", "log-likelihood ratio")


@options
class Options(LinkedText):
    """Everything that changes what is counted, and what is written."""

    GROUP: ClassVar = "which pairs"
    EXAMPLE: ClassVar = "normalign lexicon --source text.de --target text.en --links links --min-count 2 -o lexicon.tsv"
    FIRST: ClassVar = "source target bitext links words lowercase min_count top letters output".split()
    words: str = word_kind()
    links: str = option("alignments", role=READS, group="links")
    lowercase: bool = switch("lower-case the words first", group="text")
    held: int = option("word pairs in memory at most", default=HELD, least=1, role=SPEED)
    min_count: int = option("linked at least this often", default=1, least=1)
    min_probability: float = option("in both directions", default=0.0, least=0, most=1, metavar="P")
    min_association: float = option("log-likelihood ratio", default=float("-inf"))
    top: int | None = optional("this many targets of each source word", least=1)
    letters: bool = switch("only words that have a letter")
    output: str = output()


def run(args: Options) -> None:
    files = args.text_files()
    languages = (args.source_lang, args.target_lang)
    finders = [word_finder(args.words, language=language or "en") for language in languages]
    lines = two_sides(args.bitext) if args.bitext else tuple(map(read_lines, (args.source, args.target)))
    sides = [sides_of(each, find) for each, find in zip(lines, finders, strict=True)]
    reader = PairReader(sides[0], sides[1], (files[0], files[1] or files[0]))

    def words(side: Side) -> list[str]:
        found = words_at(side.text, side.words)
        found = [word.lower() for word in found] if args.lowercase else found
        return [word if not args.letters or any(map(str.isalpha, word)) else "" for word in found]

    lexicon = Lexicon(args.held)
    with open_alignment(args.links, **reading_of(args, "links")) as file:
        for _, source, target, pair in linked_pairs(reader, file):
            sources, targets = words(source), words(target)
            linked = ((sources[s], targets[t]) for s, found in enumerate(pair.targets) for t in found)
            lexicon.add(both for both in linked if all(both))
    wanted = {name: getattr(args, name) for name in ("min_count", "min_probability", "min_association", "top")}
    with open_output(args.output) as handle:
        print(*HEADER, sep="\t", file=handle)
        for entry in lexicon.entries(**wanted):
            shares = f"{entry.target_given_source:.6f}", f"{entry.source_given_target:.6f}"
            print(entry.source, entry.target, entry.count, *shares, f"{entry.association:.2f}", sep="\t", file=handle)

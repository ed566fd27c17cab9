"""Measure what attention and its heads do on a text.

  dispersion   how much ||f(x)|| and ||x|| vary: mean, deviation, coefficient of variation, max, min
  singular     singular values of f in each head; needs no text
  categories   where attention goes, by alpha and by ||alpha f(x)||: special pieces, punctuation, others
  relation     rank correlation of alpha and ||f(x)|| by category, with means of each head
  frequency    rank of a piece's frequency against its alpha and ||f(x)||
  mixing       how much a position takes from others: attention alone, with the residual connection, with LayerNorm
  heads        of each head: confidence, relative position, rare words; --gold: AER; --relevance: LRP

--path is a fairseq checkpoint of a Transformer that translates or of a masked language model (roberta, masked_lm), or a
folder of the library transformers: a model that translates, BERT or RoBERTa. The text streams: memory does not grow
with it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..analysis.attention_batch import Inventory, categorize
from ..analysis.attention_tables import (
    Analysis,
    CategoryShares,
    Dispersion,
    Frequency,
    Heads,
    Mixing,
    Relation,
    SingularValues,
)
from ..errors import NormalignError, note
from ..files import open_output, read_lines, words_of
from ..options import READS, option, optional, options, output, switch
from ..show.tables import TABLE_STYLES, render_tables
from ..version import __version__
from .bitext import COMBINING, READING, REVERSE, BitextOptions, ModelOptions, prepare_torch, progress_bar
from .link_files import alignment_files, drawing, layouts, reading_of

if TYPE_CHECKING:
    from ..align.observing import Observer
    from ..jobs import TextPair

WHAT = ("dispersion", "singular", "categories", "relation", "frequency", "mixing", "heads")
KINDS = ("encoder", "decoder", "cross")


@options
@alignment_files("gold", group="gold")
class Options(BitextOptions, ModelOptions):
    """Everything that changes what is looked at and how, and what is written."""

    GROUP: ClassVar = "analyzing"
    HIDDEN: ClassVar = (*READING, *REVERSE, *COMBINING, "null", "tags")
    EXAMPLE: ClassVar = "normalign analyze heads --path de-en.pt --bpe-codes codes --source text.de --target text.en"
    FIRST: ClassVar = "what path source target bpe_codes attention limit gold figure output".split()
    what: str = option(", ".join(WHAT), choices=WHAT, metavar="WHAT", positional=True)
    attention: str | None = optional(
        "whose: the encoder's, the decoder's own, or over the encoder (cross)", choices=KINDS
    )
    limit: int | None = optional("the first N lines only", least=1)
    category: Sequence[str] = option(
        "pieces that are a category of their own, for example 'comma & period=[.,]'; repeatable",
        default=(),
        repeat=True,
        metavar="NAME=REGEX",
    )
    counts: str | None = optional(
        "frequencies of pieces: 'dictionary', 'text', or a file of lines 'piece count' (the dictionary's)",
        metavar="FROM",
        role=READS,
    )
    mask: float = option(
        "masked models: hide this share of the pieces", default=0.0, least=0, most=0.99, metavar="SHARE"
    )
    points: int = option("pairs to sample for a figure", default=2000, least=1)
    seed: int = option("seed of samples and masks", default=1)
    gold: str | None = optional("gold alignments: the AER of each head over the encoder", role=READS, group="heads")
    relevance: int | None = optional("LRP relevance on the first N pairs; slow", least=1, group="heads")
    style: str = layouts(TABLE_STYLES)
    json: bool = switch("write JSON", group="writing")
    figure: str | None = drawing("draw it")
    output: str = output()

    def windows(self) -> Iterator[list[TextPair]]:
        """Yield the lines that are asked for, a window at a time; without a target that side is empty."""
        from ..jobs import WINDOW

        one_sided = not (self.target or self.bitext)
        pairs = ((line, "") for line in read_lines(self.source)) if one_sided else self.opened().pairs()
        pairs = itertools.islice(pairs, self.limit)
        while window := list(itertools.islice(pairs, WINDOW)):
            yield window


def run(args: Options) -> None:
    if args.what != "singular" and not (args.source or args.bitext):
        raise NormalignError(
            f"{args.what} needs a text: --source, and --target where the model translates; or --bitext"
        )
    if (args.gold or args.relevance) and args.what != "heads":
        raise NormalignError(f"--gold and --relevance belong to 'heads', not to '{args.what}'")
    prepare_torch(args)
    observer = _observer(args)
    signature = [args.what, f"attention:{observer.kind}"]
    found: Analysis | SingularValues
    if args.what == "singular":
        found = SingularValues(observer.projections())
    else:
        found = _analysis(args, observer)
        signature.append(f"lines:{_look(args, observer, found)}")
        if isinstance(found, Heads):
            _score_heads(args, observer, found)
    if args.figure:
        from ..show.plots import DRAWINGS

        DRAWINGS[args.what](found).save(args.figure)
    signature += [f"seed:{args.seed}", f"normalign:{__version__}"]
    with open_output(args.output) as handle:
        style = "json" if args.json else args.style
        handle.write(render_tables(found.tables(), style, "|".join(signature), more="more in --style tsv"))


def _observer(args: Options) -> Observer:
    """Load the model: a masked language model, or one that translates."""
    from ..align.aligner import load_aligner, model_options
    from ..align.observing import PairObserver
    from ..hosts import load_masked

    masked = load_masked(model_options(args), args.text(), max_tokens=args.max_tokens)
    if masked is not None:
        if args.attention not in (None, "encoder"):
            raise NormalignError(f"--attention {args.attention}: a masked language model has the encoder's only")
        masked.hide(args.mask, args.seed)
        return masked
    if args.mask:
        raise NormalignError("--mask is for masked language models; this model translates")
    if args.what != "singular" and not (args.target or args.bitext):
        raise NormalignError("this model translates: give its --target too")
    return PairObserver(load_aligner(args).forward, args.attention or "cross")


def _analysis(args: Options, observer: Observer) -> Analysis:
    of_queries = args.what == "mixing"
    inventory = observer.queries if of_queries else observer.keys
    if args.what == "dispersion":
        return Dispersion()
    if args.what in ("heads", "frequency"):
        ranks = _ranks(args, observer, inventory, of_queries)
        if args.what == "heads":
            return Heads(observer.queries.special, observer.keys.special, ranks)
        return Frequency(ranks, points=args.points, seed=args.seed)
    patterns = {}
    for text in args.category:
        name, sign, pattern = text.partition("=")
        try:
            re.compile(pattern)
        except re.error as error:
            raise NormalignError(f"--category {text}: '{pattern}' is no regular expression ({error})") from None
        if not (name and sign and pattern):
            raise NormalignError(f"--category {text}: write it as NAME=REGEX")
        patterns[name] = pattern
    categories = categorize(inventory, patterns)
    if args.what == "categories":
        return CategoryShares(categories)
    if of_queries:
        return Mixing(categories, _ranks(args, observer, inventory, of_queries))
    return Relation(categories, points=args.points, seed=args.seed)


def _ranks(args: Options, observer: Observer, inventory: Inventory, of_queries: bool) -> np.ndarray:
    """Return the frequency rank of every piece, by the counts that were asked for."""
    known = [] if inventory.counts is None else inventory.counts.tolist()
    # equal counts, as some dictionaries are written, tell nothing
    silent = len({count for number, count in enumerate(known) if number not in inventory.special}) <= 2
    source = args.counts or ("text" if silent else "dictionary")
    if source == "dictionary":
        if silent:
            raise NormalignError("--counts dictionary: the dictionary has none; say 'text', or a file")
        return inventory.ranks()
    if source != "text":
        return inventory.ranks(_counts_in(source, inventory))
    args.check_twice("counting pieces reads")
    counts = np.zeros(len(inventory.symbols), dtype=np.int64)
    for window in args.windows():
        pieces = observer.pieces(window)[0 if of_queries else 1]
        counts += np.bincount(pieces, minlength=len(counts))
    return inventory.ranks(counts)


def _counts_in(path: str, inventory: Inventory) -> np.ndarray:
    number = {symbol: place for place, symbol in enumerate(inventory.symbols)}
    counts = np.zeros(len(inventory.symbols))
    for row, line in enumerate(read_lines(path), start=1):
        words = words_of(line)
        if len(words) < 2 or not re.fullmatch("[0-9]{1,18}", words[-1]):
            raise NormalignError.at(path, row, f"'{line}' is not a piece and its count")
        if words[0] in number:
            counts[number[words[0]]] = int(words[-1])
    return counts


def _look(args: Options, observer: Observer, analysis: Analysis) -> int:
    """Send the text by; -> how many lines were looked at."""
    seen = 0
    with progress_bar(args) as bar:
        for window in args.windows():
            for observed in observer.observed(window, mixing=analysis.needs_mixing):
                analysis.add(observed)
                seen += len(observed.keys)
                bar.update(len(observed.keys))
    for reason, count in observer.skipped.items():
        note(f"normalign analyze: {count} lines left out ({reason})")
    if not seen:
        raise NormalignError(
            f"{args.source or args.bitext}: none of its lines can be read: each is empty or too long for the model"
        )
    return seen


def _score_heads(args: Options, observer: Observer, heads: Heads) -> None:
    """AER and relevance, where they were asked for."""
    if not (args.gold or args.relevance):
        return
    from ..align.observing import PairObserver, error_of_heads, relevance_of_heads

    if not isinstance(observer, PairObserver):
        raise NormalignError("--gold and --relevance need a model that translates")
    pairs = [pair for window in args.windows() for pair in window]
    if args.relevance:
        heads.extra["relevance"] = relevance_of_heads(observer.pair_model, pairs[: args.relevance], observer.kind)
    if args.gold:
        if observer.kind != "cross":
            raise NormalignError(f"--gold: alignments come from --attention cross, not from {observer.kind}")
        from ..links.gold import read_gold

        golds = read_gold(args.gold, **reading_of(args, "gold"))
        if len(golds) < len(pairs) or (args.limit is None and len(golds) != len(pairs)):
            raise NormalignError(
                f"{args.gold}: {len(golds)} sentences, but {args.source or args.bitext} has {len(pairs)}"
            )
        for (method, step), layers in error_of_heads(
            observer.pair_model, pairs, golds[: len(pairs)], name=args.gold
        ).items():
            heads.extra[f"AER {method} {step}"] = [100 * layer for layer in layers]

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
import sys
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
from ..errors import NormalignError
from ..files import STDIO, check_writable, open_output, read_lines, words_of
from ..options import READS, option, options, output, positive, written
from ..show.figures import figure_format
from ..show.tables import TABLE_STYLES, render_tables
from ..version import __version__
from .link_files import GOLD_OPTIONS, GoldFormat, format_options
from .shared import (
    COMBINING,
    READING,
    REVERSE,
    BitextOptions,
    ModelOptions,
    check_sides,
    from_stdin,
    given_text,
    prepare_torch,
    progress_bar,
)

if TYPE_CHECKING:
    from ..align.observing import Observer
    from ..hosts.observer import OneSided
    from ..jobs import TextPair

WHAT = ("dispersion", "singular", "categories", "relation", "frequency", "mixing", "heads")
KINDS = ("encoder", "decoder", "cross")
RANKED = ("frequency", "mixing", "heads")
"""What needs to know how often pieces occur."""


@options
class Options(GoldFormat, BitextOptions, ModelOptions):
    """Everything that changes what is looked at and how, and what is written."""

    GROUP: ClassVar = "analyzing"
    HIDDEN: ClassVar = (*READING, *REVERSE, *COMBINING, "null", "tags")
    EXAMPLE: ClassVar = "normalign analyze heads --path de-en.pt --bpe-codes codes --source text.de --target text.en"
    FIRST: ClassVar = (
        *("what", "path", "source", "target", "bpe_codes", "attention", "limit", "gold", "figure", "output"),
    )
    what: str = option(help="one of those below", choices=WHAT, metavar="WHAT", positional=True)
    attention: str | None = option(
        default=None, help="whose: the encoder's, the decoder's own, or over the encoder (cross)", choices=KINDS
    )
    limit: int | None = option(default=None, help="the first N lines only", parse=positive, metavar="N")
    category: Sequence[str] = option(
        default=(),
        help="pieces that are a category of their own, for example 'comma & period=[.,]'; repeatable",
        repeat=True,
        metavar="NAME=REGEX",
    )
    counts: str | None = option(
        default=None,
        help="frequencies of pieces: 'dictionary', 'text', or a file of lines 'piece count' (the dictionary's)",
        metavar="FROM",
        role=READS,
    )
    mask: float = option(default=0.0, help="masked models: hide this share of the pieces", parse=float, metavar="SHARE")
    points: int = option(default=2000, help="pairs to sample for a figure", parse=positive, metavar="N")
    seed: int = option(default=1, help="seed of samples and masks", parse=int)
    gold: str | None = option(
        default=None,
        help="gold alignments: the AER of each head over the encoder",
        metavar="FILE",
        role=READS,
        group="heads",
    )
    relevance: int | None = option(
        default=None, help="LRP relevance on the first N pairs; slow", parse=positive, metavar="N", group="heads"
    )
    style: str = option(
        default="table",
        help="how results are laid out",
        choices=[one for one in TABLE_STYLES if one != "json"],
        group="writing",
    )
    json: bool = option(default=False, help="write JSON", group="writing")
    figure: str | None = written("draw it (.png, .svg, .pdf)")
    output: str = output()


def run(args: Options) -> None:
    _check(args)
    prepare_torch(args)
    observer = _observer(args)
    said = [args.what, f"attention:{observer.kind}"]
    found: Analysis | SingularValues
    if args.what == "singular":
        found = SingularValues(observer.projections())
    else:
        found = _analysis(args, observer)
        said.append(f"lines:{_look(args, observer, found)}")
        if isinstance(found, Heads) and (args.gold or args.relevance):
            _score_heads(args, observer, found)
    if args.figure:
        from ..show.plots import DRAWINGS

        DRAWINGS[args.what](found).save(args.figure)
    signature = "|".join([*said, f"seed:{args.seed}", f"normalign:{__version__}"])
    with open_output(args.output) as handle:
        style = "json" if args.json else args.style
        handle.write(render_tables(found.tables(), style, signature, more="more in --style tsv"))


def _check(args: Options) -> None:
    if args.what != "singular" and not (args.source or args.bitext):
        raise NormalignError(
            f"{args.what} needs a text: --source, and --target where the model translates; or --bitext"
        )
    if args.bitext:
        check_sides(args)
    if (args.gold or args.relevance) and args.what != "heads":
        raise NormalignError(f"--gold and --relevance belong to 'heads', not to '{args.what}'")
    if not 0 <= args.mask < 1:
        raise NormalignError(f"--mask {args.mask}: a share from 0 to below 1")
    for path in (args.figure, args.output):
        if path and path != STDIO:
            check_writable(path)
    if args.figure:
        figure_format(args.figure)


def _observer(args: Options) -> Observer:
    """Load a masked language model or, of any other path, a model that translates."""
    from ..align.aligner import load_aligner, model_options
    from ..align.observing import PairObserver
    from ..hosts import host_of

    options, host = model_options(args), host_of(str(args.path))
    masked: OneSided | None = None
    if host == "transformers":
        from ..hosts.transformers.transformers_lm import BertObserver, is_bert

        if is_bert(args.path):
            masked = BertObserver(args.path, device=options.device, max_tokens=args.max_tokens)
    elif host == "fairseq":
        from ..hosts.fairseq.fairseq_lm import masked_observer

        masked = masked_observer(options, args.text(), max_tokens=args.max_tokens)
    if masked is not None:
        if args.attention not in (None, "encoder"):
            raise NormalignError(f"--attention {args.attention}: a masked language model has the encoder's only")
        masked.hide(args.mask, args.seed)
        return masked
    if args.mask:
        raise NormalignError("--mask is for masked language models; this model translates")
    if args.what != "singular" and not args.bitext and args.target is None:
        raise NormalignError("this model translates: give its --target too")
    return PairObserver(load_aligner(args).forward, args.attention or "cross")


def _analysis(args: Options, observer: Observer) -> Analysis:
    if args.what == "dispersion":
        return Dispersion()
    of_queries = args.what == "mixing"
    inventory = observer.queries if of_queries else observer.keys
    ranks = inventory.ranks(_counts(args, observer, inventory, of_queries)) if args.what in RANKED else None
    if args.what == "heads":
        return Heads(observer.queries.special, observer.keys.special, ranks)
    if args.what == "frequency":
        assert ranks is not None
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
    return Mixing(categories, ranks) if of_queries else Relation(categories, points=args.points, seed=args.seed)


def _counts(args: Options, observer: Observer, inventory: Inventory, of_queries: bool) -> np.ndarray:
    """Return how often every piece occurs [V], in the dictionary, a file or the text."""
    known = inventory.counts
    if known is not None:  # some dictionaries are written with the same count for every piece, which says nothing
        text = {count for number, count in enumerate(known.tolist()) if number not in inventory.special}
        known = known if len(text) > 2 else None
    source = args.counts or ("text" if known is None else "dictionary")
    if source == "dictionary":
        if known is None:
            raise NormalignError("--counts dictionary: the dictionary has none; say 'text', or a file")
        return known
    counts = np.zeros(len(inventory.symbols), dtype=np.int64)
    if source == "text":
        if from_stdin(args):
            raise NormalignError(
                "counting the text needs to read it twice, which '-' does not allow; give --counts FILE"
            )
        for window in _windows(args):
            counts += np.bincount(observer.pieces(window)[0 if of_queries else 1], minlength=len(counts))
        return counts
    places = {symbol: place for place, symbol in enumerate(inventory.symbols)}
    for row, line in enumerate(read_lines(source), start=1):
        words = words_of(line)
        if len(words) < 2 or not re.fullmatch("[0-9]{1,18}", words[-1]):
            raise NormalignError.at(source, row, f"'{line}' is not a piece and its count")
        if words[0] in places:
            counts[places[words[0]]] = int(words[-1])
    return counts


def _windows(args: Options) -> Iterator[list[TextPair]]:
    """Give the lines that are asked for, a window at a time; without a target that side is empty."""
    from ..jobs import WINDOW, Bitext

    if not (args.target or args.bitext):
        pairs: Iterator[TextPair] = ((line, "") for line in read_lines(args.source))
    else:
        bitext = Bitext(*given_text(args))
        bitext.count()
        pairs = bitext.pairs()
    pairs = itertools.islice(pairs, args.limit)
    while window := list(itertools.islice(pairs, WINDOW)):
        yield window


def _look(args: Options, observer: Observer, analysis: Analysis) -> int:
    """Show the text to the analysis; return how many lines it saw."""
    seen = 0
    with progress_bar(args) as bar:
        for window in _windows(args):
            for observed in observer.observed(window, mixing=analysis.needs_mixing):
                analysis.add(observed)
                seen += len(observed.keys)
                bar.update(len(observed.keys))
    for reason, count in observer.skipped.items():
        print(f"normalign analyze: {count} lines left out ({reason})", file=sys.stderr)
    if not seen:
        raise NormalignError(
            f"{given_text(args)[0]}: none of its lines can be read: each is empty or too long for the model"
        )
    return seen


def _score_heads(args: Options, observer: Observer, heads: Heads) -> None:
    """Add what is asked for of each head: its AER, its relevance."""
    from ..align.observing import PairObserver, error_of_heads, relevance_of_heads

    if not isinstance(observer, PairObserver):
        raise NormalignError("--gold and --relevance need a model that translates")
    pairs = [pair for window in _windows(args) for pair in window]
    if args.relevance:
        heads.extra["relevance"] = relevance_of_heads(observer.pair_model, pairs[: args.relevance], observer.kind)
    if args.gold:
        if observer.kind != "cross":
            raise NormalignError(f"--gold: alignments come from --attention cross, not from {observer.kind}")
        from ..links.gold import read_gold

        golds = read_gold(args.gold, options=GOLD_OPTIONS, **format_options(args, "gold"))
        if len(golds) < len(pairs) or (args.limit is None and len(golds) != len(pairs)):
            raise NormalignError(f"{args.gold}: {len(golds)} sentences, but {given_text(args)[0]} has {len(pairs)}")
        errors = error_of_heads(observer.pair_model, pairs, golds[: len(pairs)], name=args.gold)
        for (method, step), layers in errors.items():
            heads.extra[f"AER {method} {step}"] = [100 * layer for layer in layers]

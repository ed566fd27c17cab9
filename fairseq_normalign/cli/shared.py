"""What the verbs that run a model share: options, how the process is prepared, and what is said about a text. Not a
verb.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..align.options import LoadOptions
from ..errors import NormalignError, note
from ..files import STDIO
from ..options import SPEED, TEXT, option, options, positive

if TYPE_CHECKING:
    from tqdm import tqdm

    from ..align.aligner import Aligner
    from ..jobs import TextPair

MOST_THREADS = 1024
READING = ("method", "readings", "layer", "head", "step", "decision", "floor", "self_test", "choice", "level")
"""Options of :class:`LoadOptions` that verbs hide which read everything, or nothing."""
REVERSE = ("reverse", "reverse_data", "reverse_bpe_codes", "reverse_sentencepiece_model")
COMBINING = ("reverse_readings", "symmetrize")


@options
class ModelOptions(LoadOptions):
    """What every verb takes that runs a model."""

    GROUP: ClassVar = "model"
    threads: int | None = option(
        default=None, help="threads of each process on CPU", parse=positive, metavar="N", role=SPEED
    )
    progress: bool = option(
        default=False, help="show progress even where stderr is no terminal", role=SPEED, group="writing"
    )


@options
class BitextOptions:
    """The bitext, as two files or as one; :func:`check_sides` checks it."""

    GROUP: ClassVar = "text"
    source: Any = option(
        default=None, help="source sentences, one per line ('-': standard input)", metavar="FILE", role=TEXT
    )
    target: Any = option(default=None, help="target sentences ('-': standard input)", metavar="FILE", role=TEXT)
    bitext: Any = option(default=None, help="both, with ' ||| ' or a tab between, instead", metavar="FILE", role=TEXT)


def check_sides(args: BitextOptions) -> None:
    """Refuse a text of which one side is missing, or that is given twice."""
    if args.bitext and (args.source or args.target):
        raise NormalignError("--bitext holds both sides: leave --source and --target out")
    if not args.bitext and not (args.source and args.target):
        raise NormalignError("the text is needed: --source FILE and --target FILE, or --bitext FILE")


def given_text(args: BitextOptions) -> tuple[str, str | None]:
    """Return the files of the text: source and target, or the one that holds both and None."""
    return (args.bitext, None) if args.bitext else (args.source or "", args.target)


def from_stdin(args: BitextOptions) -> bool:
    """Whether standard input is a side of the text, so that it can be read only once."""
    return STDIO in (args.source, args.target, args.bitext)


def prepare_torch(args: ModelOptions) -> None:
    """Make results independent of the number of threads; to be called before torch is imported."""
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
    warnings.filterwarnings("ignore", category=UserWarning, module="torch")  # on how fairseq calls it
    import torch

    from ..align.aligner import import_user_code
    from ..half_precision import prepare_cpu

    if args.threads is not None:
        if args.threads > MOST_THREADS:
            raise NormalignError(f"--threads {args.threads}: at most {MOST_THREADS}, and best the number of cores")
        torch.set_num_threads(args.threads)
    if args.precision and (args.device == "cpu" or not (args.device or torch.cuda.is_available())):
        prepare_cpu(args.precision, started=False)
    import_user_code(args)


def method_list(text: str) -> list[str]:
    """'norms,weights', or 'all' for every method there is."""
    from ..methods import METHODS, method_class

    if text == "all":
        return list(METHODS)
    names = [name for name in text.split(",") if name]
    for name in names:
        method_class(name)
    if not names:
        raise NormalignError(f"--methods names no method; choose some of {', '.join(METHODS)}, or all")
    return list(dict.fromkeys(names))


def progress_bar(args: ModelOptions, total: int | None = None, unit: str = " lines") -> tqdm:
    """Return a bar that is shown on a terminal, or where it is asked for."""
    from tqdm import tqdm

    shown = args.progress or sys.stderr.isatty()
    return tqdm(total=total, unit=unit, disable=not shown, dynamic_ncols=True, smoothing=0.05)


MANY_UNKNOWN = 0.3
"""A larger share of unknown pieces is a sign that text, codes and model do not belong together."""


def warn_of_unknown_pieces(name: str, aligner: Aligner) -> None:
    """Say so when many of the pieces that were encoded so far are unknown."""
    counts: dict[str, int] = {}
    for side, encoder in (("source", aligner.forward.host.source), ("target", aligner.forward.host.target)):
        counts |= {f"{side} pieces": encoder.seen, f"unknown {side} pieces": encoder.unknown}
    report_unknown_pieces(name, counts)


def report_unknown_pieces(name: str, counts: Mapping[str, int]) -> None:
    """Say so when many pieces are unknown: codes or a dictionary of another model make nonsense without an error."""
    for side in ("source", "target"):
        seen, unknown = counts.get(f"{side} pieces", 0), counts.get(f"unknown {side} pieces", 0)
        if unknown > MANY_UNKNOWN * seen:
            note(
                f"{name}: warning: {unknown} of {seen} {side} pieces are not in the dictionary; "
                "are text, codes and dictionary those it was trained with? "
                "(--bpe-codes or --sentencepiece-model makes pieces of words)"
            )


ADVICE = {
    "cased": "if it was trained on lower-case text, add --lowercase",
    "glued": "if the text is not tokenized, add --tokenizer moses",
    "turned": "are --source and --target, or --path and --reverse-path, the wrong way round?",
    "same way": "is --reverse-path a model of the other direction?",
}
"""What to do about each kind of doubt."""


def warn_of_text(name: str, aligner: Aligner, pairs: Sequence[TextPair]) -> None:
    """Say what in the first of these pairs does not suit the model, and what to add."""
    from ..align.sample import doubts_of_both

    for kind, doubt in doubts_of_both(aligner, pairs):
        note(f"{name}: warning: {doubt}; {ADVICE[kind]}")

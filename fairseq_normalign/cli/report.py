"""Write tables, figures and a page of examples into one folder that can be sent to a colleague.

  normalign report weights-dump norms-dump --gold G -o report
  normalign report --path CKPT --bpe-codes C --source S --target T --gold G --links eflomal=A.align -o report
  normalign report --checked scores.jsonl -o report       only what a check found; needs no gold

Open report/index.html. The examples are the best, the worst, typical ones, and those that the method improves and
worsens most against the baseline; each of both is read at its best layer and step.
"""

from __future__ import annotations

from dataclasses import MISSING
from typing import ClassVar

from ..errors import NormalignError, note
from ..files import check_new_directory
from ..links.experts import BOTH, TWO_LOOKS
from ..links.read_pair import ReadPair
from ..options import option, options, output
from ..version import __version__
from .view_arguments import PairOptions, pairs_of, wanted_sentences


@options
class Options(PairOptions):
    """Everything that changes what is reported, and where it is written."""

    GROUP: ClassVar = "report"
    HIDDEN: ClassVar[tuple[str, ...]] = (*PairOptions.HIDDEN, "layers", "one_head", "one_step")
    EXAMPLE: ClassVar = "normalign report --path de-en.pt --source t.de --target t.en --gold g.talp -o report"
    FIRST: ClassVar = (
        *("dump", "source", "target", "path", "reverse", "bpe_codes", "gold", "links", "check_file", "output"),
    )
    output: str = output("a folder that does not exist yet", default=MISSING, metavar="FOLDER")
    title: str = option(default="Word alignments", help="title of its pages")
    examples_of: str | None = option(
        default=None, help="whose examples are chosen (norms, or the last method)", metavar="M"
    )
    baseline: str | None = option(
        default=None, help="what its improvement is against (weights, or the first method)", metavar="M"
    )
    each: int = option(default=3, help="examples of each kind", parse=int, metavar="N")
    all_sentences: bool = option(default=False, help="also a page of every sentence")
    bootstrap: int = option(default=1000, help="resamplings for intervals", parse=int, metavar="N")
    seed: int = option(default=12345, help="seed of the resamplings", parse=int)


def run(args: Options) -> None:
    from dataclasses import replace

    from ..analysis.comparison import compare_pairs
    from ..analysis.error_rates import Sampling
    from ..analysis.examples import examples_of_method
    from ..show.report import REPORT, Measured, write_report

    _check(args)
    check_new_directory(args.output, REPORT)
    pairs = list(pairs_of(args, wanted_sentences(args.sentences)))
    if not pairs:
        raise NormalignError("there is no sentence to report on")
    if args.gold is None:
        _report_check(args, pairs)
        return
    method, baseline = _methods(args, list(pairs[0].readings))
    found = compare_pairs(pairs, Sampling(args.bootstrap, args.seed))
    signature = f"sentences:{len(pairs)}|null:best|merge:sum,mean|bootstrap:{args.bootstrap},seed:{args.seed}"
    found = replace(found, signature=f"{signature}|normalign:{__version__}")
    chosen = examples_of_method(pairs, method, baseline, each=args.each)
    measured = Measured(found, chosen)
    write_report(
        args.output, pairs, measured, title=args.title, signature=found.signature, all_sentences=args.all_sentences
    )
    note(f"{args.output}/index.html: {len(pairs)} sentences, {len(chosen.examples)} examples")


def _check(args: Options) -> None:
    if args.gold is None and args.check_file is None:
        raise NormalignError("a report needs gold alignments (--gold), or what a check found (--checked)")
    for name, value in (("--each", args.each), ("--bootstrap", args.bootstrap)):
        if value < 1:
            raise NormalignError(f"{name} is at least 1, not {value}")
    if args.seed < 0:
        raise NormalignError(f"--seed is at least 0, not {args.seed}")


def _report_check(args: Options, pairs: list[ReadPair]) -> None:
    from ..show.report import write_report

    if not any(pair.flags for pair in pairs):
        raise NormalignError(f"{args.check_file}: none of these pairs was checked")
    signature = f"pairs:{len(pairs)}|normalign:{__version__}"
    write_report(args.output, pairs, None, title=args.title, signature=signature)
    note(f"{args.output}/index.html: {len(pairs)} pairs, lowest scores first")


def _methods(args: Options, known: list[str]) -> tuple[str, str | None]:
    for given in (args.examples_of, args.baseline):
        if given is not None and given not in known:
            raise NormalignError(f"no method '{given}' here; there are {', '.join(known)}")
    looks = [name for name in (BOTH, TWO_LOOKS) if name in known]
    method = args.examples_of or next(name for name in (*looks, "norms", known[-1]) if name in known)
    others = [name for name in known if name != method]
    usual = ("norms", "weights") if method in looks else ("weights",)
    fallback = next((name for name in (*usual, *others) if name in others), None)
    return method, args.baseline or fallback

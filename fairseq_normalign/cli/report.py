"""Write tables, figures and a page of examples into one folder that can be sent to a colleague.

  normalign report weights-dump norms-dump --gold G -o report
  normalign report --path CKPT --bpe-codes C --source S --target T --gold G --links eflomal=A.align -o report
  normalign report --check scores.jsonl -o report       only what a check found; needs no gold

Open report/index.html. The examples are the best, the worst, typical ones, and those that the method improves and
worsens most against the baseline; each of both is read at its best layer and step.
"""

from __future__ import annotations

import argparse

from ..errors import NormalignError, note
from ..links.experts import BOTH, TWO_LOOKS
from ..links.read_pair import ReadPair
from ..new_directory import check_new_directory
from ..version import __version__
from .view_arguments import add_pair_arguments, pairs_of, wanted_sentences


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_pair_arguments(parser)
    what = parser.add_argument_group("report")
    what.add_argument("-o", "--output", required=True, metavar="FOLDER", help="a folder that does not exist yet")
    what.add_argument("--title", default="Word alignments")
    what.add_argument("--method", metavar="M[,M]", help="methods to read from a checkpoint (weights,norms)")
    what.add_argument("--examples-of", metavar="M", help="whose examples are chosen (norms, or the last method)")
    what.add_argument("--baseline", metavar="M", help="what its improvement is against (weights, or the first method)")
    what.add_argument("--each", type=int, default=3, metavar="N", help="examples of each kind (3)")
    what.add_argument("--all-sentences", action="store_true", help="also a page of every sentence")
    what.add_argument("--bootstrap", type=int, default=1000, metavar="N", help="resamplings for intervals (1000)")
    what.add_argument("--seed", type=int, default=12345, help="seed of the resamplings (12345)")
    parser.set_defaults(head=None, layer=None, step=None, every_layer=True)


def run(args: argparse.Namespace) -> None:
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


def _check(args: argparse.Namespace) -> None:
    if args.gold is None and args.check is None:
        raise NormalignError("a report needs gold alignments (--gold), or what a check found (--check)")
    for name, value in (("--each", args.each), ("--bootstrap", args.bootstrap)):
        if value < 1:
            raise NormalignError(f"{name} is at least 1, not {value}")
    if args.seed < 0:
        raise NormalignError(f"--seed is at least 0, not {args.seed}")


def _report_check(args: argparse.Namespace, pairs: list[ReadPair]) -> None:
    from ..show.report import write_report

    if not any(pair.flags for pair in pairs):
        raise NormalignError(f"{args.check}: none of these pairs was checked")
    signature = f"pairs:{len(pairs)}|normalign:{__version__}"
    write_report(args.output, pairs, None, title=args.title, signature=signature)
    note(f"{args.output}/index.html: {len(pairs)} pairs, lowest scores first")


def _methods(args: argparse.Namespace, known: list[str]) -> tuple[str, str | None]:
    for given in (args.examples_of, args.baseline):
        if given is not None and given not in known:
            raise NormalignError(f"no method '{given}' here; there are {', '.join(known)}")
    looks = [name for name in (BOTH, TWO_LOOKS) if name in known]
    method = args.examples_of or next(name for name in (*looks, "norms", known[-1]) if name in known)
    others = [name for name in known if name != method]
    usual = ("norms", "weights") if method in looks else ("weights",)
    fallback = next((name for name in (*usual, *others) if name in others), None)
    return method, args.baseline or fallback

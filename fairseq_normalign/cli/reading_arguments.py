"""The arguments that say which readings decide, and what they mean. Not a verb."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import NormalignError
from ..links.decide import DECISIONS
from ..links.experts import AGREEMENT_FLOOR, OWN_AGREEMENT_FLOOR
from .model_arguments import SYMMETRIZATION, add_null_arguments, bitext_aligner, positive

if TYPE_CHECKING:
    from ..align.both_directions import BitextAligner
    from ..align.options import AlignmentOptions
    from ..links.experts import Expert


def add_reading_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """How alignments are read out of the model: as the options of the fairseq task."""
    group = parser.add_argument_group("reading")
    group.add_argument("--method", default="norms", help="norms, weights, or another registered method (norms)")
    add_expert_arguments(group)
    group.add_argument("--layer", type=positive, metavar="N", help="one reading: decoder layer, from 1")
    group.add_argument("--head", type=int, metavar="N", help="one reading: this head alone, from 1")
    group.add_argument(
        "--step",
        choices=("awo", "awi"),
        help="one reading: where the word is the decoder's output or its input (norms: awi)",
    )
    add_null_arguments(group)
    group.add_argument(
        "--check", action="store_true", help="verify that what is read adds up to what the layers return"
    )
    return group


def add_expert_arguments(group: argparse._ArgumentGroup) -> None:
    """Which readings are multiplied, and how links are decided."""
    group.add_argument(
        "--readings",
        metavar="LIST",
        help="readings to multiply, for example 1.2:awi,3:awo^0.5 (LAYER[.HEAD]:STEP[^EXPONENT]); 'auto': one look "
        "after the word and one before it, chosen by the text (default); 'default': the bottom third at awi times the "
        "top layer at awo",
    )
    group.add_argument("--reverse-readings", metavar="LIST", help="the same for the other direction's model")
    group.add_argument(
        "--decide",
        metavar="HOW",
        help=f"how links are decided: {', '.join(DECISIONS)}; with two directions by what they agree on (one direction "
        "with one reading: argmax, with several: grow-diag)",
    )
    group.add_argument(
        "--floor",
        type=float,
        metavar="X",
        help=f"drop links with an agreement of X or less ({AGREEMENT_FLOOR} for two directions, {OWN_AGREEMENT_FLOOR} "
        "for one decided by grow-diag)",
    )


def add_choice_argument(group: argparse._ArgumentGroup) -> None:
    """Readings that were chosen before."""
    group.add_argument(
        "--choice",
        nargs="+",
        default=[],
        metavar="FILE",
        help="readings that 'normalign layers --save' wrote: of --path and, if there is one, of --reverse-path",
    )


def alignment_options(args: argparse.Namespace) -> AlignmentOptions:
    """How alignments are read; readings that are yet to be chosen are left open."""
    from ..align.options import DEFAULT_STEP, AlignmentOptions
    from ..text.tags import TAGS

    return AlignmentOptions(
        method=args.method,
        layer=args.layer,
        head=args.head,
        step=args.step or DEFAULT_STEP,
        readings=None if args.readings in ("auto", "default") else args.readings,
        decision=args.decide,
        floor=args.floor,
        null=args.null,
        tags=args.tags or TAGS,
        check=getattr(args, "check", False),
    )


def chooses_readings(args: argparse.Namespace, options: AlignmentOptions) -> bool:
    """Whether the readings are to be chosen by the text."""
    by_text = args.readings == "auto" or (args.readings is None and not options.names_one_reading)
    return by_text and not args.choice and options.can_look_twice


def given_readings(args: argparse.Namespace, chosen: Sequence[Expert] = ()) -> list[Expert | None]:
    """The readings of each direction that --choice and --reverse-readings name, or were chosen; None: the default."""
    from ..analysis.choose_readings import read_choice
    from ..links.experts import parse_expert

    found: list[Expert | None] = [read_choice(file).expert for file in args.choice] or list(chosen)
    if args.reverse_readings:
        found = [*(found or [None])[:1], parse_expert(args.reverse_readings, method=args.method)]
    return found


def take_given_readings(args: argparse.Namespace, options: AlignmentOptions, aligner: BitextAligner) -> None:
    """Make each direction use what --choice and --reverse-readings say."""
    aligner.read_with(given_readings(args))


def check_choice(args: argparse.Namespace) -> None:
    """Refuse files of --choice that other arguments contradict."""
    if args.choice and (args.readings or args.layer or args.head or args.step):
        raise NormalignError("--choice holds the readings; leave --readings, --layer, --head and --step out")
    if len(args.choice) > (2 if args.reverse_path else 1):
        raise NormalignError("--choice takes a file for --path and one for --reverse-path")


def unchosen_aligner(args: argparse.Namespace) -> BitextAligner:
    """Return the models at --path and --reverse-path with the readings that are named, or the default ones."""
    if args.readings == "auto":
        raise NormalignError("readings are chosen by a bitext: find them by normalign layers, and give them here")
    aligner = bitext_aligner(args, alignment_options(args), combine=SYMMETRIZATION)
    if args.reverse_readings:
        aligner.read_with(given_readings(args))
    return aligner

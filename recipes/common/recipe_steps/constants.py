"""Whether the constants of the decision transfer: the default ones beside constants tuned on a part of the gold.

Two looks are chosen without gold, as normalign align does, and decided with other constants than the default ones:

  epsilon     added to every share before the looks are multiplied
  neighbours  what a pair of words counts whose neighbours on the diagonal do not agree at all
  times       how often the support of neighbours is applied
  floor       links with less agreement are dropped
  vote        the factor of a link that another aligner has, with --vote

Each is tuned alone, then all together, by trying all combinations. Tuned on the odd sentences of the
gold, or on --tune-text and --tune-gold; reported on the rest, with the interval of the difference to the default
constants and a paired test. The fairseq, transformers and Marian hosts can be read.
"""

from __future__ import annotations

import argparse
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np

from fairseq_normalign import read_gold, read_links
from fairseq_normalign.align.aligner import Aligner
from fairseq_normalign.align.model import Model
from fairseq_normalign.align.sample import choose_readings
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import read_parallel
from fairseq_normalign.hosts.protocol import Pair
from fairseq_normalign.links.decide import ALONE, Link, agreement, joined, neighbour_support
from fairseq_normalign.links.decide import normalized as rows_of_one
from fairseq_normalign.links.experts import AGREEMENT_FLOOR, FLOOR, OWN_AGREEMENT_FLOOR, VOTE, vote
from fairseq_normalign.links.gold import Gold
from fairseq_normalign.links.score import Counts, bootstrap, compare_to_first, count_links, metrics_of

from .gold_text import add_gold_arguments, load_both

SAMPLES, SEED = 1000, 12345
GRID: dict[str, tuple[float, ...]] = {
    "epsilon": (0.001, 0.003, 0.01, 0.03, 0.1),
    "neighbours": (0.1, 0.25, 0.5, 1.0, 2.0),
    "times": (0, 1, 2, 3, 4),
    "floor": (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4),
    "vote": (1.5, 2.0, 3.0, 4.0, 6.0, 10.0),
}
"""The values that are tried, by constant."""


@dataclass(frozen=True)
class Constants:
    """Everything that is tuned; the default values are those of the package, for two directions."""

    epsilon: float = FLOOR
    neighbours: float = ALONE
    times: float = 1
    floor: float = AGREEMENT_FLOOR
    vote: float = VOTE

    def changes(self, other: Constants) -> str:
        """Name the constants that differ from ``other``."""
        values = ((field.name, getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return ", ".join(f"{name} {value:g}" for name, value, old in values if value != old) or "default"


@dataclass(frozen=True)
class ReadSide:
    """What the model of one direction read of a pair: a share ``[T, S]`` and an exponent for each look."""

    shares: Sequence[np.ndarray]
    exponents: Sequence[float]

    def product(self, epsilon: float) -> np.ndarray:
        """Return the looks multiplied, ``[T, S]``."""
        if len(self.shares) == 1:
            return rows_of_one(self.shares[0])
        powers = [(share + epsilon) ** power for share, power in zip(self.shares, self.exponents, strict=True)]
        there = np.any([share > 0 for share in self.shares], axis=0)
        return rows_of_one(np.where(there, functools.reduce(np.multiply, powers), 0))


def links_with(
    constants: Constants, forward: ReadSide, backward: ReadSide | None, voted: Sequence[Link] | None = None
) -> dict[Link, float]:
    """Return the links of one direction or of both before the floor, and their agreement.

    With the default constants and floor they are those of :func:`fairseq_normalign.links.decide.decide`.
    """
    one = forward.product(constants.epsilon)
    other = None if backward is None else backward.product(constants.epsilon)
    if voted is not None:
        one = vote(one, voted, constants.vote)
        other = None if other is None else vote(other, [(target, source) for source, target in voted], constants.vote)
    other = rows_of_one(one.T) if other is None else other
    for _ in range(int(constants.times)):
        support = neighbour_support(agreement(one, other), constants.neighbours)
        one = rows_of_one(one * support)
        other = rows_of_one(one.T if backward is None else other * support.T)
    agreed = agreement(one, other)
    links = joined(agreed, "grow-diag", directions=1 if backward is None else 2)
    return {(source, target): float(agreed[target, source]) for source, target in links}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", nargs="+", required=True, metavar="MODEL", help="of one direction, or of both")
    add_gold_arguments(parser, any_host=True)
    parser.add_argument("--gold-base", type=int, choices=(0, 1), help="first word of the gold files (found out)")
    parser.add_argument("--tune-text", type=Path, nargs=2, metavar=("SOURCE", "TARGET"), help="another text to tune on")
    parser.add_argument("--tune-gold", type=Path, help="its gold")
    parser.add_argument("--lowercase", action="store_true")
    parser.add_argument("--tokenizer", help="moses for raw text")
    parser.add_argument("--vote", type=Path, help="links of another aligner for --text")
    parser.add_argument("--tune-vote", type=Path, help="the same for --tune-text")
    parser.add_argument(
        "--try",
        dest="tries",
        action="append",
        default=[],
        metavar="[one:|both:]NAME=VALUE,...",
        help="constants that are reported as they are, for example one:floor=0.3,times=3; may be repeated",
    )


@dataclass
class Part:
    """Sentences with gold: to tune on, or to report on."""

    golds: list[Gold]
    sides: list[tuple[ReadSide, ReadSide | None]]
    votes: Sequence[Sequence[Link]] | None
    decided: dict[tuple[Constants, bool], list[dict[Link, float]]] = field(default_factory=dict)
    """What was decided before the floor, by the other constants and whether both directions counted."""

    def counts(self, constants: Constants, *, both: bool) -> Counts:
        """Count the links of one direction or of both against gold: [N, 5]."""
        key = replace(constants, floor=0.0), both  # the floor is the last step, so all floors share what is before
        if key not in self.decided:
            votes = self.votes or [None] * len(self.sides)
            self.decided[key] = [
                links_with(constants, forward, backward if both else None, voted)
                for (forward, backward), voted in zip(self.sides, votes, strict=True)
            ]
        links = [[link for link, value in one.items() if value > constants.floor] for one in self.decided[key]]
        return count_links(self.golds, links)

    def aer(self, constants: Constants, *, both: bool) -> float:
        """Return the AER in percent."""
        return 100 * float(metrics_of(self.counts(constants, both=both).sum(axis=0))["aer"])

    def every_second(self, first: int) -> Part:
        """Return every second sentence."""
        votes = None if self.votes is None else self.votes[first::2]
        return Part(self.golds[first::2], self.sides[first::2], votes)


def run(args: argparse.Namespace) -> None:
    if len(args.models) > 2:
        raise NormalignError(f"--models has {len(args.models)} models; give that of one direction, or of both")
    if (args.tune_text is None) != (args.tune_gold is None):
        raise NormalignError("--tune-text and --tune-gold belong together")
    tries = [_parsed(text) for text in args.tries]
    aligner = load_both(args, args.models, lowercase=args.lowercase, tokenizer=args.tokenizer).aligner
    experts = [choice.expert for choice in choose_readings(aligner, list(read_parallel(*args.text)))]
    aligner = aligner.reading(experts)
    whole = _read(args, aligner, args.text, args.gold, args.vote)
    if args.tune_text is None:
        tune, rest, name = whole.every_second(0), whole.every_second(1), "odd"
    else:  # by the same readings
        tune = _read(args, aligner, args.tune_text, args.tune_gold, args.tune_vote)
        rest, name = whole, args.tune_gold.name
    print(f"read: {' and '.join(map(str, experts))}")
    print(f"tuned on {len(tune.golds)} sentences ({name}), reported on {len(rest.golds)} others; AER in percent")
    print("\ndirections\tconstants\ttuned on\trest\tdifference\tlow\thigh\tp")
    for both in (False, True)[: len(args.models)]:
        default = Constants(floor=AGREEMENT_FLOOR if both else OWN_AGREEMENT_FLOOR)
        names = [constant for constant in GRID if constant != "vote" or whole.votes is not None]
        before = rest.counts(default, both=both)
        alone = [_tuned(tune, default, [constant], both=both) for constant in names]
        tried = [replace(default, **values) for which, values in tries if which in ("", "both" if both else "one")]
        for constants in dict.fromkeys([default, *alone, _tuned(tune, default, names, both=both), *tried]):
            after = rest.counts(constants, both=both)
            cells = [f"{tune.aer(constants, both=both):.1f}", f"{100 * metrics_of(after.sum(axis=0))['aer']:.1f}"]
            if constants != default:
                draws = [100 * one["aer"] for one in bootstrap([before, after], SAMPLES, seed=SEED)]
                low, high = np.quantile(draws[1] - draws[0], [0.025, 0.975])
                (test,) = compare_to_first([before, after], samples=1, trials=SAMPLES, seed=SEED)
                cells += [f"{value:+.1f}" for value in (100 * test.difference, low, high)]
                cells.append(f"{test.p_randomization:.3f}")
            which = "both" if both else "one"
            print("\t".join([which, constants.changes(default), *cells]))


def _parsed(text: str) -> tuple[str, dict[str, float]]:
    """``one:floor=0.3`` -> which number of directions ("" for both numbers), and the constants."""
    which, _, given = text.rpartition(":")
    found = {}
    for part in given.split(","):
        name, _, value = part.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            name = ""
        if name not in GRID or which not in ("", "one", "both"):
            raise NormalignError(f"--try {text}: '{part}' is not NAME=VALUE with one of {', '.join(GRID)}")
    return which, found


def _tuned(tune: Part, default: Constants, names: Sequence[str], *, both: bool) -> Constants:
    """Return the best of all combinations of these constants; of equal ones the first, the default before all."""
    combinations = (dict(zip(names, values, strict=True)) for values in itertools.product(*(GRID[n] for n in names)))
    candidates = [default, *(replace(default, **values) for values in combinations)]
    return min(candidates, key=lambda one: round(tune.aer(one, both=both), 9))


def _read(args: argparse.Namespace, aligner: Aligner, text: Sequence[Path], gold: Path, votes: Path | None) -> Part:
    """Read the looks of every pair of a text."""
    pairs = list(read_parallel(*text))
    golds = read_gold(gold, base=args.gold_base, source=text[0], target=text[1])
    voted = None if votes is None else read_links(votes)
    for name, sentences in ((gold, golds), (votes, voted)):
        if sentences is not None and len(sentences) != len(pairs):
            raise NormalignError(f"{name}: {len(sentences)} sentences, {text[0]} has {len(pairs)}")
    encoded = aligner.encode(pairs)
    sides = [_looks(aligner.forward, encoded.forward, text[0])]
    if aligner.backward is not None and encoded.backward is not None:
        sides.append(_looks(aligner.backward, encoded.backward, text[0]))
    return Part(golds, [(both[0], both[1] if len(both) > 1 else None) for both in zip(*sides, strict=True)], voted)


def _looks(model: Model, encoded: list[Pair | str], text: Path) -> list[ReadSide]:
    found = []
    for number, pair in enumerate(model.decide(encoded, read=True), start=1):
        if isinstance(pair, str) or pair.read is None:
            raise NormalignError(f"{text}:{number}: the pair is empty or too long for the models")
        expert = pair.read.expert
        shares = [rows_of_one(np.asarray(pair.read.read(one), dtype=np.float64)) for one in expert.readings]
        found.append(ReadSide(shares, expert.exponents))
    return found

"""What one checkpoint, with its partner of the other direction, decides for pairs that are to be compared with gold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..analysis.choose_readings import choose_readings
from ..analysis.comparison import Seed
from ..analysis.decisions import PairDecisions
from ..errors import NormalignError
from ..hosts.protocol import Pair
from ..jobs import TextPair
from ..links.decide import Link
from ..links.experts import TWO_LOOKS
from .both_directions import BitextAligner
from .decisions import Survey
from .directions import Direction, Keep

EncodedSides = tuple[list[Pair | str], list[Pair | str] | None]
"""The pairs as each direction reads them, the reason where one cannot be aligned."""


@dataclass(frozen=True)
class Progress:
    """What is told while pairs are read."""

    done: Callable[[int], object] = lambda count: None
    """Called with the number of pairs after each batch."""
    on_method: Callable[[str], object] = lambda name: None
    """Called with the name of each method before it reads a batch."""


def measure(
    aligner: BitextAligner,
    pairs: Sequence[TextPair],
    methods: Sequence[str],
    *,
    soft: bool = False,
    two_looks: str | None = "norms",
    progress: Progress | None = None,
) -> Seed:
    """Return what every layer and head of both directions decides, and what two looks decide.

    ``soft`` keeps the soft alignments, which agreement needs. ``two_looks``: the method whose readings are chosen by a
    lexicon of the pairs and multiplied; None, or a method that is not among ``methods``, leaves those rows out.
    """
    encoded = forward_pairs, backward_pairs = aligner.encode(pairs)
    shown = progress or Progress()
    forward, speed = _decisions(aligner.forward, forward_pairs, methods, soft, shown)
    seed = Seed(forward, speed=speed)
    if aligner.backward is not None and backward_pairs is not None:
        seed.backward = _decisions(aligner.backward, backward_pairs, methods, soft, shown)[0]
    if two_looks is not None and two_looks in methods:
        seed.more = _two_looks(aligner, encoded, seed, two_looks)
    return seed


def _decisions(
    direction: Direction,
    encoded: Sequence[Pair | str],
    methods: Sequence[str],
    soft: bool,
    progress: Progress,
) -> tuple[list[PairDecisions | None], dict[str, float]]:
    """-> the decisions on every pair, and pairs per second by method."""
    survey = Survey(direction, methods)
    survey.warm_up(encoded)
    survey.reader.on_method = progress.on_method
    decisions = survey.decide(encoded, soft=soft, done=progress.done)
    aligned = sum(pair is not None for pair in decisions)
    if not aligned:
        raise NormalignError("none of the pairs can be aligned: each is empty or longer than the model's positions")
    return decisions, {name: aligned / seconds for name, seconds in survey.reader.seconds.items()}


def _two_looks(
    aligner: BitextAligner, encoded: EncodedSides, seed: Seed, method: str
) -> dict[tuple[str, str], list[list[Link]]]:
    """Links by (name, direction): of the forward model alone, and of both directions."""
    sides = [(aligner.forward, seed.forward), (aligner.backward, seed.backward)]
    for direction, decided in sides:
        if direction is not None and decided is not None:
            present = [pair for pair in decided if pair is not None]
            layers = direction.aligner.reader.layers
            direction.aligner.read_with(choose_readings(present, layers=layers, method=method).expert)
    both = BitextAligner(aligner.forward, aligner.backward, "agreed-grow-diag", floor=aligner.floor)
    found = both.align_sides(*encoded, keep=Keep(read=aligner.backward is not None))
    name = f"{TWO_LOOKS} {aligner.forward.aligner.expert}"
    if aligner.backward is None:
        return {(name, "forward"): [pair.links for pair in found]}
    alone = [pair.read.links(aligner.forward.level) if pair.read else [] for pair in found]
    return {(name, "forward"): alone, (f"{TWO_LOOKS} agreed-grow-diag", "both"): [pair.links for pair in found]}

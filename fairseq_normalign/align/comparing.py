"""What one checkpoint, with its partner of the other direction, decides for pairs that are to be compared with gold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..analysis.attention_tables import Table
from ..analysis.choose_readings import choose_readings, expert_of
from ..analysis.comparison import DEFAULT_SAMPLING, DirectionScores, Sampling, Seed, reversed_golds
from ..analysis.decisions import PairDecisions, check_gold
from ..analysis.factors import METHODS, Combination, factor_tables
from ..errors import NormalignError
from ..hosts.protocol import Pair
from ..jobs import Count, TextPair, nobody
from ..links.decide import Link, best_sources, decide, normalized
from ..links.experts import AGREEMENT_FLOOR, OWN_AGREEMENT_FLOOR, TWO_LOOKS, Expert
from ..links.gold import Gold
from ..links.readings import Reading
from ..links.score import Counts, count_links
from ..links.symmetrize import symmetrize
from ..links.words import to_words
from .aligner import Aligner
from .model import Model


def measure(
    aligner: Aligner,
    pairs: Sequence[TextPair],
    methods: Sequence[str],
    *,
    soft: bool = False,
    two_looks: str | None = "norms",
    done: Count = nobody,
    on_method: Callable[[str], object] = lambda name: None,
) -> Seed:
    """Return what every layer and head of both directions decides, and what two looks decide.

    ``soft`` keeps the soft alignments, which agreement needs. ``two_looks``: the method whose readings are chosen by a
    lexicon of the pairs and multiplied; None, or a method that is not among ``methods``, leaves those rows out.
    ``done`` is told how many pairs after each batch, ``on_method`` the name of each method before it reads one.
    """
    encoded = aligner.encode(pairs)
    sides = [side for side in (encoded.forward, encoded.backward) if side is not None]
    found = [
        _decisions(model, side, methods, soft, done, on_method)
        for model, side in zip(aligner.directions, sides, strict=True)
    ]
    seconds = aligner.forward.reader.seconds
    aligned = sum(pair is not None for pair in found[0])
    seed = Seed(found[0], speed={name: aligned / spent for name, spent in seconds.items()})
    seed.backward = found[1] if len(found) == 2 else None
    if two_looks is None or two_looks not in methods:
        return seed

    experts = [
        choose_readings([pair for pair in decided if pair is not None], layers=model.layers, method=two_looks).expert
        for model, decided in zip(aligner.directions, found, strict=True)
    ]
    both = aligner.reading(experts, combine="agreed-grow-diag")
    links = both.align(encoded, read=aligner.backward is not None)
    alone = [pair.read.links(aligner.forward.level) if pair.read else pair.links for pair in links]
    seed.more = {(f"{TWO_LOOKS} {both.forward.expert}", "forward"): alone}
    if aligner.backward is not None:
        seed.more[f"{TWO_LOOKS} agreed-grow-diag", "both"] = [pair.links for pair in links]
    return seed


def _decisions(
    model: Model,
    encoded: Sequence[Pair | str],
    methods: Sequence[str],
    soft: bool,
    done: Count,
    on_method: Callable[[str], object],
) -> list[PairDecisions | None]:
    """Return the decisions on every pair; the reader of the model knows how long each method took."""
    first = next((pair for pair in encoded if not isinstance(pair, str)), None)
    model.decide_every_way([first] if first else [], methods)  # whatever comes first pays for what is made only once
    model.reader.seconds.clear()
    model.reader.on_method = on_method
    decisions = model.decide_every_way(encoded, methods, soft=soft, done=done)
    model.reader.on_method = lambda name: None
    if not any(decisions):
        raise NormalignError("none of the pairs can be aligned: each is empty or longer than the model's positions")
    return decisions


def measure_factors(
    aligner: Aligner,
    pairs: Sequence[TextPair],
    golds: Sequence[Gold],
    *,
    sampling: Sampling = DEFAULT_SAMPLING,
    name: str = "gold",
    done: Count = nobody,
    on_method: Callable[[str], object] = lambda name: None,
) -> list[Table]:
    """Score every combination of look, method, place, decision and direction: see :mod:`..analysis.factors`.

    The best layer and the best head of each model are those with the lowest AER when each word is decided by itself.
    ``name``: the file of the gold; ``done`` and ``on_method`` are those of :func:`measure`.
    """
    encoded = aligner.encode(pairs)
    directions = [("forward", aligner.forward, encoded.forward, list(golds))]
    if aligner.backward is not None and encoded.backward is not None:
        directions.append(("reverse", aligner.backward, encoded.backward, reversed_golds(golds)))
    sides: dict[str, dict[tuple[str, str, str], Expert]] = {}
    softs: dict[str, list[dict[Expert, tuple[np.ndarray, np.ndarray]]]] = {}
    for which, model, side, its_golds in directions:
        decided = _decisions(model, side, METHODS, False, done, on_method)
        check_gold(name, its_golds, decided)
        sides[which] = _experts_of_factors(model, decided, its_golds)
        softs[which] = _softs_of(model, side, list(dict.fromkeys(sides[which].values())))

    null = aligner.forward.options.null
    counts: dict[Combination, Counts] = {}
    readings: dict[Combination, str] = {}
    for choices in sides["forward"]:
        experts = [side[choices] for side in sides.values()]
        for decision, how in (("argmax", "argmax"), ("agreement", "grow-diag")):
            alone: list[list[list[Link]]] = []
            for (which, _, _, its_golds), expert in zip(directions, experts, strict=True):
                links: list[list[Link]] = [[] for _ in its_golds]
                for number, found in enumerate(softs[which]):
                    if found:
                        soft, nothing = found[expert]
                        links[number] = decide(soft, how, null=nothing, policy=null, floor=OWN_AGREEMENT_FLOOR)[0]
                alone.append(links)
                one = Combination(*choices, decision, which)
                counts[one], readings[one] = count_links(its_golds, links), str(expert)
            if len(experts) == 1:
                continue
            together: list[list[Link]] = [[] for _ in golds]
            for number, both in enumerate(zip(*softs.values(), strict=True)):
                if decision == "argmax":
                    turned = [(source, target) for target, source in alone[1][number]]
                    together[number] = symmetrize(alone[0][number], turned, "grow-diag")
                elif all(both):
                    rows = [
                        np.where((best_sources(soft, nothing, null) >= 0)[:, None], normalized(soft), 0)
                        for soft, nothing in (side[expert] for side, expert in zip(both, experts, strict=True))
                    ]
                    together[number] = decide(rows[0], "agreed-grow-diag", backward=rows[1], floor=AGREEMENT_FLOOR)[0]
            one = Combination(*choices, decision, "both")
            counts[one], readings[one] = count_links(golds, together), " and ".join(map(str, experts))
    return factor_tables(counts, readings, sampling)


def _softs_of(
    model: Model, encoded: Sequence[Pair | str], experts: Sequence[Expert]
) -> list[dict[Expert, tuple[np.ndarray, np.ndarray]]]:
    """Return what each expert gives to the words of each pair; nothing of a pair that cannot be aligned."""
    places = [place for expert in experts for place in expert.places]
    softs: list[dict[Expert, tuple[np.ndarray, np.ndarray]]] = [{} for _ in encoded]
    for numbers, (sentences, read) in model.batches(
        encoded, lambda batch: (batch.sentences, model.reader.read(batch, places))
    ):
        for number, sides, steps in zip(numbers, sentences, read, strict=True):
            source, target = (side.at(model.level) for side in sides)
            for expert in experts:
                softs[number][expert] = expert.combine(
                    [to_words(steps[one.place], target, source, one.step) for one in expert.readings]
                )
    return softs


def _experts_of_factors(
    model: Model, decided: Sequence[PairDecisions | None], golds: Sequence[Gold]
) -> dict[tuple[str, str, str], Expert]:
    """What is read for each look, method and place (see :mod:`..analysis.factors`)."""
    scores = DirectionScores(golds, [decided], DEFAULT_SAMPLING)
    present = [pair for pair in decided if pair is not None]
    found = {}
    for method in METHODS:
        choice = choose_readings(present, layers=model.reader.layers, method=method)
        best: dict[str, list[Reading]] = {"layer": [], "head": [], "chosen": []}
        for step in ("awi", "awo"):
            best["layer"].append(Reading(method, scores.best_layers((method, step))[0], None, step))
            layer, head = scores.best_heads((method, step))[0]
            best["head"].append(Reading(method, layer, head, step))
            ranked = [one.reading for one in choice.ranked if one.reading.step == step]
            ranked += [one for one in choice.expert.readings if one.step == step]  # the default, of too little text
            best["chosen"] += ranked[:1]
        for place, (after, before) in best.items():
            found["awo", method, place] = Expert((before,), (1.0,))
            found["awi", method, place] = Expert((after,), (1.0,))
            found["two", method, place] = choice.expert if place == "chosen" else expert_of([after, before])
    return found

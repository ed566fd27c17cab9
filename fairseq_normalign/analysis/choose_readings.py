"""Which readings of a model to multiply, without gold; a choice as a file. numpy only.

Every layer and head is judged in both steps on some sentence pairs, by the mean share that a lexicon (IBM model 1) of
these very pairs gives to the source words that it links: its *support*. The lexicon is estimated without the model, so
it favours no layer: attention that stays on the diagonal or on the end of a sentence finds no support beyond chance.
The best reading at AWI and the best at AWO become an expert. A reading has to find clearly more support than a straight
line through the sentence, which knows positions and no words; where one of the two does not, the other is used alone.
In a monotone text, such as a transliteration, the straight line itself is what the lexicon would link. Nothing can be
clearly above it there, and a reading only has to come near it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import NormalignError, json_field
from ..files import open_input, open_output
from ..links.experts import AWO_EXPONENT, Expert, default_expert, parse_expert
from ..links.readings import Reading
from ..links.words import STEPS
from ..version import __version__
from .decisions import PairDecisions

RESAMPLINGS = 1000
SURE = 0.95
"""A choice is sure when at least this share of resamplings of the sentences makes it."""
LEAST_PAIRS = 100
"""With fewer sentence pairs the lexicon knows too little to tell a good reading from a bad one."""
MARGIN = 0.1
"""A reading is supported when it gets this far on the way from the diagonal to what the lexicon itself would link.
The best of many readings that know nothing is a little above the diagonal by chance. In a monotone text it may stay
this far below the diagonal, on the way from chance."""
MONOTONE = 0.5
"""A text is monotone when the diagonal gets this far on the way from chance to what the lexicon itself would link."""
LOOKS = ("awi", "awo")
"""The order of an expert's readings: the look after the word first."""
ROUNDS = 5
"""Rounds of learning the lexicon."""
KIND = "normalign readings"
LARGEST_FILE = 10_000_000
"""Bytes; a choice for a hundred layers of a hundred heads takes two million."""


@dataclass(frozen=True)
class RatedReading:
    """A reading and how much the lexicon supports it."""

    reading: Reading
    support: float
    """Mean share that the lexicon gives to the source words it links."""
    above_diagonal: float
    """The share of resamplings of the sentences in which it is above the diagonal by the MARGIN, or near it in a
    monotone text."""

    @property
    def is_supported(self) -> bool:
        """Whether it knows more than positions."""
        return self.above_diagonal >= SURE


@dataclass(frozen=True)
class ReadingChoice:
    """The expert that was chosen for one model, and how far to trust it."""

    expert: Expert
    stability: tuple[float, ...]
    """For each reading of the expert: the share of resamplings of the sentences that choose it; 0 for a default."""
    ranked: tuple[RatedReading, ...]
    """Every reading, the best first; empty where there was too little text."""
    diagonal: float
    """The support of the diagonal."""
    pairs: int
    """Sentence pairs that were judged by."""
    doubts: tuple[str, ...]
    """Why the choice is unsure; empty when it is not."""


def choose_readings(
    pairs: Sequence[PairDecisions], *, layers: int, method: str = "norms", seed: int = 12345
) -> ReadingChoice:
    """Choose the readings of one model from its decisions on some pairs, those of single heads included.

    ``layers``: decoder layers of the model. With fewer than LEAST_PAIRS pairs the expert is the default one.
    """
    default = default_expert(layers, method=method)
    readings = []
    for step in STEPS if pairs else ():
        heads = pairs[0].heads.get((method, step), [])
        for layer in range(len(pairs[0].layers.get((method, step), []))):
            count = len(heads[layer]) if layer < len(heads) else 0
            readings += [Reading(method, layer, head, step) for head in (None, *range(count))]
    if len(pairs) < LEAST_PAIRS or not readings:
        doubt = f"too few pairs ({len(pairs)}) to choose readings; using the default {default}"
        return ReadingChoice(default, (0.0, 0.0), (), 0.0, len(pairs), (doubt,))

    shares = word_shares([(pair.source, pair.target) for pair in pairs])
    given = np.array(
        [_given(share, pair, readings) for share, pair in zip(shares, pairs, strict=True)]
    )  # [N, K + 3]: what the lexicon gives to each reading, to chance, to the diagonal and to its own choice
    words = np.array([len(pair.target) for pair in pairs], dtype=float)
    draws = np.random.default_rng(seed).multinomial(len(pairs), np.full(len(pairs), 1 / len(pairs)), RESAMPLINGS)
    resampled = (draws @ given) / np.maximum(draws @ words, 1)[:, None]  # [R, K + 3]
    support = (given.sum(axis=0) / max(1.0, words.sum())).tolist()
    monotone = support[-2] - support[-3] >= MONOTONE * (support[-1] - support[-3])
    chance, diagonal, highest = (resampled[:, [column]] for column in (-3, -2, -1))
    needed = diagonal + MARGIN * (chance - diagonal if monotone else highest - diagonal)
    above = (resampled > needed).mean(axis=0)
    rated = [RatedReading(reading, support[k], float(above[k])) for k, reading in enumerate(readings)]

    chosen, stability, doubts = [], [], []
    for step in LOOKS:
        same = [k for k, reading in enumerate(readings) if reading.step == step]
        if not same:
            continue
        best, *others = sorted(same, key=lambda k: (-support[k], k))  # the first wins a tie, so all heads before one
        if not rated[best].is_supported:
            doubts.append(
                f"no reading at {step.upper()} finds clearly more support than the diagonal ({support[-2]:.3f}); "
                f"the best is {readings[best].spec} ({support[best]:.3f})"
            )
            continue
        chosen.append(readings[best])
        stability.append(float(np.mean(np.array(same)[resampled[:, same].argmax(axis=1)] == best)))
        if stability[-1] < SURE:
            doubts.append(
                f"{readings[best].spec} wins in {100 * stability[-1]:.0f}% of resamplings of the sentences; "
                f"the runner-up is {readings[others[0]].spec}"
            )
    if not chosen:
        doubts.append(f"using the default {default}")
    ranked = tuple(sorted(rated, key=lambda one: -one.support))
    expert = expert_of(chosen) if chosen else default
    return ReadingChoice(expert, tuple(stability or (0.0, 0.0)), ranked, support[-2], len(pairs), tuple(doubts))


def expert_of(readings: Sequence[Reading]) -> Expert:
    """The product of a look after the word and a look before it, or of one of them alone.

    The look before counts in full beside a single head, and as a root beside a layer whose heads are summed.
    """
    full = len(readings) == 1 or readings[0].head is not None
    return Expert(tuple(readings), tuple([1.0, 1.0 if full else AWO_EXPONENT][: len(readings)]))


def _given(share: np.ndarray, pair: PairDecisions, readings: Sequence[Reading]) -> np.ndarray:
    """share ``[T, S]`` -> ``[K + 3]``: its sum over what each reading links, its mean, the diagonal, and its best."""
    height, width = share.shape
    if not width:
        return np.zeros(len(readings) + 3)
    diagonal = (2 * np.arange(height) + 1) * width // max(1, 2 * height)
    decided = np.stack([*(pair.of(one) for one in readings), diagonal, share.argmax(axis=1)])  # -1: no link
    found = share[np.arange(height)[None, :], np.maximum(decided, 0)]
    given = np.where(decided >= 0, found, 0.0).sum(axis=1)
    return np.insert(given, -2, share.mean(axis=1).sum())


def word_shares(pairs: Sequence[tuple[Sequence[str], Sequence[str]]], rounds: int = ROUNDS) -> list[np.ndarray]:
    """Return how an IBM-1 lexicon of these (source, target) pairs shares each target word among its source words.

    One array per pair: ``[T, S]``, rows adding up to one.

    >>> text = [(["das", "haus"], ["the", "house"]), (["das", "buch"], ["the", "book"])]
    >>> word_shares(text)[0].argmax(axis=1).tolist()
    [0, 1]
    """
    if not any(target for _, target in pairs):
        return [np.zeros((0, len(source))) for source, _ in pairs]
    source_ids: dict[str, int] = {}
    target_ids: dict[str, int] = {}
    sides = [  # 0 is the empty source word
        (
            np.array([0, *(source_ids.setdefault(word, len(source_ids) + 1) for word in source)], dtype=np.int64),
            np.array([target_ids.setdefault(word, len(target_ids)) for word in target], dtype=np.int64),
        )
        for source, target in pairs
    ]
    keys = [(source[None, :] * len(target_ids) + target[:, None]).ravel() for source, target in sides]
    unique, cells = np.unique(np.concatenate(keys), return_inverse=True)  # the word pair of every cell of every pair
    sources = unique // len(target_ids)
    widths = np.concatenate([np.full(len(target), len(source)) for source, target in sides])
    starts = np.concatenate([[0], np.cumsum(widths)])[:-1]

    probability = np.ones(len(sources))  # of the target word given the source word
    for _ in range(rounds):
        expected = probability[cells]
        expected = expected / np.repeat(np.add.reduceat(expected, starts), widths)
        counts = np.bincount(cells, weights=expected, minlength=len(sources))
        probability = counts / np.bincount(sources, weights=counts)[sources]

    stops = np.cumsum([len(source) * len(target) for source, target in sides])
    shares = []
    for (source, target), part in zip(sides, np.split(probability[cells], stops[:-1]), strict=True):
        words = part.reshape(len(target), len(source))[:, 1:]
        total = words.sum(axis=1, keepdims=True)
        shares.append(np.divide(words, total, out=np.zeros_like(words), where=total > 0))
    return shares


def write_choice(path: str | Path, choice: ReadingChoice) -> None:
    """Write a choice as JSON. Layers and heads count from 1; a head of null stands for all heads together."""
    record = {"kind": KIND, "normalign": __version__, **choice_record(choice)}
    with open_output(path) as handle:
        json.dump(record, handle, indent=1)
        handle.write("\n")


def choice_record(choice: ReadingChoice) -> dict[str, object]:
    """Return a choice as plain values, for JSON.

    ``ranked`` has every reading, the best first; layers and heads count from 1, a head is None for all together.
    """
    ranked = [
        {
            "method": one.reading.method,
            "layer": one.reading.layer + 1,
            "head": None if one.reading.head is None else one.reading.head + 1,
            "step": one.reading.step,
            "support": one.support,
            "above_diagonal": one.above_diagonal,
        }
        for one in choice.ranked
    ]
    return {
        "readings": str(choice.expert),
        "stability": list(choice.stability),
        "pairs": choice.pairs,
        "diagonal": choice.diagonal,
        "doubts": list(choice.doubts),
        "ranked": ranked,
    }


def alignment_heads(choice: ReadingChoice, step: str = "awo") -> dict[str, list[list[int]]]:
    """The supported single heads as CTranslate2 and Whisper models take them.

    The form is ``{"alignment_heads": [[layer, head], ...]}``, counted from 0 and sorted, as in their ``config.json``
    and ``generation_config.json``. These toolkits read the step at which a word is the output, so the step is AWO
    unless another is asked for.
    """
    heads = [one for one in choice.ranked if one.reading.head is not None and one.reading.step == step]
    supported = [one for one in heads if one.is_supported]
    if not supported:
        raise NormalignError(
            f"no single head is supported at {step.upper()} by the {choice.pairs} pairs that were judged by; "
            "judge by more text, or choose the other step"
        )
    return {"alignment_heads": sorted([one.reading.layer, one.reading.head or 0] for one in supported)}


def read_choice(path: str | Path) -> Expert:
    """Return the readings that :func:`write_choice` wrote; anything else is an error that names the file."""
    with open_input(path) as handle:
        raw = handle.read(LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        raise NormalignError(f"{path}: larger than {LARGEST_FILE} bytes, so it is no choice of readings")
    try:
        found = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise NormalignError(f"{path}: is not JSON, so it is no choice of readings") from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise NormalignError(f"{path}: is not a choice of readings; 'kind' has to be '{KIND}'")
    try:
        return parse_expert(json_field(found, "readings", str, "a text"))
    except NormalignError as error:
        raise NormalignError(f"{path}: {error}") from None

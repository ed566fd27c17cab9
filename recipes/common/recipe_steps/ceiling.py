"""What is left to find in the attention: two looks, chosen without gold, beside a classifier that is taught by gold.

A logistic regression sees, for every pair of words, the norms of all layers and heads of both models at both steps, two
looks with their agreement, and the agreement of the pairs around it. It learns from the odd sentences of the gold, by
which its threshold is chosen too; the even sentences show what all of that is worth. Nothing else uses the classifier.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairseq_normalign.align.model import Model
from fairseq_normalign.align.sample import choose_readings
from fairseq_normalign.align.survey import read_pairs
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.decide import Link, normalized
from fairseq_normalign.links.experts import FLOOR
from fairseq_normalign.links.gold import Gold
from fairseq_normalign.links.read_pair import soft_of
from fairseq_normalign.links.readings import every_reading

from .gold_text import Pairs, add_gold_arguments, error_rates, load_both, read_gold_text

METHOD = "norms"
THRESHOLDS = np.arange(0.3, 0.71, 0.05)
ROUNDS = 25
"""Steps of Newton's method."""
RIDGE = 1.0
"""How far weights are drawn to zero."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", type=Path, nargs=2, required=True, metavar=("FORWARD", "BACKWARD"))
    add_gold_arguments(parser)


def run(args: argparse.Namespace) -> None:
    pairs, golds = read_gold_text(args)
    both = load_both(args, args.models).aligner
    decided = both.reading([choice.expert for choice in choose_readings(both, pairs)]).align(pairs, soft=True)
    if both.backward is None or any(pair.soft is None for pair in decided):
        raise NormalignError(f"{args.text[0]}: a pair is empty or too long for the models")
    forward_shares = every_share(both.forward, pairs)
    backward_shares = every_share(both.backward, [(target, source) for source, target in pairs])
    cells = []
    for pair, forward, backward in zip(decided, forward_shares, backward_shares, strict=True):
        assert pair.soft is not None
        looks = [pair.directions[0], pair.directions[1].T]
        shares = [np.log(one + FLOOR) for one in (*forward, *(one.T for one in backward), *looks, pair.soft)]
        cells.append(np.stack([*shares, *around(pair.soft)], axis=-1))
    taught = Classifier.learn(cells[::2], golds[::2])
    threshold = min(THRESHOLDS, key=lambda one: error_rates(golds, taught.links(cells, one))[1])
    print("              odd   even  (AER; the classifier learned from the odd sentences)")
    for name, links in (("two looks", [pair.links for pair in decided]), ("taught", taught.links(cells, threshold))):
        print(f"{name:12}{error_rates(golds, links)[1]:5.1f}  {error_rates(golds, links)[2]:5.1f}")


def every_share(direction: Model, pairs: Pairs) -> Iterator[list[np.ndarray]]:
    """For each pair the shares ``[T, S]`` of every layer, head and step."""
    lines = ((number, *pair) for number, pair in enumerate(pairs))
    for pair in read_pairs(direction, lines, [METHOD], heads=True):
        wanted = every_reading(METHOD, pair.readings[METHOD].shape)
        yield [normalized(soft) for soft in (soft_of(pair, reading) for reading in wanted) if soft is not None]


def around(agreed: np.ndarray) -> Iterator[np.ndarray]:
    """How an agreement ``[T, S]`` stands beside the best of its row and column, and the agreement of its neighbours."""
    height, width = agreed.shape
    for axis in (0, 1):
        yield np.log(agreed / np.maximum(agreed.max(axis=axis, keepdims=True), FLOOR) + FLOOR)
    framed = np.pad(agreed, 1)
    for down, right in itertools.product(range(3), repeat=2):
        if (down, right) != (1, 1):
            yield framed[down : down + height, right : right + width]


@dataclass
class Classifier:
    """Logistic regression: how probable a link is between two words."""

    mean: np.ndarray
    """[features]."""
    spread: np.ndarray
    """[features]."""
    weights: np.ndarray
    """[features + 1], that of a constant last."""

    @classmethod
    def learn(cls, cells: Sequence[np.ndarray], golds: Sequence[Gold]) -> Classifier:
        """Learn from cells ``[T, S, features]``, sure links and what is no link; only possible links are left out."""
        features = np.concatenate([one.reshape(-1, one.shape[-1]) for one in cells])
        labels = np.concatenate([_labels(one.shape[:2], gold).ravel() for one, gold in zip(cells, golds, strict=True)])
        features, labels = features[labels >= 0], labels[labels >= 0]
        model = cls(features.mean(axis=0), features.std(axis=0) + 1e-9, np.zeros(features.shape[1] + 1))
        inputs = model._inputs(features)
        penalty = RIDGE * np.eye(inputs.shape[1])
        for _ in range(ROUNDS):
            probable = _logistic(inputs @ model.weights)
            slope = inputs.T @ (labels - probable) - penalty @ model.weights
            bend = (inputs * (probable * (1 - probable))[:, None]).T @ inputs + penalty
            model.weights = model.weights + np.linalg.solve(bend, slope)
        return model

    def links(self, cells: Sequence[np.ndarray], threshold: float) -> list[list[Link]]:
        """The links of each pair that are more probable than ``threshold``."""
        found = []
        for one in cells:
            targets, sources = np.nonzero(_logistic(self._inputs(one) @ self.weights) > threshold)
            found.append(list(zip(sources.tolist(), targets.tolist(), strict=True)))
        return found

    def _inputs(self, features: np.ndarray) -> np.ndarray:
        scaled = (features - self.mean) / self.spread
        return np.concatenate([scaled, np.ones((*scaled.shape[:-1], 1))], axis=-1)


def _labels(shape: tuple[int, ...], gold: Gold) -> np.ndarray:
    """``[T, S]``: 1 for a sure link, -1 for one that is only possible, 0 for the rest."""
    labels = np.zeros(shape)
    for links, label in ((gold.possible, -1), (gold.sure, 1)):
        for source, target in links:
            labels[target, source] = label
    return labels


def _logistic(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(values, -30, 30)))

"""What single heads are worth: relevance (LRP), and how well each attends over the encoder as an aligner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..analysis.comparison import Sampling, Seed, compare
from ..analysis.decisions import check_gold
from ..errors import NormalignError
from ..jobs import TextPair
from ..links.gold import Gold
from ..methods.relevance import head_relevance, propagate
from ..methods.rules import AlphaBeta
from .decisions import Survey
from .directions import Direction

LRP_ALPHA = 0.5
"""The alpha of the alpha-beta rule, as Voita et al. chose it."""


def relevance_of_heads(direction: Direction, pairs: Sequence[TextPair], kind: str) -> list[np.ndarray]:
    """The mean share of each head in the relevance of its layer, over all target words: a layer each, [H]."""
    model = direction.models[0]
    total, words = None, 0
    for _, batch in direction.batches(direction.encode(pairs)):
        with model.view(batch) as view:
            shares = head_relevance(propagate(view, AlphaBeta(LRP_ALPHA)), view.steps)[kind].cpu().numpy()
        count = int(view.steps.sum())
        total = shares * count if total is None else total + shares * count
        words += count
    if total is None:
        raise NormalignError("none of the pairs can be read: each is empty or longer than the model's positions")
    return list(total / words)


def error_of_heads(
    direction: Direction, pairs: Sequence[TextPair], golds: Sequence[Gold], *, name: str = "gold"
) -> dict[tuple[str, str], list[np.ndarray]]:
    """The AER of each head alone by method and step: a layer each, [H]. ``name``: the file of the gold."""
    decisions = Survey(direction, ("weights", "norms")).decide(direction.encode(pairs))
    check_gold(name, golds, decisions)
    found = compare(golds, [Seed(decisions)], sampling=Sampling(samples=2))
    return {(row.method, row.step): [np.array(layer) for layer in row.aer] for row in found.heads}

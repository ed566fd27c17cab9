"""What single heads are worth: relevance (LRP), and how well each attends over the encoder as an aligner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ..alignment.gold import Gold
from ..analysis.comparison import Sampling, Seed, compare
from ..analysis.decisions import check_gold
from ..attribution.relevance import head_relevance, propagate
from ..attribution.rules import AlphaBeta
from ..errors import NormalignError
from ..hosts.fairseq.whole_model import forced_view
from .bitext import Pair
from .directions import Direction
from .every_layer import Readers, decide_everything
from .reader import decoder_input

LRP_ALPHA = 0.5
"""Of the alpha-beta rule, as in Voita et al."""


def relevance_of_heads(direction: Direction, pairs: Sequence[Pair], kind: str) -> list[np.ndarray]:
    """The mean share of each head in the relevance of its layer, over all target words: a layer each, [H]."""
    model = direction.aligner.models[0]
    dictionary = direction.aligner.target.dictionary
    total, words = None, 0
    for _, batch in direction.batches(direction.encode(pairs)):
        tokens = decoder_input(batch.targets, dictionary.eos(), dictionary.pad())
        steps = torch.tensor([len(target) + 1 for target in batch.targets])
        with forced_view(model, batch.encoder_input, batch.targets, tokens, batch.rows) as view:
            shares = head_relevance(propagate(view, AlphaBeta(LRP_ALPHA)), steps)[kind].cpu().numpy()
        count = int(steps.sum())
        total = shares * count if total is None else total + shares * count
        words += count
    if total is None:
        raise NormalignError("none of the pairs can be read: each is empty or longer than the model's positions")
    return list(total / words)


def error_of_heads(
    direction: Direction, pairs: Sequence[Pair], golds: Sequence[Gold], *, name: str = "gold"
) -> dict[tuple[str, str], list[np.ndarray]]:
    """The AER of each head alone by method and setting: a layer each, [H]. ``name``: the file of the gold."""
    readers = Readers(direction, ("weights", "norms"))
    decisions = decide_everything(direction, direction.encode(pairs), readers)
    check_gold(name, golds, decisions)
    found = compare(golds, [Seed(decisions)], sampling=Sampling(samples=2))
    return {(row.method, row.setting): [np.array(layer) for layer in row.aer] for row in found.heads}

"""Erasure: how much less likely each target word is when one source piece is not there.

The slow reference, with one run of the model for each source piece; every run serves all target words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from .records import ModelView
from .registry import ModelMethod, register_method

POSITIONS_AT_ONCE = 4096
"""Positions (source and target) of the copies that run together."""


@register_method("erasure")
class Erasure(ModelMethod):
    """The loss of log-probability when a source piece is erased: prediction difference (Li et al. 2019).

    ``how``: ``zero`` puts the zero vector in place of the piece's embedding, as they do, and the place stays;
    ``remove`` leaves the piece out of the sentence, and those after it move up.
    """

    signed = True

    def __init__(self, how: Literal["zero", "remove"] = "zero") -> None:
        self.how = how

    def run(self, view: ModelView, layers: Sequence[int]) -> Tensor:
        """-> [1, N, T + 1, S]."""
        embeddings, real = view.source_embeddings, ~view.source_padding
        whole = view.log_probs(view.features(embeddings))  # [N, T + 1]
        losses = whole.new_zeros(*whole.shape, embeddings.size(1))
        places = real.nonzero()  # [copies, 2]: sentence, position
        for some in places.split(max(1, POSITIONS_AT_ONCE // (embeddings.size(1) + whole.size(1)))):
            rows, positions = some.unbind(1)
            losses[rows, :, positions] = whole[rows] - self._without(view, rows, positions)
        return losses.unsqueeze(0)

    def _without(self, view: ModelView, rows: Tensor, positions: Tensor) -> Tensor:
        """Log-probabilities in M copies, each without one position: [M], [M] -> [M, T + 1]."""
        embeddings = view.source_embeddings[rows].clone()
        copies = torch.arange(len(rows), device=rows.device)
        embeddings[copies, positions] = 0
        hidden = None
        if self.how == "remove":
            hidden = torch.zeros(embeddings.shape[:2], dtype=torch.bool, device=rows.device)
            hidden[copies, positions] = True
        return view.log_probs(view.features(embeddings, rows, hidden), rows)

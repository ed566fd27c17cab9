"""What methods for whole models may ask of a model; each host implements it."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from .records import Transformer


class ModelView(Protocol):
    """One model run on N forced sentence pairs: N targets of at most T pieces, S source positions.

    Step t of the T + 1 decoder steps has to output piece t, the last one the end of sentence. Everything about a target
    beyond its end is meaningless and harmless.
    """

    steps: Tensor
    """[N]: how many decoder steps each target has, its end of sentence included."""

    @property
    def source_embeddings(self) -> Tensor:
        """[N, S, E]: the embeddings of the source pieces as the encoder looks them up, without gradients."""
        ...

    @property
    def source_padding(self) -> Tensor:
        """[N, S]: true where there is no source piece."""
        ...

    def features(self, embeddings: Tensor, rows: Tensor | None = None, hidden: Tensor | None = None) -> Tensor:
        """Return what the decoder gives to its output layer when the source has these embeddings; differentiable.

        embeddings [M, S, E]; rows [M]: which of the N pairs each belongs to (None: all, in order); hidden [M, S]: true
        for source pieces that are to be left out -> [M, T + 1, C].
        """
        ...

    def log_probs(self, features: Tensor, rows: Tensor | None = None) -> Tensor:
        """The log-probability of what each step has to output: [M, T + 1, C] -> [M, T + 1]; differentiable."""
        ...

    def scores(self, features: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return the logit of what each step has to output (the log-probability with an adaptive softmax)."""
        ...

    def record(self) -> Transformer:
        """The tensors of every layer."""
        ...

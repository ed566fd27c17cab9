"""What ``aligning`` needs of a host: a batch to force, a model to read, and a loaded model with its text.

Each host (``hosts/fairseq``, ``hosts/transformers``) fulfils these protocols; nothing above them knows which one runs.
Shapes: B source sentences, N targets (several may translate one source), S source positions, T target pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..analysis.attention_batch import Inventory, Projections
from ..errors import NormalignError
from ..links.pieces import Sentence, Span
from ..methods.records import Attention, AttentionBlock, ModelView
from ..text.encoding import Line, LineCoder

Record = Attention | AttentionBlock
"""What is recorded of a layer: its attention, alone or with the block around it."""

Take = Callable[[int, Any], None]
"""Called with a 0-based layer and its record (:class:`Attention`, or :class:`AttentionBlock` where blocks are read)."""

EMPTY, TOO_LONG, NO_MEMORY = "empty", "too long", "not enough memory"
"""Why a pair is left unaligned."""

Pair = tuple[Line, Line]
"""Source and target of a pair, as the model reads them."""


class OutOfMemory(NormalignError):
    """A batch needed more memory than there is."""


def padded(rows: Sequence[Sequence[int]], pad: int) -> Tensor:
    """Return rows of indices as one tensor, padded on the right: [N, longest].

    >>> padded([[5, 6], [7]], 1).tolist()
    [[5, 6], [7, 1]]
    """
    longest = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], dtype=torch.long)


def rows_of(rows: Sequence[Sequence[int]]) -> Sequence[Tensor]:
    """Return rows of indices as tensors, made at once: N tensors of their own lengths.

    >>> [row.tolist() for row in rows_of([[5, 6], [], [7]])]
    [[5, 6], [], [7]]
    """
    return torch.tensor([index for row in rows for index in row], dtype=torch.long).split([len(row) for row in rows])


@dataclass(frozen=True)
class Batch:
    """Sources as the encoder takes them, and the targets to force, each with the row of its source."""

    encoder_input: Mapping[str, Any]
    """What the model's encoder takes, one row per source; B rows."""
    source_tokens: Tensor
    """[B, S]: the indices of the source pieces."""
    source_padding: Tensor
    """[B, S]: true where there is no source piece."""
    targets: Sequence[Tensor]
    """N targets as piece indices, without the start and the end of the sentence."""
    rows: Sequence[int]
    """N numbers: which source each target translates."""
    start: tuple[int, ...]
    """What the decoder is given before the first piece: the end of sentence, a language tag, or both."""
    end: int
    """What the last step has to output."""
    pad: int
    names: Sequence[str] = ()
    """N names for messages, for example sentence ids."""
    encoded: Sequence[object] = ()
    """What the encoder of each model made of ``encoder_input``, where that is known already; without it, it runs."""
    sentences: Sequence[tuple[Sentence, Sentence]] = ()
    """N pairs of source (its end included) and target."""

    def name(self, number: int) -> str:
        """Return how to call target ``number`` in a message."""
        return self.names[number] if number < len(self.names) else f"{number + 1} of its batch"

    @property
    def first_step(self) -> int:
        """The decoder step that outputs the first piece."""
        return len(self.start) - 1

    @property
    def steps(self) -> Tensor:
        """[N]: how many decoder steps each target has from its first piece on, its end of sentence included."""
        return torch.tensor([len(target) + 1 for target in self.targets])

    def decoder_input(self) -> Tensor:
        """Return the start symbols and the pieces of every target, right-padded: [N, len(start) + T]."""
        start = torch.tensor(self.start, device=self.targets[0].device).expand(len(self.targets), -1)
        return torch.cat([start, pad_sequence(list(self.targets), batch_first=True, padding_value=self.pad)], 1)

    def decoder_output(self) -> Tensor:
        """Return what each step has to output, the end of sentence last: [N, len(start) + T], right-padded."""
        tokens = self.decoder_input().roll(-1, dims=1)
        tokens[:, -1] = self.pad
        last = self.first_step + torch.tensor([len(target) for target in self.targets], device=tokens.device)
        return tokens.scatter_(1, last.unsqueeze(1), self.end)


class HostModel(Protocol):
    """One encoder-decoder Transformer that can be read. It may be used from several threads: calls take turns."""

    @property
    def name(self) -> str:
        """The name of its class, for messages."""
        ...

    @property
    def layers(self) -> int:
        """How many decoder layers it has."""
        ...

    def count(self, kind: str = "cross") -> int:
        """Return how many layers have the attention of ``kind`` (encoder, decoder, cross)."""
        ...

    def projections(self, kind: str) -> list[Projections]:
        """Return the parameters of the transformation f of every layer of ``kind``."""
        ...

    @property
    def max_positions(self) -> tuple[int, int]:
        """How many source and target positions it has, start and end included."""
        ...

    @property
    def precision(self) -> torch.dtype:
        """The type in which its layers are multiplied."""
        ...

    def compute_in(self, precision: str) -> None:
        """Compute the products of forced passes in one of :data:`.precision.PRECISIONS`, where this is a CPU."""
        ...

    def read_layers(
        self,
        batch: Batch,
        layers: Sequence[int],
        take: Take,
        *,
        kind: str = "cross",
        blocks: bool = False,
        outputs: bool = False,
        encoded: object = None,
    ) -> None:
        """Run one forced pass and call ``take(layer, record)`` for each of ``layers`` (0-based) as it runs.

        The decoder stops after the highest of them. A record is an :class:`Attention` ([N, H, len(start) + T, S]) or,
        with ``blocks``, an :class:`AttentionBlock`, which self-attention (``kind`` encoder, decoder) needs. ``outputs``
        keeps what the layer returned, for the self-check; ``encoded`` is what the encoder made of the batch, where that
        is known.
        """
        ...

    def view(self, batch: Batch) -> AbstractContextManager[ModelView]:
        """Return the whole model with the targets forced, for methods that look beyond single layers."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a line."""

    target: Line
    score: float
    """Mean log-probability of its pieces and its end, natural logarithm."""


class LoadedModel(Protocol):
    """A model, or an ensemble of models, with its text: what the ``load`` of a host returns."""

    models: Sequence[HostModel]
    languages: tuple[str | None, str | None]
    source: LineCoder
    target: LineCoder

    def inventories(self) -> tuple[Inventory, Inventory]:
        """Return the pieces that the source and the target side know."""
        ...

    def batch(self, pairs: Sequence[Pair], names: Sequence[str] = ()) -> Batch:
        """Return encoded pairs as one batch, on the model's device."""
        ...

    def translate(self, lines: Sequence[str], *, beam: int = 5, nbest: int = 1) -> list[list[Hypothesis]]:
        """Translate lines by beam search: the best ``nbest`` translations of each line, the best first."""
        ...

    def natural(self, line: Line) -> tuple[str, Sequence[Span]]:
        """Return the text of a translation as people write it, and the places of its words."""
        ...

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the mean log-probability of each target, its end included, given its source."""
        ...


__all__ = [
    "Attention",
    "AttentionBlock",
    "Batch",
    "HostModel",
    "Hypothesis",
    "LoadedModel",
    "Pair",
    "Record",
    "Take",
]

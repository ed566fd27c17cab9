"""What ``align`` needs of a host: a batch to force, and a loaded model with its text.

Each host (``hosts/fairseq``, ``hosts/transformers``) returns a :class:`LoadedModel`, whose models are each a
:class:`~fairseq_normalign.hosts.reading.ReadModel`; nothing above them knows which one runs.
Shapes: B source sentences, N targets (several may translate one source), S source positions, T target pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from ..analysis.attention_batch import Inventory
from ..errors import NormalignError
from ..links.pieces import Sentence, Span
from ..methods.records import Attention, AttentionBlock
from ..text.encoding import Line, LineCoder

if TYPE_CHECKING:
    from .reading import ReadModel

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


def padded(rows: Sequence[Sequence[int]], pad: int, *, left: bool = False) -> Tensor:
    """Return rows of indices as one tensor, padded on the right or on the left: [N, longest].

    >>> padded([[5, 6], [7]], 1).tolist()
    [[5, 6], [7, 1]]
    """
    longest = max(map(len, rows), default=0)
    filled = [[pad] * (longest - len(row)) for row in rows]
    found = [[*more, *row] if left else [*row, *more] for row, more in zip(rows, filled, strict=True)]
    return torch.tensor(found, dtype=torch.long)


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
        front, pieces = len(self.start), torch.cat(list(self.targets))
        lengths = torch.tensor([len(target) for target in self.targets], device=pieces.device)
        longest = max(map(len, self.targets))
        tokens = pieces.new_full((len(self.targets), front + longest), self.pad)
        tokens[:, :front] = torch.tensor(self.start, device=pieces.device)
        within = torch.arange(longest, device=pieces.device) < lengths.unsqueeze(1)
        tokens[:, front:].masked_scatter_(within, pieces)
        return tokens

    def decoder_output(self) -> Tensor:
        """Return what each step has to output, the end of sentence last: [N, len(start) + T], right-padded."""
        tokens = self.decoder_input().roll(-1, dims=1)
        tokens[:, -1] = self.pad
        last = self.first_step + torch.tensor([len(target) for target in self.targets], device=tokens.device)
        return tokens.scatter_(1, last.unsqueeze(1), self.end)


def batch_of(
    pairs: Sequence[Pair],
    names: Sequence[str],
    tokens: Tensor,
    padding: Tensor,
    *,
    encoder_input: Mapping[str, Any],
    start: tuple[int, ...],
    end: int,
    pad: int,
) -> Batch:
    """Return encoded pairs as one batch; ``tokens`` [B, S] are their sources, ``padding`` says where there is none."""
    return Batch(
        encoder_input=encoder_input,
        source_tokens=tokens,
        source_padding=padding,
        targets=rows_of([line.indices for _, line in pairs]),
        rows=range(len(pairs)),
        start=start,
        end=end,
        pad=pad,
        names=names,
        sentences=[(line.sentence, other.sentence) for line, other in pairs],
    )


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a line."""

    target: Line
    score: float
    """Mean log-probability of its pieces and its end, natural logarithm."""


class LoadedModel(Protocol):
    """A model, or an ensemble of models, with its text: what the ``load`` of a host returns."""

    models: Sequence[ReadModel]
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
    "Hypothesis",
    "LoadedModel",
    "Pair",
    "Record",
    "Take",
]

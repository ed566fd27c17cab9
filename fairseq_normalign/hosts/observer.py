"""Text through a model, and what its attention did on it, in batches: what the analyses look at.

The base of every observer, and of those of masked language models, which each host completes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from ..analysis.attention_batch import PAD, Inventory, Observed, ObservedLayer, Projections
from ..errors import NormalignError
from ..methods.block import VARIANTS, mixing_ratio
from ..methods.norms import transformed_gram, transformed_norms
from ..methods.records import AttentionBlock
from ..text.encoding import batches_by_length
from .protocol import EMPTY, TOO_LONG, padded
from .reading import Sublayer, recorded

TextPair = tuple[str, str]
Take = Callable[[int, AttentionBlock], None]


def observe(block: AttentionBlock, *, mixing: bool = False) -> ObservedLayer:
    """Return what the analyses need of an attention block."""
    attention = block.attention
    gram = transformed_gram(attention.values, attention.out_weight, attention.heads)
    lengths = transformed_norms(gram)
    ratios: dict[str, np.ndarray] = (
        {variant: mixing_ratio(block, variant).cpu().numpy() for variant in VARIANTS} if mixing else {}
    )
    return ObservedLayer(
        weights=attention.weights.cpu().numpy(),
        lengths=lengths.cpu().numpy(),
        inputs=block.inputs.norm(dim=-1).cpu().numpy(),
        mixing=ratios,
    )


def check_observed(layers: Sequence[ObservedLayer], lines: Sequence[int]) -> None:
    """NaN or infinity must never become a figure; ``lines`` [B] are the numbers of the batch's lines, from 0."""
    for index, layer in enumerate(layers):
        for row, line in enumerate(lines):
            if not all(np.isfinite(part[row]).all() for part in (layer.weights, layer.lengths, layer.inputs)):
                raise NormalignError(
                    f"sentence {line + 1}: NaN or infinity in attention layer {index + 1}; "
                    "is the checkpoint sound, or its precision too low?"
                )


class Observer(ABC):
    """A model that lines of text are sent through: pairs, of which a one-sided model reads the source."""

    kind: str
    queries: Inventory
    keys: Inventory

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        """Why lines were left out, and how often."""
        self._lines_before = 0

    @abstractmethod
    def observed(self, lines: Sequence[TextPair], *, mixing: bool = False) -> Iterator[Observed]:
        """Return what attention did on the lines, in batches."""

    @abstractmethod
    def pieces(self, lines: Sequence[TextPair]) -> tuple[np.ndarray, np.ndarray]:
        """Return every piece of the lines that would be a query and a key: [N], [M]."""

    @abstractmethod
    def projections(self) -> list[Projections]:
        """Return the parameters of f, one entry per layer."""


class OneSided(Observer):
    """The self-attention of a masked language model."""

    kind = "encoder"

    def __init__(
        self, inventory: Inventory, parts: Sequence[Sublayer], *, mask: int | None, max_tokens: int, longest: int
    ) -> None:
        """``parts``: its attention, layer by layer; ``mask``: the piece that stands for a hidden one."""
        super().__init__()
        self.queries = self.keys = inventory
        self.mask_rate = 0.0
        """How many pieces of the text are hidden from the model, as a share."""
        self._parts = parts
        self._mask = mask
        self._max_tokens = max_tokens
        self._longest = longest
        self._chance = np.random.default_rng(1)

    @abstractmethod
    def encode(self, line: str) -> list[int]:
        """Return the pieces of a line, with those that start and end it."""

    @abstractmethod
    def forward(self, tokens: Tensor, real: Tensor) -> None:
        """Send pieces [B, S] through the model, in the state in which it can be read; ``real`` [B, S]: no padding."""

    def hide(self, rate: float, seed: int) -> None:
        """From now on, hide this share of the pieces."""
        if rate and self._mask is None:
            raise NormalignError("--mask: this model has no piece that stands for a hidden one")
        self.mask_rate, self._chance = rate, np.random.default_rng(seed)

    def run(self, tokens: Tensor, real: Tensor, take: Take) -> None:
        """Send pieces through the model: [B, S], where they are real [B, S]; ``take`` every layer."""
        with recorded(self._parts, self.kind, range(len(self._parts)), take, blocks=True):
            self.forward(tokens, real)

    def observed(self, lines: Sequence[TextPair], *, mixing: bool = False) -> Iterator[Observed]:
        """Return what attention did on the source sides, in batches."""
        first, self._lines_before = self._lines_before, self._lines_before + len(lines)
        fitting: list[tuple[int, list[int]]] = []
        for place, (line, _) in enumerate(lines, start=first):
            pieces = self.encode(line)
            if all(piece in self.keys.special for piece in pieces):
                self.skipped[EMPTY] += 1
            elif len(pieces) > self._longest:
                self.skipped[TOO_LONG] += 1
            else:
                fitting.append((place, pieces))
        for chosen in batches_by_length([(len(pieces), 0) for _, pieces in fitting], self._max_tokens):
            keys = padded([fitting[number][1] for number in chosen], PAD).numpy()
            if self.mask_rate:
                text = (keys != PAD) & ~np.isin(keys, sorted(self.keys.special))
                keys[text & (self._chance.random(keys.shape) < self.mask_rate)] = self._mask
            layers: list[ObservedLayer] = []
            tokens, real = torch.from_numpy(np.where(keys == PAD, 0, keys)), torch.from_numpy(keys != PAD)

            def take(_: int, block: AttentionBlock, layers: list[ObservedLayer] = layers) -> None:
                layers.append(observe(block, mixing=mixing))

            self.run(tokens, real, take)
            check_observed(layers, [fitting[number][0] for number in chosen])
            yield Observed(self.kind, keys, keys, layers)

    def pieces(self, lines: Sequence[TextPair]) -> tuple[np.ndarray, np.ndarray]:
        """Return the pieces of the source sides."""
        found = np.array([piece for line, _ in lines for piece in self.encode(line)], dtype=int)
        return found, found

    def projections(self) -> list[Projections]:
        """Return the parameters of f, one entry per layer."""
        return [part.projections() for part in self._parts]

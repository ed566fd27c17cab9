"""A model of ``transformers`` behind the host protocol: :class:`fairseq_normalign.hosts.protocol.HostModel`."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from ...analysis.attention_batch import Projections
from ..evaluating import evaluating
from ..projections import projections_of
from ..protocol import Batch, Take
from .recording import picked, reading, run_decoder, run_encoder, run_recorded
from .structure import Structure
from .whole_model import ForcedView, forced_view

NO_LIMIT = 1_000_000
"""Positions of a model whose positions are relative."""


class TransformersModel:
    """One encoder-decoder Transformer.

    >>> model = TransformersModel(AutoModelForSeq2SeqLM.from_pretrained("opus-mt-de-en"))  # doctest: +SKIP
    >>> model.layers  # doctest: +SKIP
    6
    """

    def __init__(self, module: Any) -> None:
        """``module``: a model of the library; one that cannot be read is a clear error."""
        self.module = module
        self.structure = Structure(module)
        self._turns = threading.RLock()  # hooks stand on the module: two threads would see each other's tensors

    @property
    def name(self) -> str:
        """The name of the model's class."""
        return type(self.module).__name__

    @property
    def layers(self) -> int:
        """How many decoder layers it has."""
        return len(self.structure.cross)

    def embeddings(self, side: str) -> int:
        """Return how many pieces the encoder or the decoder has a vector for."""
        return int(getattr(self.structure, side).embed_tokens.weight.size(0))

    def count(self, kind: str = "cross") -> int:
        """Return how many layers have the attention of ``kind``."""
        return len(self.structure.attention(kind))

    def projections(self, kind: str) -> list[Projections]:
        """Return the parameters of the transformation f of every layer of ``kind``."""
        return [projections_of(part.heads, part.value, part.out) for part in self.structure.attention(kind)]

    @property
    def max_positions(self) -> tuple[int, int]:
        """How many source and target positions it has, start and end included."""
        config = self.module.config
        positions = getattr(config, "max_position_embeddings", None) or NO_LIMIT
        return int(positions), int(positions)

    @property
    def precision(self) -> torch.dtype:
        """The type of its parameters."""
        return next(self.module.parameters()).dtype

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return next(self.module.parameters()).device

    def read_layers(
        self,
        batch: Batch,
        layers: Sequence[int],
        take: Take,
        *,
        kind: str = "cross",
        blocks: bool = False,
        outputs: bool = False,
        encoded: Any = None,
    ) -> None:
        """Run one forced pass and hand out the records of ``layers``, as the protocol says.

        ``encoded``: the states of the encoder, [B, S, C].
        """

        def run() -> None:
            states = run_encoder(self.structure, batch.encoder_input) if encoded is None else encoded
            if kind == "encoder":
                return
            rows = torch.as_tensor(list(batch.rows), device=states.device)
            tokens = batch.decoder_input().to(states.device)
            run_decoder(self.structure, picked(batch.encoder_input, rows), states[rows], tokens)

        with self._turns, reading(self.module):
            run_recorded(self.structure, run, layers, take, kind=kind, blocks=blocks, outputs=outputs)

    @contextmanager
    def view(self, batch: Batch) -> Iterator[ForcedView]:
        """Return the whole model with the targets forced."""
        with self._turns, forced_view(self.structure, batch) as view:
            yield view

    def generate(self, **options: Any) -> Tensor:
        """Return what the library's own search finds: [B * n, T]."""
        with self._turns, evaluating(self.module):
            return self.module.generate(**options)

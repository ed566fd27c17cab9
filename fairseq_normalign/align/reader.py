"""The one reader: any number of places read from one forced pass over a batch, from one model or an ensemble.

Everything that needs soft alignments comes here: the generation hook, align, compare, layers, view, report, dumps.
Shapes: N targets of a batch, H heads, T + 1 decoder steps of a target from its first piece on, S source positions.
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from ..errors import NormalignError
from ..hosts.protocol import Batch, Record
from ..hosts.reading import ReadModel
from ..links.readings import EACH, Place
from ..methods import Attention, BlockMethod, Method, ModelMethod, get_method
from ..methods.norms import decomposition_error
from ..methods.records import AttentionBlock
from ..methods.registry import ReadsLayer

Found = dict[Place, np.ndarray]
"""What was read of one target: [T + 1, S] for each place, [H, T + 1, S] where every head was asked for."""

TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 1e-1, torch.int8: 1e-1}
"""Largest error the self-check allows, as a share of the largest output; single precision: 1e-4."""


class Reader:
    """Reads batches from one model or an ensemble, and keeps the time that each method took."""

    def __init__(self, models: Sequence[ReadModel], *, check: bool = False) -> None:
        """``check``: verify on every batch and layer that what is read adds up to what the model computed."""
        self.models = list(models)
        self.check = check
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """Seconds by method, the pass that several methods share counted for each of them."""
        self.on_method: Callable[[str], object] = lambda name: None
        """Told the name of each method before it reads a batch: some take minutes."""
        self._methods: dict[str, Method] = {}

    @property
    def layers(self) -> int:
        """How many decoder layers can be read: those of the first model."""
        return self.models[0].layers

    def method(self, name: str) -> Method:
        """Return the method of that name, made once."""
        if name not in self._methods:
            self._methods[name] = get_method(name)
        return self._methods[name]

    def places(self, method: str, *, heads: bool = False, whole: bool = True) -> list[Place]:
        """Return every place of a method: its layers and, with ``heads``, every head of them."""
        count = self.layers if self.method(method).layerwise else 1
        wanted = [None] * whole + [EACH] * (heads and self.method(method).has_heads)
        return [Place(method, layer, head) for layer in range(count) for head in wanted]

    def read(self, batch: Batch, places: Iterable[Place]) -> list[Found]:
        """Read the places from one pass per model; return what was found for each target, source padding removed.

        The rows of an ensemble are normalized before they are averaged.
        """
        wanted = list(dict.fromkeys(places))
        total: dict[Place, Tensor] = {}
        for model, encoded in itertools.zip_longest(self.models, batch.encoded):
            for place, soft in self._one_model(model, batch, wanted, encoded).items():
                soft = soft[..., batch.first_step :, :]
                check_finite(soft, batch, self._name(place))
                if len(self.models) > 1:
                    soft = soft / soft.abs().sum(-1, keepdim=True).clamp_min(torch.finfo(soft.dtype).tiny)
                total[place] = soft if place not in total else total[place] + soft
        return self._by_target(batch, {place: total[place] for place in wanted})

    def _by_target(self, batch: Batch, total: dict[Place, Tensor]) -> list[Found]:
        kept = (~batch.source_padding).cpu().numpy()
        means = {place: (soft / len(self.models)).cpu().numpy() for place, soft in total.items()}
        return [
            {
                place: np.ascontiguousarray(soft[number, ..., : len(target) + 1, :][..., kept[batch.rows[number]]])
                for place, soft in means.items()
            }
            for number, target in enumerate(batch.targets)
        ]

    def _name(self, place: Place) -> str:
        return f"decoder layer {place.layer + 1}" if self.method(place.method).layerwise else place.method

    def _one_model(
        self, model: ReadModel, batch: Batch, places: Sequence[Place], encoded: object
    ) -> dict[Place, Tensor]:
        """-> [N, steps, S] for each place, [N, H, steps, S] where every head was asked for."""
        of_layers = [place for place in places if isinstance(self.method(place.method), ReadsLayer)]
        found = self._read_layers(model, batch, of_layers, encoded) if of_layers or self.check else {}
        by_method: defaultdict[str, list[Place]] = defaultdict(list)
        for place in places:
            if isinstance(self.method(place.method), ModelMethod):
                by_method[place.method].append(place)
        for name, group in by_method.items():
            found |= self._read_whole(model, batch, name, group)
        return found

    def _read_whole(self, model: ReadModel, batch: Batch, name: str, places: Sequence[Place]) -> dict[Place, Tensor]:
        method = self.method(name)
        assert isinstance(method, ModelMethod)
        if any(place.head is not None for place in places):
            raise NormalignError(f"the method '{name}' has no single heads to read")
        self.on_method(name)
        before = time.perf_counter()
        with model.view(batch) as view:
            soft = method.run(view, [place.layer for place in places])
        self.seconds[name] += time.perf_counter() - before
        return dict(zip(places, soft, strict=True))

    def _read_layers(
        self, model: ReadModel, batch: Batch, places: Sequence[Place], encoded: object
    ) -> dict[Place, Tensor]:
        names = list(dict.fromkeys(place.method for place in places))
        blocks = any(isinstance(self.method(name), BlockMethod) for name in names)
        layers = range(model.layers) if self.check else sorted({place.layer for place in places})
        found: dict[Place, Tensor] = {}
        spent: defaultdict[str, float] = defaultdict(float)

        def take(layer: int, record: Record) -> None:
            attention = record.attention if isinstance(record, AttentionBlock) else record
            if self.check:
                check_parts(model, layer, attention)
            for name in names:
                before = time.perf_counter()
                group = [place for place in places if place.method == name and place.layer == layer]
                found.update(self._read_layer(name, record if self._takes_block(name) else attention, group))
                spent[name] += time.perf_counter() - before

        self.on_method(" and ".join(names))
        before = time.perf_counter()
        model.read_layers(batch, layers, take, blocks=blocks, outputs=self.check, encoded=encoded)
        shared = time.perf_counter() - before - sum(spent.values())
        for name in names:
            self.seconds[name] += shared + spent[name]
        return found

    def _takes_block(self, name: str) -> bool:
        return isinstance(self.method(name), BlockMethod)

    def _read_layer(self, name: str, record: Record, places: Sequence[Place]) -> dict[Place, Tensor]:
        """Read one layer by one method, computing the sum over heads and the single heads only where they are asked."""
        method = self.method(name)
        assert isinstance(method, ReadsLayer)
        wants_whole = any(place.head is None for place in places)
        wants_heads = any(place.head is not None for place in places)
        whole, heads = None, None
        if wants_whole and wants_heads:
            whole, heads = method.both(record)
        elif wants_whole:
            whole = method.layer(record)
        elif wants_heads:
            heads = method.by_head(record)
        return {place: _chosen(place, whole, heads) for place in places}


def _chosen(place: Place, whole: Tensor | None, heads: Tensor | None) -> Tensor:
    """whole [N, steps, S] or heads [N, H, steps, S] -> what the place asks for."""
    if place.head is None:
        assert whole is not None
        return whole
    assert heads is not None
    if place.head == EACH:
        return heads
    if not 0 <= place.head < heads.size(1):
        raise NormalignError(f"there is no head {place.head + 1}; the layer has {heads.size(1)}")
    return heads[:, place.head]


def check_finite(soft: Tensor, batch: Batch, place: str) -> None:
    """Raise an error that names the sentence and the place if there is NaN or infinity: soft [N, ..., T + 1, S]."""
    if bool(torch.isfinite(soft).all()):
        return
    for number, target in enumerate(batch.targets):
        if not bool(torch.isfinite(soft[number, ..., : len(target) + 1, :]).all()):
            raise NormalignError(
                f"sentence {batch.name(number)}: NaN or infinity in {place}; "
                "is the checkpoint sound, or its precision too low?"
            )


def check_parts(model: ReadModel, layer: int, attention: Attention) -> None:
    """Raise an error if the transformed vectors and the output bias do not add up to what the layer returned."""
    error = relative_error(attention)
    if not error <= TOLERANCE.get(model.precision, 1e-4):
        raise NormalignError(
            f"self-check of {model.name}: in decoder layer {layer + 1} the vectors miss what the "
            f"layer returned by {error:.1e} of its size; its attention is not computed as it is read"
        )


def relative_error(attention: Attention) -> float:
    """Return the distance of the sum of the parts from the output, as a share of the largest output."""
    assert attention.output is not None
    return decomposition_error(attention) / max(float(attention.output.abs().max()), 1e-12)

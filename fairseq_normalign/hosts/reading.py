"""Reading a Transformer from outside, whatever its host: hooks that exist only while something is read.

A host's model is a :class:`ReadModel`: it says where its attention is (:class:`Sublayer`), how it is put into the state
in which it is read, and how its encoder and decoder run. Recording layers and the view of a whole model are here.
Shapes: B sources, N targets, S source positions, T target positions, C channels, E embedding size, V vocabulary.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from ..analysis.attention_batch import Projections
from ..errors import NormalignError
from ..methods.records import (
    KINDS,
    Attention,
    AttentionBlock,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Norm,
    Transformer,
    widened,
)
from .precision import TYPES, Products
from .protocol import Batch, OutOfMemory, Take

if TYPE_CHECKING:
    from typing_extensions import Self


class Enough(Exception):
    """What was asked for has been read: the rest of the model need not run."""


@dataclass(frozen=True)
class Sublayer:
    """One attention with the norms before and after it."""

    attention: Any
    query: Any
    value: Any
    out: Any
    """The projections of queries, values and outputs, like ``torch.nn.Linear``."""
    heads: int
    norm: Any
    """The norm of this attention: before it in a pre-norm layer, after its residual connection in a post-norm one."""
    next_norm: Any
    """The norm of what follows in the layer; in a pre-norm layer it takes what this sublayer returns."""
    steps_first: bool = False
    """Whether tensors are [T, B, C] there and not [B, T, C]."""
    heads_first: bool = False
    """Whether weights are [H, B, T, S] there and not [B, H, T, S]."""
    ask: Mapping[str, Any] = field(default_factory=dict)
    """The keyword arguments that make the attention return the weights of each head."""

    def batch_first(self, tensor: Tensor) -> Tensor:
        """Return [B, T, C], whatever order the layer keeps."""
        return tensor.transpose(0, 1) if self.steps_first else tensor

    def projections(self) -> Projections:
        """Return the parameters of the transformation f."""
        value, bias, out = (
            None if parameter is None else parameter.detach().cpu().double().numpy()
            for parameter in (self.value.weight, self.value.bias, self.out.weight)
        )
        assert value is not None
        assert out is not None
        return Projections(heads=self.heads, value_weight=value, value_bias=bias, out_weight=out)


def check_parameters(module: nn.Module, name: object) -> None:
    """Refuse a model with NaN or infinity among its parameters; ``name`` is what to call it."""
    for key, parameter in module.named_parameters():
        if parameter.is_floating_point() and not bool(torch.isfinite(parameter).all()):
            raise NormalignError(f"{name}: NaN or infinity in its parameter {key}; is the file damaged?")


@contextmanager
def enough_memory(names: Sequence[str]) -> Iterator[None]:
    """While this lasts, running out of memory is an error that names the sentences."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        said = str(error)
        is_memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
        if not is_memory and not any(words in said for words in OUT_OF_MEMORY):
            raise
        found = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}" if names else "of this batch"
        raise OutOfMemory(f"sentence {found}: not enough memory for a text of this length") from None


OUT_OF_MEMORY = ("not enough memory", "DefaultCPUAllocator", "bad_alloc", "out of memory")


PROCESS = os.getpid()
"""The process that this module was imported in."""

# -- hooks -------------------------------------------------------------------------------------------------------------


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """While this lasts, the model is in evaluation mode and keeps no gradients; then every module is as it was.

    torch's inference mode and automatic casting, if the caller is in them, are left meanwhile: methods that need
    gradients turn them on again, and links must not depend on who asks for them.
    """
    if os.getpid() != PROCESS:  # a fork has none of torch's threads, and torch would wait for them forever
        torch.set_num_threads(1)
    modes = [(module, module.training) for module in model.modules()]
    if any(training for _, training in modes):
        model.eval()
    kind = next((parameter.device.type for parameter in model.parameters()), "cpu")
    try:
        with torch.inference_mode(False), torch.no_grad(), torch.autocast(kind, enabled=False):
            yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def hooked(*handles: RemovableHandle) -> Iterator[None]:
    """While this lasts, the hooks stay."""
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def recorded(
    parts: Sequence[Sublayer], kind: str, layers: Sequence[int], take: Take, *, blocks: bool, outputs: bool = False
) -> Iterator[None]:
    """While this lasts, ``take(index, record)`` is called for each of the layers as the model runs.

    A record is an :class:`Attention` or, with ``blocks``, an :class:`AttentionBlock`; it lives only as long as ``take``
    keeps it. ``outputs`` keeps what the attention returned.
    """
    with contextlib.ExitStack() as stack:
        for index in sorted(set(layers)):
            recorder = _Recorder(parts[index], kind, index, take, blocks, outputs)
            stack.enter_context(hooked(*recorder.handles()))
        yield


class _Recorder:
    """Hooks on one attention, its projections and, for blocks, the norms before and after it."""

    def __init__(self, part: Sublayer, kind: str, index: int, take: Take, blocks: bool, outputs: bool) -> None:
        self.part, self.kind, self.index, self.take = part, kind, index, take
        self.blocks, self.outputs = blocks, outputs
        self.seen: dict[str, Any] = {}

    def handles(self) -> list[RemovableHandle]:
        part = self.part
        handles = [
            part.value.register_forward_hook(self._after_values),
            part.attention.register_forward_hook(self._after_attention),
        ]
        if part.ask:
            ask = part.attention.register_forward_pre_hook(
                lambda module, args, kwargs: (args, {**kwargs, **part.ask}), with_kwargs=True
            )
            handles.append(ask)
        if self.blocks:
            handles += [
                part.query.register_forward_pre_hook(self._before_query),
                part.norm.register_forward_hook(self._after_norm),
                part.next_norm.register_forward_pre_hook(self._before_next_norm),
            ]
        return handles

    def _before_query(self, module: nn.Module, args: tuple[Tensor]) -> None:
        self.seen.setdefault("residual", args[0])  # known already where the norm is before the attention

    def _after_values(self, module: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        self.seen.update(inputs=args[0], values=output)

    def _after_attention(self, module: nn.Module, args: tuple, output: Any) -> None:
        returned = output[1:] if isinstance(output, tuple) else ()
        weights = next((item for item in reversed(returned) if isinstance(item, Tensor) and item.dim() == 4), None)
        if weights is None or "values" not in self.seen:
            raise NormalignError(
                f"layer {self.index + 1} returns no attention weights; an attention of this kind cannot be read"
            )
        part, values = self.part, self.seen["values"]
        if part.heads_first:
            weights = weights.transpose(0, 1)
        record = Attention(
            weights=weights.to(torch.promote_types(weights.dtype, values.dtype)),
            values=part.batch_first(values),
            out_weight=part.out.weight,
            out_bias=part.out.bias,
            output=part.batch_first(output[0]) if self.outputs else None,
        ).float()
        if self.blocks:
            self.seen["attention"] = record
        else:
            self.seen.clear()
            self.take(self.index, record)

    def _after_norm(self, module: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        norm = norm_record(module, self.part.batch_first(args[0]))
        if "attention" not in self.seen:
            self.seen.update(residual=args[0], norm_before=norm)
            return
        if norm is None:
            raise NormalignError(f"layer {self.index + 1}: the norm after its attention is no LayerNorm")
        self.seen["norm_after"] = norm
        self._hand_over(output)

    def _before_next_norm(self, module: nn.Module, args: tuple[Tensor]) -> None:
        if "attention" in self.seen:
            self._hand_over(args[0])

    def _hand_over(self, output: Tensor) -> None:
        seen, self.seen = self.seen, {}
        part = self.part
        block = AttentionBlock(
            kind=self.kind,
            attention=seen["attention"],
            inputs=part.batch_first(seen["inputs"]),
            value_weight=part.value.weight,
            value_bias=part.value.bias,
            residual=part.batch_first(seen["residual"]),
            output=part.batch_first(output),
            norm_before=seen.get("norm_before"),
            norm_after=seen.get("norm_after"),
        )
        self.take(self.index, widened(block))


def norm_record(norm: Any, inputs: Tensor) -> Norm | None:
    """A LayerNorm and its inputs [B, T, C]; None for a norm of another kind, such as T5's, which does not centre."""
    is_layer_norm = isinstance(norm, nn.LayerNorm) or type(norm).__name__ == "FusedLayerNorm"
    return Norm(inputs, norm.weight, norm.bias, norm.eps) if is_layer_norm else None


# -- models ------------------------------------------------------------------------------------------------------------


class ReadModel(ABC):
    """One encoder-decoder Transformer that can be read: the base of every host's model. Threads take turns."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.turns = threading.RLock()
        """Hooks stand on the module: two threads would see each other's tensors, so calls take turns."""
        self.products: Products | None = None
        """How linear layers compute in a forced pass; None: as they are."""

    @property
    def name(self) -> str:
        """The name of the model's class."""
        return type(self.module).__name__

    @property
    def layers(self) -> int:
        """How many decoder layers it has."""
        return len(self.attention("cross"))

    @property
    def precision(self) -> torch.dtype:
        """The type in which its layers are multiplied."""
        computed = "auto" if self.products is None else self.products.precision
        return next(self.module.parameters()).dtype if computed == "auto" else TYPES[computed]

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return next(self.module.parameters()).device

    def compute_in(self, precision: str) -> None:
        """Compute the products of forced passes in ``precision`` on a CPU, by weights that are packed when needed.

        It is for models that nobody trains meanwhile: packed weights follow only what torch counts as a change.
        """
        self.products = None
        if precision in ("auto", "bfloat16", "int8") and self.device.type == "cpu" and self.precision is torch.float32:
            layers = [layer for side in ("encoder", "decoder") for layer in self.layers_of(side)]
            self.products = Products((part for layer in layers for part in layer.modules()), precision)

    def count(self, kind: str = "cross") -> int:
        """Return how many layers have the attention of ``kind``."""
        return len(self.attention(kind))

    def checked(self, name: object) -> Self:
        """Return this model; refuse one without finite parameters, or whose cross-attention adds nothing at all."""
        check_parameters(self.module, name)
        parts = self.attention("cross")
        if not any(bool(part.value.weight.any()) and bool(part.out.weight.any()) for part in parts):
            raise NormalignError(
                f"{name}: its encoder-decoder attention adds nothing: the projections of values or outputs are zero"
            )
        return self

    def projections(self, kind: str) -> list[Projections]:
        """Return the parameters of the transformation f of every layer of ``kind``."""
        return [part.projections() for part in self.attention(kind)]

    @property
    @abstractmethod
    def max_positions(self) -> tuple[int, int]:
        """How many source and target positions it has, start and end included."""

    @abstractmethod
    def attention(self, kind: str) -> list[Sublayer]:
        """Return the attention of ``kind`` (encoder, decoder, cross) of each layer, or raise a NormalignError."""

    @abstractmethod
    def layers_of(self, side: str) -> list[nn.Module]:
        """Return the layers of the 'encoder' or the 'decoder'."""

    @abstractmethod
    def reading(self, parts: Sequence[Sublayer] | None) -> AbstractContextManager[None]:
        """While this lasts, the model is in the state in which these sublayers (None: all) can be read."""

    @abstractmethod
    def run(self, batch: Batch, kind: str, encoded: Any) -> None:
        """Run one forced pass; for 'encoder' the encoder alone. ``encoded``: what the encoder returned, if known."""

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
        """Run one forced pass and call ``take(layer, record)`` for each of ``layers`` (0-based) as it runs.

        The decoder stops after the highest of them. A record is an :class:`Attention` ([N, H, len(start) + T, S]) or,
        with ``blocks``, an :class:`AttentionBlock`, which self-attention (``kind`` encoder, decoder) needs. ``outputs``
        keeps what the layer returned, for the self-check; ``encoded`` is what the encoder made of the batch, where that
        is known.
        """
        parts = self.attention(kind)
        waiting, last = set(layers), max(layers)

        def hand_on(index: int, record: Any) -> None:
            take(index, record)
            waiting.discard(index)
            if index == last:
                raise Enough

        with (
            enough_memory(batch.names),
            self.turns,
            self.reading([parts[index] for index in waiting]),
            self.products.used() if self.products else contextlib.nullcontext(),
            recorded(parts, kind, layers, hand_on, blocks=blocks, outputs=outputs),
            contextlib.suppress(Enough),
        ):
            self.run(batch, kind, encoded)
        if waiting:
            numbers = ", ".join(str(index + 1) for index in sorted(waiting))
            raise NormalignError(f"{self.name} did not run its layers {numbers}, which were asked for")

    # -- the whole model: what a forced view asks for ------------------------------------------------------------------

    @property
    @abstractmethod
    def embedding(self) -> Any:
        """The module that looks up the embeddings of the source."""

    embedding_scale = 1.0
    """What the embedding module itself multiplies vectors by."""

    @abstractmethod
    def encode(self, inputs: Mapping[str, Any]) -> Any:
        """Return what the encoder makes of its inputs."""

    @abstractmethod
    def features(self, inputs: Mapping[str, Any], states: Any, tokens: Tensor) -> Tensor:
        """Return what the decoder gives to its output layer for the tokens [N, T]: [N, T, C]."""

    @abstractmethod
    def word_scores(self, features: Tensor) -> tuple[Tensor, bool]:
        """Return the score of every piece [N, T, V], and whether scores are log-probabilities already."""

    @abstractmethod
    def without(
        self, inputs: Mapping[str, Any], embeddings: Tensor, hidden: Tensor
    ) -> tuple[Mapping[str, Any], Tensor]:
        """Return the inputs and embeddings [N, S, E] without the pieces that are ``hidden`` [N, S]."""

    @contextmanager
    def view(self, batch: Batch) -> Iterator[ForcedView]:
        """Return the whole model with the targets forced."""
        with enough_memory(batch.names), self.turns, self.reading(None):
            yield ForcedView(self, batch)


def picked(inputs: Mapping[str, Any], rows: Tensor, size: int) -> dict[str, Any]:
    """Return the rows of everything in ``inputs`` that has one for each of ``size`` sentences."""
    return {
        name: value[rows] if isinstance(value, Tensor) and value.dim() and value.size(0) == size else value
        for name, value in inputs.items()
    }


class ForcedView:
    """One model with the targets of a batch forced: N sentence pairs (a ``ModelView`` of the methods)."""

    def __init__(self, model: ReadModel, batch: Batch) -> None:
        device = batch.source_padding.device
        rows = torch.as_tensor(list(batch.rows), device=device)
        self._model = model
        self._input = picked(batch.encoder_input, rows, batch.source_padding.size(0))
        self._tokens = batch.decoder_input().to(device)
        self._outputs = batch.decoder_output().to(device)
        self._sources = batch.source_tokens[rows]
        self.source_padding = batch.source_padding[rows]
        """[N, S]."""
        self.steps = batch.steps + batch.first_step

    @functools.cached_property
    def source_embeddings(self) -> Tensor:
        """[N, S, E]."""
        return self._model.embedding(self._sources).detach() / self._model.embedding_scale

    def features(self, embeddings: Tensor, rows: Tensor | None = None, hidden: Tensor | None = None) -> Tensor:
        """[M, S, E], [M], [M, S] -> [M, T + 1, C]."""
        model, tokens = self._model, self._tokens
        inputs: Mapping[str, Any] = self._input
        if rows is not None:
            inputs, tokens = picked(inputs, rows, tokens.size(0)), tokens[rows]
        if hidden is not None:
            inputs, embeddings = model.without(inputs, embeddings, hidden)
        scaled = embeddings * model.embedding_scale
        with hooked(model.embedding.register_forward_hook(lambda module, args, output: scaled)):
            states = model.encode(inputs)
        return model.features(inputs, states, tokens)

    def log_probs(self, features: Tensor, rows: Tensor | None = None) -> Tensor:
        """[M, T + 1, C], [M] -> [M, T + 1]."""
        scores, normalized = self._model.word_scores(features)
        found = self._of_outputs(scores, rows)
        return found if normalized else found - scores.logsumexp(-1)

    def scores(self, features: Tensor, rows: Tensor | None = None) -> Tensor:
        """[M, T + 1, C], [M] -> [M, T + 1]."""
        return self._of_outputs(self._model.word_scores(features)[0], rows)

    def _of_outputs(self, by_piece: Tensor, rows: Tensor | None) -> Tensor:
        """Return the score of the piece that each step has to output: [M, T + 1, V], [M] -> [M, T + 1]."""
        outputs = self._outputs if rows is None else self._outputs[rows]
        return by_piece.gather(-1, outputs.unsqueeze(-1)).squeeze(-1)

    def record(self) -> Transformer:
        """The tensors of every layer. A feed-forward is None where it cannot be followed (T5, experts)."""
        model = self._model
        parts = {kind: model.attention(kind) for kind in KINDS}
        blocks: dict[str, dict[int, AttentionBlock]] = {kind: {} for kind in KINDS}
        sides = ("encoder", "decoder")
        inner: dict[str, list[FeedForward | None]] = {side: [None] * len(parts[side]) for side in sides}
        tops: dict[str, Any] = {}
        with torch.no_grad(), contextlib.ExitStack() as stack:
            for kind in KINDS:
                every = range(len(parts[kind]))
                stack.enter_context(recorded(parts[kind], kind, every, blocks[kind].__setitem__, blocks=True))
            for side in sides:
                for index, (layer, part) in enumerate(zip(model.layers_of(side), parts[side], strict=True)):
                    stack.enter_context(hooked(*_feed_forward_hooks(layer, part, inner[side], index)))
                stack.enter_context(hooked(*_top_hooks(getattr(model, side), side, parts[side][0], tops)))
            self.features(self.source_embeddings)
        decoder = zip(blocks["decoder"].values(), blocks["cross"].values(), inner["decoder"], strict=True)
        return Transformer(
            encoder=[EncoderLayer(*layer) for layer in zip(blocks["encoder"].values(), inner["encoder"], strict=True)],
            decoder=[DecoderLayer(*layer) for layer in decoder],
            encoder_norm=tops.get("encoder"),
            decoder_norm=tops.get("decoder"),
            projection=tops.get("projection"),
        )


def _feed_forward_hooks(
    layer: Any, part: Sublayer, found: list[FeedForward | None], index: int
) -> list[RemovableHandle]:
    """Hooks on both projections, the norm and the layer: the norm is before or after, as it is seen to run."""
    if not all(hasattr(layer, name) for name in ("fc1", "fc2", "final_layer_norm")):
        return []
    if any(getattr(layer, extra, None) is not None for extra in ("ffn_layernorm", "w_resid")):
        raise NormalignError(
            "the feed-forward of this model is scaled (--scale-fc, --scale-resids); this method cannot follow it"
        )
    seen: dict[str, Any] = {}

    def see(name: str) -> Any:
        return lambda module, args: seen.__setitem__(name, part.batch_first(args[0]))

    def after_norm(module: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        place = "norm_after" if "inner" in seen else "norm_before"
        seen[place] = norm_record(module, part.batch_first(args[0]))

    def after_layer(module: nn.Module, args: tuple, output: object) -> None:
        before = seen.get("norm_before")
        block = FeedForward(
            inputs=seen["inputs"],
            in_weight=layer.fc1.weight,
            inner=seen["inner"],
            out_weight=layer.fc2.weight,
            in_bias=layer.fc1.bias,
            out_bias=layer.fc2.bias,
            residual=seen["inputs"] if before is None else before.inputs,
            norm_before=before,
            norm_after=seen.get("norm_after"),
        )
        seen.clear()
        found[index] = widened(block)

    return [
        layer.fc1.register_forward_pre_hook(see("inputs")),
        layer.fc2.register_forward_pre_hook(see("inner")),
        layer.final_layer_norm.register_forward_hook(after_norm),
        layer.register_forward_hook(after_layer),
    ]


def _top_hooks(module: Any, side: str, part: Sublayer, tops: dict[str, Any]) -> list[RemovableHandle]:
    """What comes after the last layer: a LayerNorm and, in some decoders, a projection."""

    def see_norm(norm: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        record = norm_record(norm, part.batch_first(args[0]))
        tops[side] = None if record is None else widened(record)

    def see_projection(project: Any, args: tuple[Tensor], output: Tensor) -> None:
        tops["projection"] = args[0], project.weight

    handles = []
    if getattr(module, "layer_norm", None) is not None:
        handles.append(module.layer_norm.register_forward_hook(see_norm))
    if side == "decoder" and getattr(module, "project_out_dim", None) is not None:
        handles.append(module.project_out_dim.register_forward_hook(see_projection))
    return handles

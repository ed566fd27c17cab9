"""A model of ``transformers`` as methods for whole models see it (see ``attribution.model_protocol``)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from ...methods.records import (
    AttentionBlock,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Norm,
    Transformer,
    widened,
)
from ..protocol import Batch
from .recording import Enough, norm_record, picked, reading, recorded, run_decoder, run_encoder
from .structure import Structure, Sublayer


@contextlib.contextmanager
def forced_view(structure: Structure, batch: Batch) -> Iterator[ForcedView]:
    """Return the model, ready to be asked about the targets of the batch."""
    with reading(structure.model):
        yield ForcedView(structure, batch)


class ForcedView:
    """One model with the targets of a batch forced: N sentence pairs."""

    def __init__(self, structure: Structure, batch: Batch) -> None:
        device = batch.source_padding.device
        self._structure = structure
        self._input = picked(batch.encoder_input, batch.rows)
        self._tokens = batch.decoder_input().to(device)
        self._outputs = batch.decoder_output().to(device)
        self.steps = batch.steps + batch.first_step

    @property
    def _embedding(self) -> Any:
        return self._structure.encoder.embed_tokens

    @property
    def _scale(self) -> float:
        """What the embedding module itself multiplies vectors by; other models do so after it."""
        return float(getattr(self._embedding, "embed_scale", 1.0))

    @functools.cached_property
    def source_embeddings(self) -> Tensor:
        """[N, S, E]."""
        return self._embedding(self._input["input_ids"]).detach() / self._scale

    @property
    def source_padding(self) -> Tensor:
        """[N, S]."""
        return self._input["attention_mask"].eq(0)

    def features(self, embeddings: Tensor, rows: Tensor | None = None, hidden: Tensor | None = None) -> Tensor:
        """[M, S, E], [M], [M, S] -> [M, T + 1, C]."""
        inputs, tokens = self._input, self._tokens
        if rows is not None:
            inputs, tokens = picked(inputs, rows), tokens[rows]
        if hidden is not None:
            inputs, embeddings = _without(inputs, embeddings, hidden)
        with _returning(self._embedding, embeddings * self._scale):
            states = run_encoder(self._structure, inputs)
        with _input_of(self._structure.output_layer) as found, contextlib.suppress(Enough):
            run_decoder(self._structure, inputs, states, tokens)
        return found[0]

    def log_probs(self, features: Tensor, rows: Tensor | None = None) -> Tensor:
        """[M, T + 1, C], [M] -> [M, T + 1]."""
        logits = self._logits(features)
        return self._of_outputs(logits, rows) - logits.logsumexp(-1)

    def scores(self, features: Tensor, rows: Tensor | None = None) -> Tensor:
        """[M, T + 1, C], [M] -> [M, T + 1]."""
        return self._of_outputs(self._logits(features), rows)

    def _logits(self, features: Tensor) -> Tensor:
        """[M, T + 1, C] -> [M, T + 1, V]."""
        logits = widened(self._structure.output_layer(features))
        bias = getattr(self._structure.model, "final_logits_bias", None)
        return logits if bias is None else logits + bias

    def _of_outputs(self, by_piece: Tensor, rows: Tensor | None) -> Tensor:
        """Return the score of the piece that each step has to put out: [M, T + 1, V], [M] -> [M, T + 1]."""
        outputs = self._outputs if rows is None else self._outputs[rows]
        return by_piece.gather(-1, outputs.unsqueeze(-1)).squeeze(-1)

    def record(self) -> Transformer:
        """The tensors of every layer. The feed-forwards are None where they cannot be followed (T5, experts)."""
        structure = self._structure
        of = {side: structure.attention(side) for side in ("encoder", "decoder")}
        with torch.no_grad(), contextlib.ExitStack() as stack:
            blocks = {kind: stack.enter_context(_all_blocks(parts, kind)) for kind, parts in of.items()}
            cross = stack.enter_context(_all_blocks(structure.cross, "cross"))
            inner = {side: stack.enter_context(_feed_forwards(structure.layers(side), of[side])) for side in of}
            tops = {side: stack.enter_context(_top_norm(getattr(structure, side))) for side in of}
            self.features(self.source_embeddings)
        return Transformer(
            encoder=[EncoderLayer(*layer) for layer in zip(blocks["encoder"], inner["encoder"], strict=True)],
            decoder=[DecoderLayer(*layer) for layer in zip(blocks["decoder"], cross, inner["decoder"], strict=True)],
            encoder_norm=next(iter(tops["encoder"]), None),
            decoder_norm=next(iter(tops["decoder"]), None),
        )


def _without(inputs: Mapping[str, Tensor], embeddings: Tensor, hidden: Tensor) -> tuple[dict[str, Tensor], Tensor]:
    """The sources without their hidden pieces: those after them move up, and padding takes their places at the end."""
    order = hidden.int().argsort(dim=1, stable=True)
    moved = {name: tensor.gather(1, order) for name, tensor in inputs.items()}
    moved["attention_mask"] = moved["attention_mask"].masked_fill(hidden.gather(1, order), 0)
    return moved, embeddings.gather(1, order.unsqueeze(-1).expand_as(embeddings))


@contextlib.contextmanager
def _hooked(*handles: RemovableHandle) -> Iterator[None]:
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def _returning(module: nn.Module, result: Tensor) -> Iterator[None]:
    """The module returns ``result`` for a while, whatever it is asked."""
    with _hooked(module.register_forward_hook(lambda module, args, output: result)):
        yield


@contextlib.contextmanager
def _input_of(module: nn.Module) -> Iterator[list[Tensor]]:
    """What the module is given, for a list; it does not run, nor does what comes after it."""
    found: list[Tensor] = []

    def catch(module: nn.Module, args: tuple[Tensor]) -> None:
        found.append(args[0])
        raise Enough

    with _hooked(module.register_forward_pre_hook(catch)):
        yield found


@contextlib.contextmanager
def _all_blocks(sublayers: Sequence[Sublayer], kind: str) -> Iterator[list[AttentionBlock]]:
    found: list[AttentionBlock] = []
    with recorded(sublayers, kind, range(len(sublayers)), lambda index, block: found.append(block), True):
        yield found


@contextlib.contextmanager
def _top_norm(side: nn.Module) -> Iterator[list[Norm]]:
    """The LayerNorm after the last layer, if there is one."""
    found: list[Norm] = []
    norm = getattr(side, "layer_norm", None)

    def catch(module: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        record = norm_record(module, args[0])
        if record is not None:
            found.append(widened(record))

    handles = [] if norm is None else [norm.register_forward_hook(catch)]
    with _hooked(*handles):
        yield found


@contextlib.contextmanager
def _feed_forwards(layers: Sequence[nn.Module], sublayers: Sequence[Sublayer]) -> Iterator[list[FeedForward | None]]:
    """The feed-forwards of the layers, filled while the model runs."""
    found: list[FeedForward | None] = [None] * len(layers)
    handles: list[RemovableHandle] = []
    for index, (layer, sublayer) in enumerate(zip(layers, sublayers, strict=True)):
        if all(hasattr(layer, name) for name in ("fc1", "fc2", "final_layer_norm")):
            handles += _FeedForwardHooks(layer, sublayer, found, index).handles()
    with _hooked(*handles):
        yield found


class _FeedForwardHooks:
    """Hooks on both projections, the norm and the layer: the norm is before or after, as it is seen to run."""

    def __init__(self, layer: Any, sublayer: Sublayer, found: list[FeedForward | None], index: int) -> None:
        self.layer, self.sublayer, self.found, self.index = layer, sublayer, found, index
        self.seen: dict[str, Any] = {}

    def handles(self) -> list[RemovableHandle]:
        """The hooks, attached."""
        return [
            self.layer.fc1.register_forward_pre_hook(lambda module, args: self._see("inputs", args[0])),
            self.layer.fc2.register_forward_pre_hook(lambda module, args: self._see("inner", args[0])),
            self.layer.final_layer_norm.register_forward_hook(self._after_norm),
            self.layer.register_forward_hook(self._after_layer),
        ]

    def _see(self, name: str, tensor: Tensor) -> None:
        self.seen[name] = self.sublayer.batch_first(tensor)

    def _after_norm(self, module: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        place = "norm_after" if "inner" in self.seen else "norm_before"
        self.seen[place] = norm_record(module, self.sublayer.batch_first(args[0]))

    def _after_layer(self, module: nn.Module, args: tuple, output: object) -> None:
        seen, self.seen = self.seen, {}
        before, layer = seen.get("norm_before"), self.layer
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
        self.found[self.index] = widened(block)

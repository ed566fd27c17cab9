"""A fairseq Transformer as a :class:`fairseq_normalign.methods.model_protocol.ModelView`."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from ...errors import NormalignError
from ...methods.records import (
    KINDS,
    AttentionBlock,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Norm,
    Transformer,
    widened,
)
from ..protocol import Batch
from .recording import (
    attention_layers,
    blocks_recorded,
    decoder_layers,
    every_layer_of,
    gives_features,
    norm_record,
    plain_attention,
    teacher_forcing,
)


@contextlib.contextmanager
def forced_view(model: nn.Module, batch: Batch) -> Iterator[ForcedView]:
    """Return the model, ready to be asked about the targets of the batch."""
    decoder_layers(model)
    if getattr(model.encoder, "embed_tokens", None) is None:
        raise NormalignError(f"{type(model).__name__} cannot be read: its encoder takes no embedded pieces")
    if not gives_features(model):
        raise NormalignError(
            f"{type(model).__name__} can be read layer by layer only; choose a method that reads attention, as norms"
        )
    attentions = [module for module in model.modules() if hasattr(module, "skip_embed_dim_check")]
    with teacher_forcing(model), plain_attention(*attentions):
        yield ForcedView(model, batch)


class ForcedView:
    """One model with the targets of a batch forced: N sentence pairs."""

    def __init__(self, model: Any, batch: Batch) -> None:
        device = batch.source_padding.device
        rows = torch.as_tensor(list(batch.rows), device=device)
        self.model = model
        self._input = _picked(batch.encoder_input, rows, batch.source_padding.size(0))
        self._previous = batch.decoder_input().to(device)
        self._outputs = batch.decoder_output().to(device)
        self.steps = batch.steps + batch.first_step

    @functools.cached_property
    def source_embeddings(self) -> Tensor:
        """[N, S, E]."""
        return self.model.encoder.embed_tokens(self._input["src_tokens"]).detach()

    @property
    def source_padding(self) -> Tensor:
        """[N, S]."""
        return self._input["src_tokens"].eq(self.model.encoder.padding_idx)

    def features(self, embeddings: Tensor, rows: Tensor | None = None, hidden: Tensor | None = None) -> Tensor:
        """[M, S, E], [M], [M, S] -> [M, T + 1, C]."""
        inputs = self._input if rows is None else _picked(self._input, rows, self._previous.size(0))
        if hidden is not None:  # padding in the middle: not attended to, and not counted by the positions
            padded = inputs["src_tokens"].masked_fill(hidden, self.model.encoder.padding_idx)
            inputs = {**inputs, "src_tokens": padded}
        previous = self._previous if rows is None else self._previous[rows]
        with _embedded(self.model.encoder.embed_tokens, embeddings):
            encoder_out = self.model.encoder(**inputs)
        return self.model.decoder(previous, encoder_out=encoder_out, features_only=True)[0]

    def log_probs(self, features: Tensor, rows: Tensor | None = None) -> Tensor:
        """[M, T + 1, C], [M] -> [M, T + 1]."""
        outputs = self._outputs if rows is None else self._outputs[rows]
        adaptive = self.model.decoder.adaptive_softmax
        if adaptive is not None:
            return _of(adaptive.get_log_prob(features, target=None), outputs)
        logits = widened(self.model.decoder.output_layer(features))
        return _of(logits, outputs) - logits.logsumexp(-1)

    def scores(self, features: Tensor, rows: Tensor | None = None) -> Tensor:
        """[M, T + 1, C], [M] -> [M, T + 1]."""
        if self.model.decoder.adaptive_softmax is not None:
            return self.log_probs(features, rows)
        outputs = self._outputs if rows is None else self._outputs[rows]
        return _of(widened(self.model.decoder.output_layer(features)), outputs)

    def record(self) -> Transformer:
        """The tensors of every layer."""
        with torch.no_grad(), contextlib.ExitStack() as stack:
            blocks = {kind: stack.enter_context(_all_blocks(self.model, kind)) for kind in KINDS}
            inner = {side: stack.enter_context(_feed_forwards(self.model, side)) for side in ("encoder", "decoder")}
            tops = {side: stack.enter_context(_top(getattr(self.model, side))) for side in ("encoder", "decoder")}
            self.features(self.source_embeddings)
        return Transformer(
            encoder=[EncoderLayer(*layer) for layer in zip(blocks["encoder"], inner["encoder"], strict=True)],
            decoder=[
                DecoderLayer(*layer) for layer in zip(blocks["decoder"], blocks["cross"], inner["decoder"], strict=True)
            ],
            encoder_norm=tops["encoder"].get("norm"),
            decoder_norm=tops["decoder"].get("norm"),
            projection=tops["decoder"].get("projection"),
        )


def _picked(inputs: Mapping[str, object], rows: Tensor, size: int) -> dict[str, Any]:
    """The rows of everything in ``inputs`` that has one for each sentence."""
    return {
        name: value[rows] if isinstance(value, Tensor) and value.dim() and value.size(0) == size else value
        for name, value in inputs.items()
    }


def _of(by_word: Tensor, words: Tensor) -> Tensor:
    """[M, T, V], [M, T] -> [M, T]."""
    return by_word.gather(-1, words.unsqueeze(-1)).squeeze(-1)


@contextlib.contextmanager
def _embedded(embedding: nn.Module, embeddings: Tensor) -> Iterator[None]:
    """The embedding module returns ``embeddings`` for a while, whatever it is asked."""
    handle = embedding.register_forward_hook(lambda module, args, output: embeddings)
    try:
        yield
    finally:
        handle.remove()


@contextlib.contextmanager
def _all_blocks(model: nn.Module, kind: str) -> Iterator[list[AttentionBlock]]:
    found: list[AttentionBlock] = []
    modules = attention_layers(model, kind)
    with blocks_recorded(modules, kind, range(len(modules)), lambda index, block: found.append(block)):
        yield found


@contextlib.contextmanager
def _feed_forwards(model: nn.Module, side: str) -> Iterator[list[FeedForward]]:
    """The feed-forwards of the encoder or the decoder, filled while the model runs."""
    found: list[FeedForward] = []
    handles: list[RemovableHandle] = []
    for layer in every_layer_of(getattr(model, side).layers):
        for extra in ("ffn_layernorm", "w_resid"):
            if getattr(layer, extra, None) is not None:
                raise NormalignError(
                    f"{type(model).__name__}: its feed-forward is scaled (--scale-fc, --scale-resids), "
                    "which this method cannot follow"
                )
        handles += _feed_forward_hooks(layer, found)
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def _feed_forward_hooks(layer: Any, found: list[FeedForward]) -> list[RemovableHandle]:
    seen: dict[str, Any] = {}

    def see(name: str) -> Any:
        return lambda module, args: seen.__setitem__(name, args[0].transpose(0, 1))

    def see_norm(module: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        norm = norm_record(module, args[0])
        seen["norm"] = norm
        if not layer.normalize_before:
            hand_over()

    def see_end(module: nn.Module, args: tuple, output: object) -> None:
        if layer.normalize_before:
            hand_over()

    def hand_over() -> None:
        norm: Norm = seen["norm"]
        block = FeedForward(
            inputs=seen["inputs"],
            in_weight=layer.fc1.weight,
            inner=seen["inner"],
            out_weight=layer.fc2.weight,
            in_bias=layer.fc1.bias,
            out_bias=layer.fc2.bias,
            residual=norm.inputs if layer.normalize_before else seen["inputs"],
            norm_before=norm if layer.normalize_before else None,
            norm_after=None if layer.normalize_before else norm,
        )
        found.append(widened(block))

    return [
        layer.fc1.register_forward_pre_hook(see("inputs")),
        layer.fc2.register_forward_pre_hook(see("inner")),
        layer.final_layer_norm.register_forward_hook(see_norm),
        layer.register_forward_hook(see_end),
    ]


@contextlib.contextmanager
def _top(side: Any) -> Iterator[dict[str, Any]]:
    """What comes after the last layer: a LayerNorm and, in the decoder, a projection."""
    found: dict[str, Any] = {}
    handles = []
    if getattr(side, "layer_norm", None) is not None:
        handles.append(
            side.layer_norm.register_forward_hook(
                lambda module, args, output: found.__setitem__("norm", widened(norm_record(module, args[0])))
            )
        )
    project = getattr(side, "project_out_dim", None)
    if project is not None:
        handles.append(
            project.register_forward_hook(
                lambda module, args, output: found.__setitem__("projection", (args[0], module.weight))
            )
        )
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()

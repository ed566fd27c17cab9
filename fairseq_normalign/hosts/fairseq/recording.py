"""Reading a fairseq Transformer from outside: hooks that exist only while something is read."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ...analysis.attention_batch import Projections
from ...errors import NormalignError
from ...methods.records import KINDS, Attention, AttentionBlock, CrossAttention, Norm, widened
from ..evaluating import evaluating
from ..projections import projections_of
from ..protocol import Record, Take

Read = TypeVar("Read")


class _Enough(Exception):
    """The last layer that was asked for has been read: the rest of the decoder need not run."""


def decoder_layers(model: nn.Module) -> list[nn.Module]:
    """The decoder layers of an autoregressive encoder-decoder Transformer; any other model is a clear error."""
    kind = type(model).__name__
    decoder = getattr(model, "decoder", None)
    layers = every_layer_of(getattr(decoder, "layers", None))
    attentions = [getattr(layer, "encoder_attn", None) for layer in layers]
    if getattr(model, "encoder", None) is None or not layers or not all(map(_is_readable, attentions)):
        raise NormalignError(
            f"{kind} cannot be read: alignments come from the encoder-decoder attention of Transformer decoder layers, "
            "and this model has none"
        )
    if hasattr(decoder, "forward_length") or hasattr(model, "forward_encoder"):
        raise NormalignError(f"{kind} cannot be read: it is not autoregressive, so its steps have no input word")
    return layers


def every_layer_of(found: object) -> list[nn.Module]:
    """Return the layers of a stack by number: iterating over LayerDrop's list leaves layers out in training mode."""
    return [found[number] for number in range(len(found))] if isinstance(found, nn.ModuleList) else []


def _is_readable(attention: object) -> bool:
    return all(hasattr(attention, name) for name in ("num_heads", "v_proj", "out_proj"))


def make_readable(model: nn.Module) -> None:
    """Switch off, for good, what hides what is read: the encoder's fused fast path and xformers attention."""
    for module in model.modules():
        for hidden in ("can_use_fastpath", "use_xformers"):
            if getattr(module, hidden, False):
                setattr(module, hidden, False)


@contextlib.contextmanager
def teacher_forcing(model: nn.Module) -> Iterator[None]:
    """For one forced pass: evaluation mode, no gradients, and no beam size left over from a search."""
    beams = [(module, module.beam_size) for module in model.modules() if getattr(module, "beam_size", 1) != 1]
    for module, _ in beams:
        module.beam_size = 1  # type: ignore[assignment]
    try:
        with evaluating(model):
            yield
    finally:
        for module, beam in beams:
            module.beam_size = beam


def run_decoder(model: Any, prev_output_tokens: Tensor, encoder_out: object) -> None:
    """A forced pass over [B, T]. A model that aligns with the whole target in view, as fairseq's transformer_align can
    (``--full-context-alignment``), is read so: it learned to look at the source that way.
    """
    sees_all = {"full_context_alignment": True} if getattr(model, "full_context_alignment", False) else {}
    no_softmax = {"features_only": True} if gives_features(model) else {}
    model.decoder(prev_output_tokens, encoder_out=encoder_out, **no_softmax, **sees_all)


def gives_features(model: Any) -> bool:
    """Whether the decoder can leave its softmax out; that of LightConv cannot."""
    parameters = inspect.signature(model.decoder.forward).parameters.values()
    return any(one.name == "features_only" or one.kind is one.VAR_KEYWORD for one in parameters)


def run_recorded(
    model: nn.Module,
    run: Callable[[], object],
    layers: Sequence[int],
    take: Take,
    *,
    kind: str = "cross",
    blocks: bool = False,
    outputs: bool = False,
) -> None:
    """Run the model and call ``take(layer, record)`` for each of ``layers`` (0-based) as it runs.

    The run is stopped after the highest of them. A record is an :class:`Attention` or, with ``blocks``, an
    :class:`AttentionBlock`; its tensors live only as long as ``take`` keeps them. Only blocks can be read of a ``kind``
    other than cross.
    """
    modules = attention_layers(model, kind)
    waiting, last = set(layers), max(layers)

    def hand_on(index: int, record: Record) -> None:
        take(index, record)
        waiting.discard(index)
        if index == last:
            raise _Enough

    with contextlib.ExitStack() as stack:
        for index in sorted(waiting):
            if blocks:
                stack.enter_context(_BlockHooks(modules[index], kind, index, hand_on).attached())
            else:
                stack.enter_context(_hooked(modules[index].encoder_attn, index, hand_on, outputs))  # type: ignore[arg-type]
        with contextlib.suppress(_Enough):
            run()
    if waiting:
        numbers = ", ".join(str(index + 1) for index in sorted(waiting))
        raise NormalignError(f"{type(model).__name__} did not run its layers {numbers}, which were asked for")


@contextlib.contextmanager
def _hooked(
    attention: nn.Module, index: int, take: Callable[[int, CrossAttention], None], keep_output: bool
) -> Iterator[None]:
    """Hooks on one attention module: ask for every head's weights, catch the values, hand over the record."""
    values: list[Tensor] = []

    def ask_for_heads(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        return args, {**kwargs, "need_weights": True, "need_head_weights": True}

    def catch_values(module: nn.Module, args: tuple, output: Tensor) -> None:
        values.append(output)

    def hand_over(module: nn.Module, args: tuple, kwargs: dict, output: tuple[Tensor, Tensor | None]) -> None:
        result, weights = output
        if weights is None or not values:
            raise NormalignError(
                f"decoder layer {index + 1} returns no attention weights; an attention of this kind cannot be read"
            )
        take(index, _record(module, weights, values.pop(), result if keep_output else None))

    handles = [
        attention.register_forward_pre_hook(ask_for_heads, with_kwargs=True),
        attention.v_proj.register_forward_hook(catch_values),  # type: ignore[union-attr]
        attention.register_forward_hook(hand_over, with_kwargs=True),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _record(attention: Any, weights: Tensor, values: Tensor, output: Tensor | None) -> Attention:
    """weights [H, B, T, S], values [S, B, H * D], output [T, B, C], as fairseq lays them out."""
    return Attention(
        weights=weights.transpose(0, 1).to(torch.promote_types(weights.dtype, values.dtype)),
        values=values.transpose(0, 1),
        out_weight=attention.out_proj.weight,
        out_bias=attention.out_proj.bias,
        output=None if output is None else output.transpose(0, 1),
    ).float()


# -- blocks: attention with its residual connection and LayerNorm -----------------------------------------------------


def attention_layers(model: nn.Module, kind: str) -> list[nn.Module]:
    """The layers that hold the attention of ``kind`` (encoder, decoder, cross)."""
    if kind not in KINDS:
        raise NormalignError(f"unknown kind of attention '{kind}'; choose one of {', '.join(KINDS)}")
    decoder = decoder_layers(model)
    if kind == "cross":
        return decoder
    layers = decoder if kind == "decoder" else every_layer_of(getattr(model.encoder, "layers", None))
    if not layers or not all(_is_readable(getattr(layer, "self_attn", None)) for layer in layers):
        raise NormalignError(f"{type(model).__name__}: its {kind} has no self-attention that can be read")
    for layer in layers:
        for extra in ("c_attn", "attn_ln"):
            if getattr(layer, extra, None) is not None:
                raise NormalignError(
                    f"{type(model).__name__}: its self-attention is scaled (--scale-attn, --scale-heads), "
                    "which cannot be taken apart"
                )
    return layers


def read_attention(
    model: nn.Module,
    kind: str,
    encoder_input: Mapping[str, Any],
    prev_output_tokens: Tensor | None,
    read: Callable[[AttentionBlock], Read],
    layers: Sequence[int] | None = None,
) -> list[Read]:
    """``read`` the attention blocks of ``kind`` in a forced pass, for each of ``layers`` (0-based; None: all).

    The rows of ``prev_output_tokens`` [B, T] belong to those of ``src_tokens`` [B, S]; the encoder needs none. The
    tensors of a block live only as long as ``read`` keeps them.
    """
    wanted = range(len(attention_layers(model, kind))) if layers is None else layers
    found: dict[int, Read] = {}

    def run() -> None:
        encoder_out = model.encoder(**encoder_input)  # type: ignore[operator]
        if kind != "encoder":
            assert prev_output_tokens is not None
            run_decoder(model, prev_output_tokens, encoder_out)

    with teacher_forcing(model):
        run_recorded(
            model, run, wanted, lambda index, block: found.__setitem__(index, read(block)), kind=kind, blocks=True
        )
    return [found[layer] for layer in wanted]


@contextlib.contextmanager
def blocks_recorded(
    modules: Sequence[nn.Module], kind: str, layers: Sequence[int], take: Callable[[int, AttentionBlock], None]
) -> Iterator[None]:
    """While this lasts, ``take(index, block)`` is called for each of ``layers`` of these modules as the model runs."""
    with contextlib.ExitStack() as stack:
        for index in sorted(set(layers)):
            stack.enter_context(_BlockHooks(modules[index], kind, index, take).attached())
        yield


class _BlockHooks:
    """Hooks on the attention, its LayerNorm and the next one: together they see all of one block."""

    def __init__(self, layer: Any, kind: str, index: int, take: Callable[[int, AttentionBlock], None]) -> None:
        name = "encoder_attn" if kind == "cross" else "self_attn"
        self.kind, self.index, self.take = kind, index, take
        self.attention = getattr(layer, name)
        self.norm = getattr(layer, f"{name}_layer_norm")
        self.next_norm = layer.encoder_attn_layer_norm if kind == "decoder" else layer.final_layer_norm
        self.pre_norm = bool(getattr(layer, "normalize_before", False))  # the old BERT layers have no such choice
        self.seen: dict[str, Any] = {}

    @contextlib.contextmanager
    def attached(self) -> Iterator[None]:
        handles = [
            self.attention.register_forward_pre_hook(self._before_attention, with_kwargs=True),
            self.norm.register_forward_hook(self._after_norm),
            self.next_norm.register_forward_pre_hook(self._before_next_norm),
        ]
        with _hooked(self.attention, self.index, self._after_attention, True), plain_attention(self.attention):
            try:
                yield
            finally:
                for handle in handles:
                    handle.remove()

    def _before_attention(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        query = kwargs["query"] if "query" in kwargs else args[0]
        self.seen["inputs"] = query if self.kind != "cross" else kwargs["value"]
        if not self.pre_norm:
            self.seen["residual"] = query

    def _after_attention(self, index: int, record: Attention) -> None:
        self.seen["attention"] = record

    def _after_norm(self, module: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        norm = norm_record(module, args[0])
        if self.pre_norm:
            self.seen.update(residual=args[0], norm_before=norm)
        else:
            self.seen.update(norm_after=norm)
            self._hand_over(output)

    def _before_next_norm(self, module: nn.Module, args: tuple[Tensor]) -> None:
        if self.pre_norm:
            self._hand_over(args[0])

    def _hand_over(self, output: Tensor) -> None:
        seen, self.seen = self.seen, {}
        block = AttentionBlock(
            kind=self.kind,
            attention=seen["attention"],
            inputs=seen["inputs"].transpose(0, 1),
            value_weight=self.attention.v_proj.weight,
            value_bias=self.attention.v_proj.bias,
            residual=seen["residual"].transpose(0, 1),
            output=output.transpose(0, 1),
            norm_before=seen.get("norm_before"),
            norm_after=seen.get("norm_after"),
        )
        self.take(self.index, widened(block))


def norm_record(norm: Any, inputs: Tensor) -> Norm:
    """A LayerNorm module and its inputs [T, B, C]."""
    return Norm(inputs.transpose(0, 1), norm.weight, norm.bias, norm.eps)


@contextlib.contextmanager
def plain_attention(*modules: Any) -> Iterator[None]:
    """Let attention compute step by step for a while: torch's fused form runs no projection module, returns the mean of
    the heads and cannot be differentiated in batches. The flag is fairseq's own, meant for pruned heads."""
    previous = [(module, module.skip_embed_dim_check) for module in modules if hasattr(module, "skip_embed_dim_check")]
    for module, _ in previous:
        module.skip_embed_dim_check = True
    try:
        yield
    finally:
        for module, value in previous:
            module.skip_embed_dim_check = value


def projections_of_attention(attention: nn.Module) -> Projections:
    """The parameters of f in one of fairseq's attention modules."""
    module: Any = attention
    return projections_of(module.num_heads, module.v_proj, module.out_proj)

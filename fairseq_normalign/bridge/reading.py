"""Reading a fairseq Transformer from outside: hooks that exist only while something is read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ..attribution.records import CrossAttention
from ..errors import NormalignError

Read = TypeVar("Read")


class _Enough(Exception):
    """The last layer that was asked for has been read: the rest of the decoder need not run."""


def decoder_layers(model: nn.Module) -> list[nn.Module]:
    """The decoder layers of an autoregressive encoder-decoder Transformer; any other model is a clear error."""
    kind = type(model).__name__
    decoder = getattr(model, "decoder", None)
    found = getattr(decoder, "layers", None)
    # by number: iterating over LayerDrop's list leaves layers out in training mode
    layers = [found[number] for number in range(len(found))] if isinstance(found, nn.ModuleList) else []
    attentions = [getattr(layer, "encoder_attn", None) for layer in layers]
    if getattr(model, "encoder", None) is None or not layers or not all(map(_is_readable, attentions)):
        raise NormalignError(
            f"{kind} cannot be read: alignments come from the encoder-decoder attention of Transformer decoder layers, "
            "and this model has none"
        )
    if hasattr(decoder, "forward_length") or hasattr(model, "forward_encoder"):
        raise NormalignError(f"{kind} cannot be read: it is not autoregressive, so its steps have no input word")
    return layers


def _is_readable(attention: Any) -> bool:
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
    training = model.training
    beams = [(module, module.beam_size) for module in model.modules() if getattr(module, "beam_size", 1) != 1]
    model.eval()
    for module, _ in beams:
        module.beam_size = 1  # type: ignore[assignment]
    try:
        with torch.no_grad():
            yield
    finally:
        for module, beam in beams:
            module.beam_size = beam
        model.train(training)


def read_cross_attention(
    model: nn.Module,
    encoder_out: Any,
    prev_output_tokens: Tensor,
    layers: Sequence[int],
    read: Callable[[CrossAttention], Read],
    *,
    keep_output: bool = False,
) -> dict[int, Read]:
    """Run the decoder over ``prev_output_tokens`` [B, T] and ``read`` each layer of ``layers`` (0-based) as it runs.

    The decoder stops at the last of them. A layer's tensors live only as long as ``read`` keeps them.
    """
    modules = decoder_layers(model)
    results: dict[int, Read] = {}
    last = max(layers)

    def take(index: int, record: CrossAttention) -> None:
        results[index] = read(record)
        if index == last:
            raise _Enough

    with contextlib.ExitStack() as stack:
        for index in sorted(set(layers)):
            stack.enter_context(_hooked(modules[index].encoder_attn, index, take, keep_output))  # type: ignore[arg-type]
        with contextlib.suppress(_Enough):
            model.decoder(prev_output_tokens, encoder_out=encoder_out, features_only=True)  # type: ignore[operator]
    if len(results) != len(set(layers)):
        raise NormalignError(f"{type(model).__name__} did not run the layers {sorted(set(layers))} that were asked for")
    return results


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


def _record(attention: Any, weights: Tensor, values: Tensor, output: Tensor | None) -> CrossAttention:
    """weights [H, B, T, S], values [S, B, H * D], output [T, B, C], as fairseq lays them out."""
    return CrossAttention(
        weights=weights.transpose(0, 1),
        values=values.transpose(0, 1),
        out_weight=attention.out_proj.weight,
        out_bias=attention.out_proj.bias,
        output=None if output is None else output.transpose(0, 1),
    ).float()

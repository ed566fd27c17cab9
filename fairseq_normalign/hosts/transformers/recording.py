"""Reading a model of ``transformers`` from outside: hooks that exist only while something is read."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from ...errors import NormalignError
from ...methods.records import Attention, AttentionBlock, Norm, widened
from ..evaluating import evaluating
from ..protocol import Record, Take
from .structure import Structure, Sublayer


class Enough(Exception):
    """What was asked for has been read: the rest of the model need not run."""


@contextlib.contextmanager
def reading(model: nn.Module) -> Iterator[None]:
    """For as long as it is read, the model is in evaluation mode, without gradients and with plain attention.

    Only plain ("eager") attention returns its weights. Whatever the user had set is restored.
    """
    configs = {id(c): c for c in (getattr(module, "config", None) for module in model.modules()) if c is not None}
    chosen = [(config, config._attn_implementation_internal) for config in configs.values()]
    for config, _ in chosen:
        config._attn_implementation_internal = "eager"
    try:
        with evaluating(model):
            yield
    finally:
        for config, implementation in chosen:
            config._attn_implementation_internal = implementation


def run_encoder(structure: Structure, encoder_input: Mapping[str, Tensor]) -> Tensor:
    """The states of the encoder for ``input_ids`` [B, S] and ``attention_mask`` [B, S]: -> [B, S, C]."""
    return structure.encoder(**encoder_input, return_dict=True).last_hidden_state


def run_decoder(structure: Structure, encoder_input: Mapping[str, Tensor], states: Tensor, tokens: Tensor) -> None:
    """A forced pass over the decoder's inputs ``tokens`` [N, T], each row with its row of the encoder's [N, S].

    ``input_ids`` go in as well: FSMT masks the future only then.
    """
    from transformers.modeling_outputs import BaseModelOutput

    encoded = BaseModelOutput(last_hidden_state=states)
    structure.model(
        **encoder_input, encoder_outputs=encoded, decoder_input_ids=tokens, use_cache=False, return_dict=True
    )


def picked(inputs: Mapping[str, Tensor], rows: Sequence[int] | Tensor) -> dict[str, Tensor]:
    """The rows of every tensor of ``inputs``."""
    return {name: tensor[torch.as_tensor(rows, device=tensor.device)] for name, tensor in inputs.items()}


def run_recorded(
    structure: Structure,
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
    :class:`AttentionBlock`; it lives only as long as ``take`` keeps it. ``outputs`` keeps what the attention returned.
    """
    waiting, last = set(layers), max(layers)

    def hand_on(index: int, record: Record) -> None:
        take(index, record)
        waiting.discard(index)
        if index == last:
            raise Enough

    with recorded(structure.attention(kind), kind, layers, hand_on, blocks, outputs), contextlib.suppress(Enough):
        run()
    if waiting:
        numbers = ", ".join(str(index + 1) for index in sorted(waiting))
        raise NormalignError(f"{type(structure.model).__name__} did not run its layers {numbers}, which were asked for")


@contextlib.contextmanager
def recorded(
    sublayers: Sequence[Sublayer], kind: str, layers: Sequence[int], take: Take, blocks: bool, outputs: bool = False
) -> Iterator[None]:
    """While this lasts, ``take(index, record)`` is called for each of the layers as the model runs."""
    hooks = _BlockHooks if blocks else _AttentionHooks
    with contextlib.ExitStack() as stack:
        for index in sorted(set(layers)):
            stack.enter_context(hooks(sublayers[index], kind, index, take, outputs).attached())
        yield


class _AttentionHooks:
    """Hooks on one attention and its projections."""

    def __init__(self, sublayer: Sublayer, kind: str, index: int, take: Take, outputs: bool) -> None:
        self.sublayer, self.kind, self.index, self.take, self.outputs = sublayer, kind, index, take, outputs
        self.seen: dict[str, Any] = {}

    @contextlib.contextmanager
    def attached(self) -> Iterator[None]:
        handles = self._handles()
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _handles(self) -> list[RemovableHandle]:
        attention, value = self.sublayer.attention, self.sublayer.value
        handles = [value.register_forward_hook(self._after_values), attention.register_forward_hook(self._after)]
        if "output_attentions" in inspect.signature(attention.forward).parameters:  # FSMT: weights only when asked for
            handles.append(attention.register_forward_pre_hook(_ask_for_weights, with_kwargs=True))
        return handles

    def _after_values(self, module: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        self.seen.update(inputs=args[0], values=output)

    def _after(self, module: nn.Module, args: tuple, output: tuple) -> None:
        weights = next((item for item in reversed(output[1:]) if isinstance(item, Tensor) and item.dim() == 4), None)
        if weights is None or "values" not in self.seen:
            raise NormalignError(
                f"layer {self.index + 1} returns no attention weights; an attention of this kind cannot be read"
            )
        values, keep = self.seen["values"], self.outputs
        record = Attention(
            weights=weights.to(torch.promote_types(weights.dtype, values.dtype)),
            values=self.sublayer.batch_first(values),
            out_weight=self.sublayer.out.weight,
            out_bias=self.sublayer.out.bias,
            output=self.sublayer.batch_first(output[0]) if keep else None,
        )
        self.got(record.float())

    def got(self, record: Attention) -> None:
        """The attention has run."""
        self.seen.clear()
        self.take(self.index, record)


class _BlockHooks(_AttentionHooks):
    """Record blocks: attention, residual connection, and the norm before or after it, as they are seen to run."""

    def _handles(self) -> list[RemovableHandle]:
        part = self.sublayer
        return [
            *super()._handles(),
            part.query.register_forward_pre_hook(self._before_query),
            part.norm.register_forward_hook(self._after_norm),
            part.next_norm.register_forward_pre_hook(self._before_next_norm),
        ]

    def _before_query(self, module: nn.Module, args: tuple[Tensor]) -> None:
        self.seen.setdefault("residual", args[0])  # known already where the norm is before the attention

    def _after_norm(self, module: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        norm = norm_record(module, self.sublayer.batch_first(args[0]))
        if "attention" in self.seen:
            if norm is None:
                raise NormalignError(f"layer {self.index + 1}: the norm after its attention is no LayerNorm")
            self.seen["norm_after"] = norm
            self._hand_over(output)
        else:
            self.seen.update(residual=args[0], norm_before=norm)

    def got(self, record: Attention) -> None:
        """The attention has run; the block may go on."""
        self.seen["attention"] = record

    def _before_next_norm(self, module: nn.Module, args: tuple[Tensor]) -> None:
        if "attention" in self.seen:
            self._hand_over(args[0])

    def _hand_over(self, output: Tensor) -> None:
        seen, self.seen = self.seen, {}
        part = self.sublayer
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


def _ask_for_weights(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    return args, {**kwargs, "output_attentions": True}


def norm_record(norm: nn.Module, inputs: Tensor) -> Norm | None:
    """A LayerNorm and its inputs [B, T, C]; None for a norm of another kind, such as T5's, which does not centre."""
    return Norm(inputs, norm.weight, norm.bias, norm.eps) if isinstance(norm, nn.LayerNorm) else None

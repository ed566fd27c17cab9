"""A Transformer of fairseq as the shared reader sees it: where its attention is, and how it runs."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from ...errors import NormalignError
from ...methods.records import KINDS, widened
from ..protocol import Batch
from ..reading import ForcedView, ReadModel, Sublayer, evaluating


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


def sublayer(layer: Any, kind: str) -> Sublayer:
    """The attention of ``kind`` (encoder, decoder, cross) in a layer."""
    name = "encoder_attn" if kind == "cross" else "self_attn"
    attention = getattr(layer, name)
    following = "encoder_attn_layer_norm" if kind == "decoder" else "final_layer_norm"
    return Sublayer(
        attention,
        getattr(attention, "q_proj", None),
        attention.v_proj,
        attention.out_proj,
        attention.num_heads,
        getattr(layer, f"{name}_layer_norm", None),
        getattr(layer, following, None),
        steps_first=True,
        heads_first=True,
        ask={"need_weights": True, "need_head_weights": True},
    )


@contextlib.contextmanager
def teacher_forcing(model: nn.Module) -> Iterator[None]:
    """For one forced pass: evaluation mode, no gradients, and no beam size left over from a search."""
    beams = [(module, module.beam_size) for module in model.modules() if getattr(module, "beam_size", 1) != 1]
    for module, _ in beams:
        module.beam_size = 1  # type: ignore[assignment]
    try:
        with evaluating(model), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Support for mismatched key_padding_mask", module="torch")
            yield
    finally:
        for module, beam in beams:
            module.beam_size = beam


@contextlib.contextmanager
def plain_attention(modules: Sequence[Any]) -> Iterator[None]:
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


@contextlib.contextmanager
def short_attention(modules: Sequence[Any]) -> Iterator[None]:
    """Let attention whose weights nobody reads compute no more than its output, through its own projections.

    The modules' own way keeps states of a search, averages weights, or multiplies by weights that are not packed.
    """
    replaced = [module for module in modules if _is_usual(module)]
    try:
        for module in replaced:
            module.__dict__["forward"] = functools.partial(_attended, module)
        yield
    finally:
        for module in replaced:
            module.__dict__.pop("forward", None)


def _is_usual(module: Any) -> bool:
    from fairseq.modules import MultiheadAttention

    return type(module) is MultiheadAttention and module.bias_k is None and not module.add_zero_attn


def _attended(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    **asked: Any,
) -> tuple[Tensor, None]:
    """[T, B, C], [S, B, C], [S, B, C], [B, S], [T, S] -> [T, B, C] and no weights."""
    steps, batch, _ = query.shape
    length, heads = key.size(0), module.num_heads
    q, k, v = (
        project(one).view(-1, batch * heads, module.head_dim).transpose(0, 1)  # [B * H, T or S, D]
        for project, one in ((module.q_proj, query), (module.k_proj, key), (module.v_proj, value))
    )
    mask = None if attn_mask is None else attn_mask.expand(batch, 1, steps, length)
    if key_padding_mask is not None:
        hidden = query.new_zeros(batch, 1, 1, length).masked_fill(key_padding_mask.bool()[:, None, None], -math.inf)
        mask = hidden if mask is None else mask + hidden
    if max(steps, length) >= FUSED_FROM:
        q, k, v = (one.unflatten(0, (batch, heads)) for one in (q, k, v))
        mixed = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=module.scaling).flatten(0, 1)
    else:
        every = q.new_zeros(()) if mask is None else mask.expand(batch, heads, steps, length).flatten(0, 1)
        mixed = torch.baddbmm(every, q, k.transpose(1, 2), alpha=module.scaling).softmax(-1).bmm(v)
    return module.out_proj(
        mixed.transpose(0, 1).reshape(steps, batch, -1)
    ), None  # fewer channels where heads are pruned


FUSED_FROM = 32
"""Positions from which torch's fused attention is the faster one."""


class FairseqModel(ReadModel):
    """One Transformer of fairseq's; see :class:`fairseq_normalign.hosts.reading.ReadModel`."""

    def __init__(self, module: nn.Module, *, tags: int = 0) -> None:
        """``module``: any autoregressive encoder-decoder Transformer; another model is a clear error.

        ``tags``: how many target positions are taken by language tags.
        """
        decoder_layers(module)
        self._tags = tags
        super().__init__(module)

    @property
    def max_positions(self) -> tuple[int, int]:
        """How many source and target positions it has."""
        source, target = self.module.max_positions()
        return source, target - self._tags

    def layers_of(self, side: str) -> list[nn.Module]:
        """Return the layers of the 'encoder' or the 'decoder'."""
        return every_layer_of(getattr(getattr(self.module, side), "layers", None))

    def attention(self, kind: str) -> list[Sublayer]:
        """Return the attention of ``kind`` (encoder, decoder, cross) of each layer."""
        if kind not in KINDS:
            raise NormalignError(f"unknown kind of attention '{kind}'; choose one of {', '.join(KINDS)}")
        layers = self.layers_of("encoder" if kind == "encoder" else "decoder")
        if kind != "cross":
            if not layers or not all(_is_readable(getattr(layer, "self_attn", None)) for layer in layers):
                raise NormalignError(f"{self.name}: its {kind} has no self-attention that can be read")
            if any(getattr(layer, extra, None) is not None for layer in layers for extra in ("c_attn", "attn_ln")):
                raise NormalignError(
                    f"{self.name}: its self-attention is scaled (--scale-attn, --scale-heads), "
                    "which cannot be taken apart"
                )
        return [sublayer(layer, kind) for layer in layers]

    @contextlib.contextmanager
    def reading(self, parts: Sequence[Sublayer] | None) -> Iterator[None]:
        """While this lasts, the model is forced, and the attention of ``parts`` (None: all) computes step by step."""
        every = list(self.module.modules())
        read = every if parts is None else [part.attention for part in parts]
        others = set(every).difference(read)
        with teacher_forcing(self.module), plain_attention(read), short_attention([*others]):
            yield

    def run(self, batch: Batch, kind: str, encoded: Any) -> None:
        """Run one forced pass; rows are repeated or left out only where they are not those of the sources."""
        states = encoded if encoded is not None else self.module.encoder(**batch.encoder_input)
        if kind == "encoder":
            return
        device = batch.source_padding.device
        rows = torch.as_tensor(list(batch.rows), device=device)
        if not torch.equal(rows, torch.arange(batch.source_padding.size(0), device=device)):
            states = self.module.encoder.reorder_encoder_out(copy.copy(states), rows)  # some reorder in place
        # transformer_align and our aligner learned to look at the source with the whole target in view
        sees_all = {"full_context_alignment": True} if getattr(self.module, "full_context_alignment", False) else {}
        no_softmax = {"features_only": True} if self._gives_features() else {}
        self.module.decoder(batch.decoder_input().to(device), encoder_out=states, **no_softmax, **sees_all)

    def _gives_features(self) -> bool:
        """Whether the decoder can leave its softmax out; that of LightConv cannot."""
        parameters = inspect.signature(self.module.decoder.forward).parameters.values()
        return any(one.name == "features_only" or one.kind is one.VAR_KEYWORD for one in parameters)

    # -- the whole model -----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def view(self, batch: Batch) -> Iterator[ForcedView]:
        """Return the whole model with the targets forced; a model that cannot be run so is refused."""
        if getattr(self.module.encoder, "embed_tokens", None) is None:
            raise NormalignError(f"{self.name} cannot be read: its encoder takes no embedded pieces")
        if not self._gives_features():
            raise NormalignError(
                f"{self.name} can be read layer by layer only; choose a method that reads attention, such as norms"
            )
        with super().view(batch) as view:
            yield view

    @property
    def encoder(self) -> Any:
        """The encoder."""
        return self.module.encoder

    @property
    def decoder(self) -> Any:
        """The decoder."""
        return self.module.decoder

    @property
    def embedding(self) -> Any:
        """The module that looks up the embeddings of the source."""
        return self.module.encoder.embed_tokens

    def encode(self, inputs: Mapping[str, Any]) -> Any:
        """Return what the encoder makes of its inputs."""
        return self.module.encoder(**inputs)

    def features(self, inputs: Mapping[str, Any], states: Any, tokens: Tensor) -> Tensor:
        """Return what the decoder gives to its output layer for the tokens [N, T]: [N, T, C]."""
        return self.module.decoder(tokens, encoder_out=states, features_only=True)[0]

    def word_scores(self, features: Tensor) -> tuple[Tensor, bool]:
        """Return the score of every piece [N, T, V]; an adaptive softmax gives log-probabilities."""
        decoder = self.module.decoder
        if decoder.adaptive_softmax is not None:
            return decoder.adaptive_softmax.get_log_prob(features, target=None), True
        return widened(decoder.output_layer(features)), False

    def without(
        self, inputs: Mapping[str, Any], embeddings: Tensor, hidden: Tensor
    ) -> tuple[Mapping[str, Any], Tensor]:
        """Return padding for hidden pieces: it is not attended to, and not counted by the positions."""
        padded = inputs["src_tokens"].masked_fill(hidden, self.module.encoder.padding_idx)
        return {**inputs, "src_tokens": padded}, embeddings

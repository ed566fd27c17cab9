"""A model of ``transformers`` as the shared reader sees it: where its attention is, and how it runs.

Attention is found by the shape of the modules, not by their class. Two shapes are known. BART and its kin (Marian,
M2M100, NLLB, mBART, Pegasus, FSMT): ``decoder.layers[i].encoder_attn`` with ``q_proj``, ``v_proj`` and ``out_proj``.
T5 and its kin (mT5, UMT5, MADLAD): ``EncDecAttention`` in ``decoder.block[i].layer[1]``, with ``q``, ``v`` and ``o``.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import NormalignError
from ...methods.records import KINDS, widened
from ..protocol import Batch
from ..reading import Enough, ReadModel, Sublayer, evaluating, hooked, picked

PROJECTIONS = (("q_proj", "v_proj", "out_proj"), ("q", "v", "o"))
"""The names of the query, value and output projections."""
CROSS = ("encoder_attn", "cross_attention")
"""The names of the attention over the encoder in a layer of BART's shape."""
LONGEST = 4096
"""Positions of a model whose positions are relative (T5): memory grows with their square."""


class TransformersModel(ReadModel):
    """One encoder-decoder Transformer.

    >>> model = TransformersModel(AutoModelForSeq2SeqLM.from_pretrained("opus-mt-de-en"))  # doctest: +SKIP
    >>> model.layers  # doctest: +SKIP
    6
    """

    def __init__(self, module: Any) -> None:
        """``module``: a model of the library, however it was made; one that cannot be read is a clear error."""
        base = getattr(module, module.base_model_prefix, module)
        self.encoder: Any = getattr(base, "encoder", None)
        self.decoder: Any = getattr(base, "decoder", None)
        super().__init__(module)
        if self.encoder is None or not self._found("cross"):
            raise NormalignError(
                f"{self.name} cannot be read: alignments come from the encoder-decoder attention of "
                "Transformer decoder layers, built as in BART or T5, and this model has none"
            )
        if getattr(self.encoder, "embed_tokens", None) is None:
            raise NormalignError(f"{self.name} cannot be read: its encoder takes no embedded pieces")

    def embeddings(self, side: str) -> int:
        """Return how many pieces the encoder or the decoder has a vector for."""
        return int(getattr(self, side).embed_tokens.weight.size(0))

    @property
    def max_positions(self) -> tuple[int, int]:
        """How many source and target positions it has, start and end included."""
        positions = getattr(self.module.config, "max_position_embeddings", None) or LONGEST
        return int(positions), int(positions)

    def layers_of(self, side: str) -> list[nn.Module]:
        """Return the layers of the 'encoder' or the 'decoder'."""
        found = getattr(self, side)
        found = getattr(found, "layers", None) or getattr(found, "block", None)
        return list(found) if isinstance(found, nn.ModuleList) else []

    def attention(self, kind: str) -> list[Sublayer]:
        """Return the attention of ``kind`` (encoder, decoder, cross) of each layer."""
        if kind not in KINDS:
            raise NormalignError(f"unknown kind of attention '{kind}'; choose one of {', '.join(KINDS)}")
        found = self._found(kind)
        if not found:
            raise NormalignError(f"{self.name}: its {kind} has no self-attention that can be read")
        return found

    def _found(self, kind: str) -> list[Sublayer]:
        """The attention of each layer; none where a layer is built otherwise."""
        found = [_sublayer(layer, kind) for layer in self.layers_of("encoder" if kind == "encoder" else "decoder")]
        every = [part for part in found if part is not None]
        return every if len(every) == len(found) else []

    @contextmanager
    def reading(self, parts: Sequence[Sublayer] | None) -> Iterator[None]:
        """While this lasts, the model is in evaluation mode, without gradients; what is read has plain attention.

        Only plain ("eager") attention returns its weights; attention that nobody reads is torch's fused one. Masks are
        made for the plain one, which both take. Whatever the user had set is restored.
        """
        modules = list(self.module.modules())
        configs = {id(c): c for c in (getattr(module, "config", None) for module in modules) if c is not None}
        chosen = [(config, config._attn_implementation_internal) for config in configs.values()]
        for config, _ in chosen:
            config._attn_implementation_internal = "eager"
        unread = [] if parts is None or not getattr(self.module, "_supports_sdpa", False) else self._unread(parts)
        own = [(module, module.config) for module in unread]
        try:
            for module, config in own:
                module.config = copy.copy(config)
                module.config._attn_implementation_internal = "sdpa"
            with evaluating(self.module):
                yield
        finally:
            for module, config in own:
                module.config = config
            for config, implementation in chosen:
                config._attn_implementation_internal = implementation

    def _unread(self, parts: Sequence[Sublayer]) -> list[Any]:
        """The attention of every layer but these, where it looks up by itself how it computes."""
        read = [part.attention for part in parts]
        every = (part.attention for kind in KINDS for part in self._found(kind))
        return [attention for attention in every if hasattr(attention, "config") and attention not in read]

    def run(self, batch: Batch, kind: str, encoded: Any) -> None:
        """Run one forced pass. ``encoded``: the states of the encoder, [B, S, C]."""
        states = self.encode(batch.encoder_input) if encoded is None else encoded
        if kind == "encoder":
            return
        rows = torch.as_tensor(list(batch.rows), device=states.device)
        inputs = picked(batch.encoder_input, rows, batch.source_padding.size(0))
        self._decode(inputs, states[rows], batch.decoder_input().to(states.device))

    def generate(self, **options: Any) -> Tensor:
        """Return what the library's own search finds: [B * n, T]."""
        with self.turns, evaluating(self.module):
            return self.module.generate(**options)

    # -- the whole model -----------------------------------------------------------------------------------------------

    @property
    def embedding(self) -> Any:
        """The module that looks up the embeddings of the source."""
        return self.encoder.embed_tokens

    @property
    def embedding_scale(self) -> float:  # type: ignore[override]
        """What the embedding module itself multiplies vectors by; other models do so after it."""
        return float(getattr(self.embedding, "embed_scale", 1.0))

    def encode(self, inputs: Mapping[str, Any]) -> Tensor:
        """Return the states of the encoder for ``input_ids`` [B, S] and ``attention_mask`` [B, S]: [B, S, C]."""
        return self.encoder(**inputs, return_dict=True).last_hidden_state

    def _decode(self, inputs: Mapping[str, Any], states: Tensor, tokens: Tensor) -> None:
        """A forced pass over the decoder's inputs ``tokens`` [N, T], each row with its row of the encoder's [N, S].

        ``input_ids`` go in as well: FSMT masks the future only then.
        """
        from transformers.modeling_outputs import BaseModelOutput

        encoded = BaseModelOutput(last_hidden_state=states)
        self.module(**inputs, encoder_outputs=encoded, decoder_input_ids=tokens, use_cache=False, return_dict=True)

    def features(self, inputs: Mapping[str, Any], states: Any, tokens: Tensor) -> Tensor:
        """Return what the decoder gives to its output layer for the tokens [N, T]: [N, T, C]."""
        found: list[Tensor] = []

        def catch(module: nn.Module, args: tuple[Tensor]) -> None:
            found.append(args[0])
            raise Enough

        with hooked(self.output_layer.register_forward_pre_hook(catch)), contextlib.suppress(Enough):
            self._decode(inputs, states, tokens)
        return found[0]

    def word_scores(self, features: Tensor) -> tuple[Tensor, bool]:
        """Return the score of every piece [N, T, V]."""
        scores = widened(self.output_layer(features))
        bias = getattr(self.module, "final_logits_bias", None)
        return scores if bias is None else scores + bias, False

    @property
    def output_layer(self) -> Any:
        """What makes scores of words out of the decoder's features."""
        found = getattr(self.module, "lm_head", None) or getattr(self.decoder, "output_projection", None)
        if found is None:
            raise NormalignError(f"{self.name} cannot be read: it has no output layer over words")
        return found

    def without(
        self, inputs: Mapping[str, Any], embeddings: Tensor, hidden: Tensor
    ) -> tuple[Mapping[str, Any], Tensor]:
        """Move up the pieces after hidden ones; padding takes the places at the end."""
        order = hidden.int().argsort(dim=1, stable=True)
        moved = {name: tensor.gather(1, order) for name, tensor in inputs.items()}
        moved["attention_mask"] = moved["attention_mask"].masked_fill(hidden.gather(1, order), 0)
        return moved, embeddings.gather(1, order.unsqueeze(-1).expand_as(embeddings))


def _sublayer(layer: Any, kind: str) -> Sublayer | None:
    """The attention of ``kind`` (encoder, decoder, cross) of a layer, or None where the layer is built otherwise."""
    if isinstance(getattr(layer, "layer", None), nn.ModuleList):  # T5
        sublayers = list(layer.layer)
        if len(sublayers) != (2 if kind == "encoder" else 3):
            return None
        place = 1 if kind == "cross" else 0
        attention = getattr(sublayers[place], "EncDecAttention" if kind == "cross" else "SelfAttention", None)
        norm, following = (getattr(sublayers[number], "layer_norm", None) for number in (place, place + 1))
    else:
        cross = next((name for name in CROSS if hasattr(layer, name)), CROSS[0])
        name = cross if kind == "cross" else "self_attn"
        attention, norm = getattr(layer, name, None), getattr(layer, f"{name}_layer_norm", None)
        last = getattr(layer, "final_layer_norm", None) or getattr(layer, "ff_layer_norm", None)
        following = getattr(layer, f"{cross}_layer_norm", None) if kind == "decoder" else last
    if attention is None or norm is None or following is None:
        return None
    for names in PROJECTIONS:
        query, value, out = (getattr(attention, name, None) for name in names)
        if isinstance(query, nn.Linear) and isinstance(value, nn.Linear) and isinstance(out, nn.Linear):
            if value.out_features != out.in_features:  # heads that share their values
                return None
            heads = getattr(attention, "num_heads", None) or getattr(attention, "n_heads", None)
            known = inspect.signature(attention.forward).parameters
            return Sublayer(
                attention,
                query,
                value,
                out,
                int(heads or attention.config.num_attention_heads),
                norm,
                following,
                steps_first="query" in known,  # FSMT
                ask={"output_attentions": True} if "output_attentions" in known else {},
            )
    return None

"""The architectures of this package: fairseq's Transformer, and one that only aligns.

``--arch transformer_normalign`` is fairseq's Transformer, parameter for parameter: checkpoints of either load into the
other. Alignments are read from outside, by hooks that exist only while they are read, so training costs the same.
Its checkpoints may say in their arguments how many heads each layer has left after pruning (recipes/pruning).

``--arch normalign_aligner`` only aligns, and so may see the whole target. Its parameters are those of ``transformer``,
with as many decoder layers as aligning needs: it starts from the checkpoint of a deeper translation model
(``--finetune-from-model``) and leaves out the layers above. A word that it aligns sees the words that follow, which a
decoder that translates must not.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModel
from fairseq.models.transformer.transformer_legacy import (
    base_architecture,
    transformer_iwslt_de_en,
    transformer_vaswani_wmt_en_de_big,
    transformer_wmt_en_de,
)
from torch import Tensor, nn

from ..errors import NormalignError
from ..hosts.fairseq.model import every_layer_of
from ..methods.records import KINDS

Heads = Mapping[str, Sequence[int]]
"""Kind of attention -> how many heads each layer has."""


@register_model("transformer_normalign")
class TransformerNormalignModel(TransformerModel):
    """A Transformer whose alignments the task ``translation_normalign`` reads."""

    @classmethod
    def add_args(cls, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the Transformer, and its heads."""
        super().add_args(parser)
        parser.add_argument(
            "--normalign-heads",
            metavar="COUNTS",
            help="heads of each layer, for example encoder:4,2;cross:1,0: set in the checkpoint of a pruned model",
        )

    @classmethod
    def build_model(cls, args: Any, task: Any) -> Any:
        """The model that the arguments describe, or those of a checkpoint."""
        model = super().build_model(args, task)
        if getattr(args, "normalign_heads", None):
            shrink(model, read_heads(args.normalign_heads))
        return model

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """Refuse the gates of an older version's trainings, which are not among the parameters of this model."""
        super().upgrade_state_dict_named(state_dict, name)
        if set(state_dict) - set(self.state_dict()) and any(key.endswith(".gates.location") for key in state_dict):
            raise NormalignError("its heads have gates; take out the closed heads first (recipes/pruning)")


def attentions(model: Any, kind: str) -> list[Any]:
    """Return the attention modules of a kind, one per layer."""
    found: Any = every_layer_of((model.encoder if kind == "encoder" else model.decoder).layers)
    return [layer.encoder_attn if kind == "cross" else layer.self_attn for layer in found]


def compute_step_by_step(attention: Any) -> None:
    """torch's fused attention runs no projection module and knows of one number of heads only."""
    if not hasattr(attention, "skip_embed_dim_check"):
        raise NormalignError("fewer heads need an attention that can be pruned; that of this fairseq (0.12.2) cannot")
    attention.skip_embed_dim_check = True


def read_heads(text: str) -> dict[str, list[int]]:
    """What :func:`write_heads` wrote."""
    try:
        parts = [part.split(":") for part in text.split(";") if part]
        heads = {kind: [int(count) for count in counts.split(",")] for kind, counts in parts}
    except ValueError:
        raise NormalignError(f"the checkpoint's numbers of heads cannot be read: '{text[:80]}'") from None
    if not heads.keys() <= set(KINDS) or any(count < 0 for counts in heads.values() for count in counts):
        raise NormalignError(f"the checkpoint's numbers of heads cannot be read: '{text[:80]}'")
    return heads


def width_of(heads: int, head_dim: int) -> int:
    """Channels of an attention with so many heads. Without any, it keeps one channel that is always zero: fairseq's
    attention cannot run on nothing, and its output bias is still added."""
    return heads * head_dim if heads else 1


def shrink(model: Any, heads: Heads) -> None:
    """Make attention layers as small as ``heads`` says; their parameters are new."""
    for kind, counts in heads.items():
        modules = attentions(model, kind)
        if len(counts) != len(modules):
            raise NormalignError(
                f"numbers of heads for {len(counts)} layers of {kind} attention, which has {len(modules)}"
            )
        for attention, count in zip(modules, counts, strict=True):
            if count > attention.num_heads:
                raise NormalignError(f"{count} heads where {kind} attention has {attention.num_heads}")
            _shrink(attention, count)
    if "encoder" in heads:
        leave_fused_layer(model)


def leave_fused_layer(model: Any) -> None:
    """Keep 0.12.2's encoder layers from torch's fused layer, and give the copies of parameters they hold for it the
    sizes of their attention."""
    layers: list[Any] = [*every_layer_of(model.encoder.layers)]
    for layer in layers:
        if hasattr(layer, "can_use_fastpath"):
            layer.can_use_fastpath = False
            rows = [getattr(layer.self_attn, name) for name in ("q_proj", "k_proj", "v_proj")]
            layer.in_proj_weight = nn.Parameter(torch.cat([row.weight.detach() for row in rows]))
            layer.in_proj_bias = nn.Parameter(torch.cat([row.bias.detach() for row in rows]))
            layer.out_proj_weight = nn.Parameter(layer.self_attn.out_proj.weight.detach().clone())


def _shrink(attention: Any, heads: int) -> None:
    compute_step_by_step(attention)
    width = width_of(heads, attention.head_dim)
    for name in ("q_proj", "k_proj", "v_proj"):
        old = getattr(attention, name)
        setattr(attention, name, nn.Linear(old.in_features, width, bias=old.bias is not None))
    old = attention.out_proj
    attention.out_proj = nn.Linear(width, old.out_features, bias=old.bias is not None)
    attention.num_heads = max(heads, 1)
    attention.head_dim = width // attention.num_heads
    attention.embed_dim = width


SIZES = {
    "transformer_normalign": base_architecture,  # 6+6 layers, 512 channels, 8 heads
    "transformer_normalign_iwslt_de_en": transformer_iwslt_de_en,  # 4 heads, 1024 in the feed-forward
    "transformer_normalign_wmt_en_de": transformer_wmt_en_de,  # the base model
    "transformer_normalign_big": transformer_vaswani_wmt_en_de_big,  # 1024 channels, 16 heads
}
for name, sizes in SIZES.items():
    register_model_architecture("transformer_normalign", name)(sizes)


@register_model("normalign_aligner")
class NormalignAlignerModel(TransformerModel):
    """Encoder, and the lower layers of a decoder without the mask that hides later words."""

    full_context_alignment = True

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prev_output_tokens: Tensor,
        return_all_hiddens: bool = True,
        features_only: bool = False,
        alignment_layer: int | None = None,
        alignment_heads: int | None = None,
    ) -> Any:
        """[B, S], [B], [B, T] -> what the decoder returns; its attention at ``alignment_layer`` is [B, T, S]."""
        encoder_out = self.encoder(src_tokens, src_lengths=src_lengths, return_all_hiddens=return_all_hiddens)
        return self.decoder(
            prev_output_tokens,
            encoder_out=encoder_out,
            features_only=features_only,
            full_context_alignment=True,
            alignment_layer=alignment_layer,
            alignment_heads=alignment_heads,
        )

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """The decoder layers of a deeper checkpoint that this model does not have are left out."""
        super().upgrade_state_dict_named(state_dict, name)
        for key in list(state_dict):
            layer = re.match(r"decoder\.layers\.(\d+)\.", key)
            if layer and int(layer[1]) >= self.decoder.num_layers:
                del state_dict[key]


# --decoder-layers says how many of the decoder layers are kept
register_model_architecture("normalign_aligner", "normalign_aligner")(base_architecture)

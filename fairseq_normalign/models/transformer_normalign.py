"""``--arch transformer_normalign``: fairseq's Transformer, parameter for parameter.

The same state_dict keys as ``transformer``: checkpoints of either load into the other. Alignments are read from
outside, by hooks that exist only while they are read, so training costs what it costs there.

``--normalign-gates`` adds what can close heads, and ``normalign prune`` writes checkpoints with fewer of them, which
say in their arguments how many each layer has.
"""

from __future__ import annotations

import argparse
from typing import Any

from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModel
from fairseq.models.transformer.transformer_legacy import (
    base_architecture,
    transformer_iwslt_de_en,
    transformer_vaswani_wmt_en_de_big,
    transformer_wmt_en_de,
)
from torch import Tensor

from ..hosts.fairseq.gated_heads import add_gates, gated_kinds, read_heads, shrink
from ..hosts.fairseq.head_gates import HeadGates


@register_model("transformer_normalign")
class TransformerNormalignModel(TransformerModel):
    """A Transformer whose alignments the task ``translation_normalign`` reads."""

    @classmethod
    def add_args(cls, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the Transformer and of the gates."""
        super().add_args(parser)
        group = parser.add_argument_group("head gates")
        group.add_argument(
            "--normalign-gates",
            metavar="KINDS",
            help="put a gate on each head of these kinds of attention: encoder, decoder, cross, separated by commas",
        )
        group.add_argument(
            "--normalign-gates-start", type=float, metavar="X", help="log-odds of every gate at the start (2)"
        )
        group.add_argument(
            "--normalign-gates-speed", type=float, metavar="X", help="learn gates this many times faster (1)"
        )
        group.add_argument(
            "--normalign-heads",
            metavar="COUNTS",
            help="heads of each layer, for example encoder:4,2;cross:1,0: as a checkpoint of 'normalign prune' says",
        )

    @classmethod
    def build_model(cls, args: Any, task: Any) -> TransformerNormalignModel:
        """The model that the arguments describe, or those of a checkpoint."""
        kinds = gated_kinds(getattr(args, "normalign_gates", None))
        model = super().build_model(args, task)
        if getattr(args, "normalign_heads", None):
            shrink(model, read_heads(args.normalign_heads))
        start, speed = (getattr(args, f"normalign_gates_{name}", None) for name in ("start", "speed"))
        add_gates(model, kinds, 2.0 if start is None else start, speed or 1.0)
        return model

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """A checkpoint without gates is one whose gates are yet to learn: what fine-tuning starts from."""
        super().upgrade_state_dict_named(state_dict, name)
        for place, module in self.named_modules():
            if isinstance(module, HeadGates):
                state_dict.setdefault(f"{place}.location", module.location.detach().clone())


@register_model_architecture("transformer_normalign", "transformer_normalign")
def normalign_base(args: argparse.Namespace) -> None:
    """The base model: 6+6 layers, 512 channels, 8 heads."""
    base_architecture(args)


@register_model_architecture("transformer_normalign", "transformer_normalign_iwslt_de_en")
def normalign_iwslt_de_en(args: argparse.Namespace) -> None:
    """The size used for IWSLT and Europarl: 6+6 layers, 512 channels, 4 heads, 1024 in the feed-forward."""
    transformer_iwslt_de_en(args)


@register_model_architecture("transformer_normalign", "transformer_normalign_wmt_en_de")
def normalign_wmt_en_de(args: argparse.Namespace) -> None:
    """The size used for WMT: the base model."""
    transformer_wmt_en_de(args)


@register_model_architecture("transformer_normalign", "transformer_normalign_big")
def normalign_big(args: argparse.Namespace) -> None:
    """The big model: 6+6 layers, 1024 channels, 16 heads."""
    transformer_vaswani_wmt_en_de_big(args)

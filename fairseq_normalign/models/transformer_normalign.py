"""``--arch transformer_normalign``: fairseq's Transformer, parameter for parameter.

The same state_dict keys as ``transformer``: checkpoints of either load into the other. Alignments are read from
outside, by hooks that exist only while they are read, so training costs what it costs there.
"""

from __future__ import annotations

from typing import Any

from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModel
from fairseq.models.transformer.transformer_legacy import (
    base_architecture,
    transformer_iwslt_de_en,
    transformer_vaswani_wmt_en_de_big,
    transformer_wmt_en_de,
)


@register_model("transformer_normalign")
class TransformerNormalignModel(TransformerModel):
    """A Transformer whose alignments the task ``translation_normalign`` reads."""


@register_model_architecture("transformer_normalign", "transformer_normalign")
def normalign_base(args: Any) -> None:
    """The base model: 6+6 layers, 512 channels, 8 heads."""
    base_architecture(args)


@register_model_architecture("transformer_normalign", "transformer_normalign_iwslt_de_en")
def normalign_iwslt_de_en(args: Any) -> None:
    """The size used for IWSLT and Europarl: 6+6 layers, 512 channels, 4 heads, 1024 in the feed-forward."""
    transformer_iwslt_de_en(args)


@register_model_architecture("transformer_normalign", "transformer_normalign_wmt_en_de")
def normalign_wmt_en_de(args: Any) -> None:
    """The size used for WMT: the base model."""
    transformer_wmt_en_de(args)


@register_model_architecture("transformer_normalign", "transformer_normalign_big")
def normalign_big(args: Any) -> None:
    """The big model: 6+6 layers, 1024 channels, 16 heads."""
    transformer_vaswani_wmt_en_de_big(args)

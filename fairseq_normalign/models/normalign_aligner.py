"""``--arch normalign_aligner``: a Transformer that only aligns, and so may see the whole target.

The parameters are those of ``transformer``, with as many decoder layers as aligning needs: it starts from the
checkpoint of a deeper translation model (``--finetune-from-model``) and leaves the layers above out. A word that it
aligns sees the words that follow, which a decoder that translates must not: it cannot translate.
"""

from __future__ import annotations

import argparse
import re
from typing import Any

from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModel
from fairseq.models.transformer.transformer_legacy import base_architecture
from torch import Tensor


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


@register_model_architecture("normalign_aligner", "normalign_aligner")
def aligner_base(args: argparse.Namespace) -> None:
    """The base model; ``--decoder-layers`` says how many of its decoder layers are kept."""
    base_architecture(args)

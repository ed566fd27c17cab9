"""``--criterion guided_alignment``: an attention layer learns given links, at the step where a word is the input.

fairseq's own criterion teaches the step where the word is the output: the decoder has to guess where the word that it
has not seen yet comes from. One step later it has seen it (AWI), and ``normalign align --step awi`` reads it there.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq import utils
from fairseq.criterions import register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)
from fairseq.logging import metrics
from torch import Tensor

from fairseq_normalign.errors import NormalignError

SMALLEST_SHARE = 1e-9

# fairseq reads the types of the fields below at run time: no postponed annotations


@dataclass
class GuidedAlignmentConfig(LabelSmoothedCrossEntropyCriterionConfig):
    """The options of label-smoothed cross entropy and of guided alignment."""

    guided_layer: int = field(default=0, metadata={"help": "decoder layer that learns, from 1 (0: the last)"})
    guided_null: float = field(
        default=0.0, metadata={"help": "weight of a target piece without links, which learns the end of the source"}
    )
    translation_weight: float = field(
        default=0.0, metadata={"help": "weight of the translation loss (0: an aligner only, which costs far less)"}
    )


@register_criterion("guided_alignment", dataclass=GuidedAlignmentConfig)
class GuidedAlignmentCriterion(LabelSmoothedCrossEntropyCriterion):
    """Mean over target pieces of -log of the attention that goes where the links say."""

    def __init__(
        self,
        task: Any,
        sentence_avg: bool,
        label_smoothing: float,
        guided_layer: int,
        guided_null: float,
        translation_weight: float,
        ignore_prefix_size: int = 0,
        report_accuracy: bool = False,
    ) -> None:
        super().__init__(task, sentence_avg, label_smoothing, ignore_prefix_size, report_accuracy)
        self.guided_layer = guided_layer
        self.guided_null = guided_null
        self.translation_weight = translation_weight

    def forward(self, model: Any, sample: dict, reduce: bool = True) -> tuple[Tensor, float, dict]:
        """The loss, what to divide it by, and what to log."""
        output = model(
            **sample["net_input"],
            features_only=self.translation_weight == 0,
            alignment_layer=self._layer(model),
        )
        attention = output[1]["attn"][0].float()
        alignment, taught = alignment_loss(attention, sample, self.padding_idx, self.guided_null)
        loss, logged = alignment, {"alignment_loss": utils.item(alignment.data), "taught": taught}
        if self.translation_weight:
            translation, nll = self.compute_loss(model, output, sample, reduce=reduce)
            # both are sums over target pieces
            loss = alignment + self.translation_weight * translation
            logged["nll_loss"] = utils.item(nll.data)
        size = max(1.0, taught) if self.translation_weight == 0 else sample["ntokens"]
        logged |= {
            "loss": utils.item(loss.data),
            "ntokens": sample["ntokens"],
            "nsentences": sample["target"].size(0),
            "sample_size": size,
        }
        return loss, size, logged

    def _layer(self, model: Any) -> int:
        model = getattr(model, "module", model)
        layers = model.decoder.num_layers
        if self.translation_weight and getattr(model, "full_context_alignment", False):
            raise NormalignError("the weight of translation has to be 0: an aligner sees the words it would guess")
        if not 0 <= self.guided_layer <= layers:
            raise NormalignError(f"there is no decoder layer {self.guided_layer} to guide; it has layers 1 to {layers}")
        return (self.guided_layer or layers) - 1

    @staticmethod
    def reduce_metrics(logging_outputs: list[dict]) -> None:
        """Bits a target piece."""

        def total(name: str) -> float:
            return utils.item(sum(log.get(name, 0) for log in logging_outputs))

        size, pieces, taught = total("sample_size"), total("ntokens"), total("taught")
        metrics.log_scalar("loss", total("loss") / size / math.log(2), size, round=3)
        metrics.log_scalar("alignment_loss", total("alignment_loss") / max(1, taught) / math.log(2), taught, round=3)
        if any("nll_loss" in log for log in logging_outputs):
            metrics.log_scalar("nll_loss", total("nll_loss") / pieces / math.log(2), pieces, round=3)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        """Sums are all that is logged."""
        return True


def alignment_loss(attention: Tensor, sample: dict, padding: int, null_weight: float) -> tuple[Tensor, float]:
    """Sum of -log shares over the taught target pieces, and how many there are (by weight).

    ``attention``: [B, T, S], T counting the end of the sentence; a piece is the input one row after its own. The links
    of a piece share one unit of weight. ``sample["alignments"]``: [links, 2] of column and flat row, as fairseq makes
    them; absent where no sentence of the batch has any.
    """
    rows = attention.reshape(-1, attention.size(-1)).clamp(min=SMALLEST_SHARE).log()
    loss, taught = rows.sum() * 0.0, 0.0
    links = sample.get("alignments")
    if links is not None and len(links):
        weights = sample["align_weights"].to(rows)
        loss = loss - (rows[links[:, 1] + 1, links[:, 0]] * weights).sum()
        taught += float(weights.sum())
    if null_weight:
        without = rows_without_links(sample, padding, links)
        loss = loss - null_weight * rows[without + 1, -1].sum()  # sources are padded on the left: the end is last
        taught += null_weight * len(without)
    return loss, taught


def rows_without_links(sample: dict, padding: int, links: Tensor | None) -> Tensor:
    """Flat rows of the pieces that no link reaches, in sentences that have links; the end of a sentence is no piece."""
    target = sample["target"]
    linked = torch.zeros_like(target, dtype=torch.bool)
    if links is not None and len(links):
        linked.view(-1)[links[:, 1]] = True
    is_piece = target.ne(padding)
    is_piece[:, :-1] &= target[:, 1:].ne(padding)  # the last one before the padding is the end of the sentence
    is_piece[:, -1] = False
    return (is_piece & ~linked & linked.any(dim=1, keepdim=True)).view(-1).nonzero().squeeze(1)

"""``--criterion chunked_cross_entropy``: label-smoothed cross entropy that never holds a whole batch of distributions.

The loss and the gradients are those of fairseq's ``label_smoothed_cross_entropy``. It is faster where a small model
trains on a CPU: there the table of all words for all positions, written and read several times, costs more time than
the model. Here a few hundred positions at a time go through the output layer, the loss and its gradient.
"""

from typing import Any

import torch
from fairseq.criterions import register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)
from torch import Tensor, nn

CHUNK = 128
"""Positions at a time: with 8,000 words 4 MB, which a processor's cache can hold."""

# fairseq reads the types of a configuration at run time: no postponed annotations


class _ChunkedLoss(torch.autograd.Function):
    """The loss of a linear output layer, with the gradients computed on the way forward."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        """features [N, C], weight [V, C], target [N] -> the sums of the smoothed and of the plain loss."""
        words = len(weight)
        of_others = smoothing / (words - 1)
        of_target = 1 - smoothing - of_others
        to_features, to_weight = torch.empty_like(features), torch.zeros_like(weight)
        totals, rights = features.new_empty(len(features), 1), features.new_empty(len(features), 1)
        for start in range(0, len(features), CHUNK):
            part = slice(start, start + CHUNK)
            scores, right = features[part] @ weight.t(), target[part, None]
            rights[part] = scores.gather(1, right)
            largest = scores.amax(dim=1, keepdim=True)
            gradient = scores.sub_(largest).exp_()  # of each score: its probability, less what falls to the right word
            total = gradient.sum(dim=1, keepdim=True)
            totals[part] = total.log() + largest
            gradient.div_(total).scatter_add_(1, right, gradient.new_full(right.shape, -of_target))
            torch.mm(gradient, weight, out=to_features[part])
            to_weight.addmm_(gradient.t(), features[part])
        # what falls to every word alike
        of_words, of_positions = weight.sum(dim=0), features.sum(dim=0)
        to_features -= of_others * of_words
        to_weight -= of_others * of_positions
        plain = (totals - rights).sum()
        smooth = words * totals.sum() - of_positions @ of_words
        ctx.save_for_backward(to_features, to_weight)
        ctx.mark_non_differentiable(plain)
        return of_target * plain + of_others * smooth, plain

    @staticmethod
    def backward(ctx: Any, outer: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """outer: a number -> gradients of features [N, C] and weight [V, C]."""
        to_features, to_weight = ctx.saved_tensors
        return to_features * outer, to_weight * outer, None, None


def chunked_loss(features: Tensor, weight: Tensor, target: Tensor, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """Sums over N positions of the smoothed and of the plain loss, in nats; only the first has gradients.

    ``features`` [N, C] are what goes into the output layer, ``weight`` [V, C] is that layer, without a bias, and
    ``target`` [N] are the right words. Double backward is unsupported.

    >>> losses = chunked_loss(torch.zeros(2, 3), torch.zeros(4, 3), torch.tensor([1, 2]), smoothing=0.1)
    >>> [round(float(loss), 3) for loss in losses]  # 2 * log(4): all four words are equally likely
    [2.773, 2.773]
    """
    smoothed, plain = _ChunkedLoss.apply(features, weight, target, smoothing)
    return smoothed, plain


@register_criterion("chunked_cross_entropy", dataclass=LabelSmoothedCrossEntropyCriterionConfig)
class ChunkedCrossEntropyCriterion(LabelSmoothedCrossEntropyCriterion):
    """fairseq's label-smoothed cross entropy, computed for a few hundred positions at a time.

    A model whose output is not one matrix in single precision, an accuracy that is asked for, an ignored prefix and
    sums that are not wanted are left to fairseq's own.
    """

    def forward(self, model: Any, sample: dict[str, Any], reduce: bool = True) -> tuple[Any, int, dict[str, Any]]:
        """The loss, what to divide it by, and what to log."""
        weight = output_matrix(model)
        if weight is None or not reduce or self.report_accuracy or self.ignore_prefix_size:
            return super().forward(model, sample, reduce)
        features = model(**sample["net_input"], features_only=True)[0]  # [B, T, C]
        is_piece = sample["target"].ne(self.padding_idx)
        loss, plain = chunked_loss(features[is_piece], weight, sample["target"][is_piece], self.eps)
        sentences = sample["target"].size(0)
        size = sentences if self.sentence_avg else sample["ntokens"]
        logged = {"loss": loss.data, "nll_loss": plain, "ntokens": sample["ntokens"], "nsentences": sentences}
        return loss, size, logged | {"sample_size": size}


def output_matrix(model: Any) -> Tensor | None:
    """The output layer [V, C] of a fairseq model, or None where it is no plain matrix in single precision."""
    decoder = getattr(getattr(model, "module", model), "decoder", None)
    layer = getattr(decoder, "output_projection", None)
    if getattr(decoder, "adaptive_softmax", None) is not None or type(layer) is not nn.Linear:
        return None
    is_plain = layer.bias is None and layer.weight.dtype == torch.float32 and not torch.is_autocast_enabled()
    return layer.weight if is_plain else None

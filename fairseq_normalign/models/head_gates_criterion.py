"""``--criterion label_smoothed_cross_entropy_with_head_gates``: closes heads that the loss can do without.

Here, and not in a folder of its own, because fairseq imports ``models/`` and ``tasks/`` of a user directory only.
"""

# no postponed annotations here: fairseq reads the types of its configurations as they are
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq import metrics
from fairseq.criterions import register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)

from ..errors import NormalignError
from ..hosts.fairseq.gated_heads import gates_of
from ..methods.records import KINDS


@dataclass
class HeadGatesCriterionConfig(LabelSmoothedCrossEntropyCriterionConfig):
    """Label-smoothed cross-entropy, and what an open head costs."""

    normalign_gates_lambda: float = field(
        default=0.01,
        metadata={"help": "what each head costs: added to the loss of a token, times its chance to be open"},
    )


@register_criterion("label_smoothed_cross_entropy_with_head_gates", dataclass=HeadGatesCriterionConfig)
class HeadGatesCriterion(LabelSmoothedCrossEntropyCriterion):
    """The loss of a token plus lambda times the relaxed L0 norm of all gates."""

    def __init__(
        self,
        task: Any,
        sentence_avg: bool,
        label_smoothing: float,
        normalign_gates_lambda: float,
        ignore_prefix_size: int = 0,
        report_accuracy: bool = False,
    ) -> None:
        # each by its name: fairseq looks at them to know what to pass
        super().__init__(task, sentence_avg, label_smoothing, ignore_prefix_size, report_accuracy)
        self.weight = normalign_gates_lambda

    def forward(self, model: Any, sample: Any, reduce: bool = True) -> tuple[Any, int, dict[str, Any]]:
        """-> loss, sample size, what to log."""
        gates = list(gates_of(model))
        if not gates:
            raise NormalignError(
                "the criterion for head gates needs some: --arch transformer_normalign --normalign-gates"
            )
        loss, size, log = super().forward(model, sample, reduce)
        penalty = torch.stack([module.penalty() for _, module in gates]).sum()
        if model.training:
            loss = loss + self.weight * size * penalty
        log.update(gates_batches=1, gates_penalty=float(penalty.detach()), loss=loss.data)
        open_heads: defaultdict[str, int] = defaultdict(int)
        for kind, module in gates:
            open_heads[kind] += int(module.is_open().sum())
        log.update({f"heads_{kind}": count for kind, count in open_heads.items()})
        return loss, size, log

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict[str, Any]]) -> None:
        """Log the means of the penalty and of the numbers of open heads over the batches of an update."""
        super().reduce_metrics(logging_outputs)
        batches = sum(log.get("gates_batches", 0) for log in logging_outputs)
        for name in ("gates_penalty", *(f"heads_{kind}" for kind in KINDS)):
            if batches and any(name in log for log in logging_outputs):
                total = sum(log.get(name, 0) for log in logging_outputs)
                metrics.log_scalar(name, total / batches, priority=500, round=2)

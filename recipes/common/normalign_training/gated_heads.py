"""``--arch transformer_normalign_gated``: a gate on each head, and the criterion that closes heads by their price.

``--criterion label_smoothed_cross_entropy_with_head_gates`` closes heads that the loss can do without.
"""

# no postponed annotations here: fairseq reads the types of its configurations as they are
import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import torch
from fairseq import metrics
from fairseq.criterions import register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)
from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer.transformer_legacy import base_architecture
from torch import Tensor

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.methods.records import KINDS
from fairseq_normalign.models.transformer_normalign import (
    TransformerNormalignModel,
    attentions,
    compute_step_by_step,
    leave_fused_layer,
)

from .head_gates import HeadGates


def gated_kinds(text: Optional[str]) -> list[str]:  # noqa: UP045
    """'encoder,cross' -> the kinds of attention."""
    kinds = [kind for kind in (text or "").split(",") if kind]
    for kind in kinds:
        if kind not in KINDS:
            raise NormalignError(f"--normalign-gates {text}: no attention '{kind}'; choose some of {','.join(KINDS)}")
    return list(dict.fromkeys(kinds))


def add_gates(model: Any, kinds: Sequence[str], start: float, speed: float) -> None:
    """Put a gate on every head of these kinds of attention."""
    for kind in kinds:
        for attention in attentions(model, kind):
            compute_step_by_step(attention)
            attention.gates = HeadGates(attention.num_heads, start, speed)
            # a bound method, so that a copy of the model gets hooks of its own gates
            attention.v_proj.register_forward_hook(attention.gates.on_values)
    if "encoder" in kinds:
        leave_fused_layer(model)


def gates_of(model: Any) -> Iterator[tuple[str, HeadGates]]:
    """Every layer's gates, with the kind of their attention."""
    for name, module in model.named_modules():
        if isinstance(module, HeadGates):
            kind = "cross" if ".encoder_attn." in name else "encoder" if ".encoder." in f".{name}" else "decoder"
            yield kind, module


@register_model("transformer_normalign_gated")
class GatedTransformerModel(TransformerNormalignModel):
    """A Transformer whose heads training can close; ``recipe_steps prune`` takes them out of its checkpoints."""

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

    @classmethod
    def build_model(cls, args: Any, task: Any) -> Any:
        """The model that the arguments describe, or those of a checkpoint."""
        kinds = gated_kinds(getattr(args, "normalign_gates", None))
        model = super().build_model(args, task)
        start, speed = (getattr(args, f"normalign_gates_{name}", None) for name in ("start", "speed"))
        add_gates(model, kinds, 2.0 if start is None else start, speed or 1.0)
        return model

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """A checkpoint without gates is where fine-tuning starts: its gates are those of this model."""
        super().upgrade_state_dict_named(state_dict, name)
        for place, module in self.named_modules():
            if isinstance(module, HeadGates):
                state_dict.setdefault(f"{place}.location", module.location.detach().clone())


@register_model_architecture("transformer_normalign_gated", "transformer_normalign_gated")
def gated_base(args: argparse.Namespace) -> None:
    """The base model: 6+6 layers, 512 channels, 8 heads."""
    base_architecture(args)


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
                "the criterion for head gates needs some: --arch transformer_normalign_gated --normalign-gates"
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

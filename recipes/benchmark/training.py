"""What the loss of a small model costs on a CPU: forward and backward pass of one batch, by both criteria."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import torch
from made_up import Size, batch_of, load, make_checkpoint
from measuring import in_turns

SMALL = Size(channels=128, inner=256, heads=4, layers=3, words=8000)
"""As the recipes train it on a CPU."""


def seconds(pairs: int, length: int, repetitions: int) -> dict[str, float]:
    """CPU seconds of one batch: fairseq's label-smoothed cross entropy, ours in chunks, the model without a loss."""
    from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))
    from normalign_training.chunked_cross_entropy import ChunkedCrossEntropyCriterion

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        model = load(make_checkpoint(Path(folder), SMALL)).models[0].train().requires_grad_()
    made = batch_of(pairs, length, SMALL.words)
    target = torch.cat([made["targets"], torch.full((pairs, 1), 2)], dim=1)
    inputs = {name: made[name] for name in ("src_tokens", "src_lengths")}
    sample = {
        "net_input": {**inputs, "prev_output_tokens": target.roll(1, dims=1)},
        "target": target,
        "ntokens": target.numel(),
    }
    task = SimpleNamespace(target_dictionary=SimpleNamespace(pad=lambda: 1))

    def learn(kind: type) -> None:
        model.zero_grad()
        kind(task, False, 0.1)(model, sample)[0].backward()

    def without_loss() -> None:
        model.zero_grad()
        model(**sample["net_input"], features_only=True)[0].sum().backward()

    works = {
        "whole": lambda: learn(LabelSmoothedCrossEntropyCriterion),
        "chunked": lambda: learn(ChunkedCrossEntropyCriterion),
        "model": without_loss,
    }
    return in_turns(works, repetitions)

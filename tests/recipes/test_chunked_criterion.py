"""Cross entropy in chunks, against fairseq's own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    label_smoothed_nll_loss,
)
from normalign_training import chunked_cross_entropy as chunked
from torch import nn

from tests.methods.tiny_models import tiny_transformer

PAD, END = 1, 2


@pytest.mark.parametrize("positions", [0, 1, chunked.CHUNK, chunked.CHUNK + 3])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_losses_and_gradients_are_fairseq_s(positions: int, smoothing: float) -> None:
    chance = torch.Generator().manual_seed(1)
    features = torch.randn(positions, 6, generator=chance, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(30, 6, generator=chance, dtype=torch.float64, requires_grad=True)
    target = torch.randint(30, (positions,), generator=chance)
    found = chunked.chunked_loss(features, weight, target, smoothing)
    expected = label_smoothed_nll_loss(torch.log_softmax(features @ weight.T, -1), target, smoothing)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(3 * one[0], [features, weight]) for one in (found, expected)]
    torch.testing.assert_close(*gradients)


def sample() -> dict:
    """Two sentences, the second one padded."""
    target = torch.tensor([[5, 6, 7, END], [8, END, PAD, PAD]])
    previous = torch.tensor([[END, 5, 6, 7], [END, 8, PAD, PAD]])
    source = {"src_tokens": torch.tensor([[5, 6, END], [PAD, 7, END]]), "src_lengths": torch.tensor([3, 2])}
    return {"net_input": {**source, "prev_output_tokens": previous}, "target": target, "ntokens": 6}


def both(**options: object) -> list[LabelSmoothedCrossEntropyCriterion]:
    """The criterion in chunks and fairseq's."""
    task = SimpleNamespace(target_dictionary=SimpleNamespace(pad=lambda: PAD))
    kinds = (chunked.ChunkedCrossEntropyCriterion, LabelSmoothedCrossEntropyCriterion)
    return [kind(task, **{"sentence_avg": False, "label_smoothing": 0.1, **options}) for kind in kinds]


def results(criterion: LabelSmoothedCrossEntropyCriterion, model: nn.Module) -> tuple[list, dict]:
    """The gradients of a model, and what is logged with the sample size."""
    model.zero_grad()
    loss, size, logged = criterion(model, sample())
    loss.backward()
    return [p.grad for p in model.parameters() if p.grad is not None], {**logged, "size": size, "loss": loss.detach()}


@pytest.mark.parametrize("options", [{}, {"sentence_avg": True}, {"ignore_prefix_size": 1}, {"report_accuracy": True}])
def test_a_model_learns_the_same_and_logs_the_same(options: dict) -> None:
    model = tiny_transformer().float().requires_grad_()
    ours, theirs = (results(criterion, model) for criterion in both(**options))
    assert len(ours[0]) == len(theirs[0]) > 20
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_only_a_plain_matrix_in_single_precision_goes_in_chunks() -> None:
    model = tiny_transformer().float()
    assert chunked.output_matrix(model) is model.decoder.output_projection.weight
    assert chunked.output_matrix(SimpleNamespace(module=model)) is model.decoder.output_projection.weight
    assert chunked.output_matrix(tiny_transformer().half()) is None
    model.decoder.output_projection = nn.Linear(8, 20)
    assert chunked.output_matrix(model) is None, "it has a bias"
    assert chunked.output_matrix(SimpleNamespace()) is None


def test_the_table_of_all_words_is_never_made(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_transformer().float().requires_grad_()
    monkeypatch.setattr(type(model.decoder), "output_layer", lambda *_: pytest.fail("the output layer was called"))
    results(both()[0], model)

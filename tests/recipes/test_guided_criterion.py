"""What the guided criterion counts, against the obvious sum over target pieces."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

from fairseq_normalign.errors import NormalignError

PAD, END = 1, 2


@pytest.fixture(scope="module")
def criterion():
    from normalign_training import guided_alignment

    return guided_alignment


def sample_of(target: list[list[int]], links: list[tuple[int, int, int]]) -> dict:
    """``links``: sentence, source column, target position."""
    rows = len(target[0])
    flat = torch.tensor([[column, sentence * rows + position] for sentence, column, position in links])
    counts = [sum(b == other for other in flat[:, 1].tolist()) for b in flat[:, 1].tolist()]
    weights = torch.tensor([1 / count for count in counts])
    return {"target": torch.tensor(target), "alignments": flat, "align_weights": weights}


def test_a_word_is_taught_one_row_later_and_null_at_the_end_of_the_source(criterion) -> None:
    target = [[7, 8, 9, END], [7, 8, END, PAD]]
    links = [(0, 1, 0), (0, 2, 0), (0, 0, 2), (1, 2, 1)]
    attention = torch.softmax(torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(1)), -1)
    loss, taught = criterion.alignment_loss(attention, sample_of(target, links), PAD, 0.5)
    expected = 0.0
    for sentence, length in ((0, 3), (1, 2)):
        for position in range(length):
            columns = [column for which, column, where in links if (which, where) == (sentence, position)]
            row = attention[sentence, position + 1]
            if columns:
                expected -= sum(math.log(row[column]) for column in columns) / len(columns)
            else:
                expected -= 0.5 * math.log(row[-1])
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert taught == pytest.approx(3 + 0.5 * 2)


def test_a_batch_without_links_teaches_nothing(criterion) -> None:
    attention = torch.full((1, 3, 2), 0.5, requires_grad=True)
    loss, taught = criterion.alignment_loss(attention, {"target": torch.tensor([[7, 8, END]])}, PAD, 0.5)
    loss.backward()
    assert float(loss) == 0
    assert taught == 0


def test_no_attention_is_a_large_loss_and_not_an_infinite_one(criterion) -> None:
    attention = torch.zeros(1, 3, 2)
    loss, _ = criterion.alignment_loss(attention, sample_of([[7, 8, END]], [(0, 0, 0)]), PAD, 0.0)
    assert 10 < float(loss) < 100


def test_an_aligner_that_sees_every_word_is_not_taught_to_guess_them(criterion) -> None:
    task = SimpleNamespace(target_dictionary=SimpleNamespace(pad=lambda: PAD))
    taught = criterion.GuidedAlignmentCriterion(task, False, 0.1, 1, 0.0, translation_weight=1.0)
    aligner = SimpleNamespace(decoder=SimpleNamespace(num_layers=2), full_context_alignment=True)
    with pytest.raises(NormalignError, match="has to be 0"):
        taught._layer(aligner)
    taught.translation_weight = 0
    assert taught._layer(aligner) == 0


def test_a_layer_that_is_not_there_is_refused(criterion) -> None:
    task = SimpleNamespace(target_dictionary=SimpleNamespace(pad=lambda: PAD))
    taught = criterion.GuidedAlignmentCriterion(task, False, 0.1, 3, 0.0, translation_weight=0.0)
    with pytest.raises(NormalignError, match="no decoder layer 3 to guide; it has layers 1 to 2"):
        taught._layer(SimpleNamespace(decoder=SimpleNamespace(num_layers=2)))

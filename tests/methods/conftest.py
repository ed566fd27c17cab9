"""Tiny models of both kinds for every test of a method."""

from __future__ import annotations

import pytest
import torch
from tiny_models import tiny_batch, tiny_transformer, tiny_view


@pytest.fixture(autouse=True)
def _exact_softmax(monkeypatch):
    """fairseq rounds attention weights to float32 whatever the model runs in: finite differences need all digits."""
    monkeypatch.setattr("fairseq.utils.softmax", lambda x, dim, onnx_trace=False: torch.softmax(x, dim))


@pytest.fixture(scope="session", params=[False, True], ids=["post-norm", "pre-norm"])
def model(request):
    return tiny_transformer(pre_norm=request.param)


@pytest.fixture
def batch():
    return tiny_batch()


@pytest.fixture
def view(model):
    with tiny_view(model) as opened:
        yield opened

"""The fast norms against the obvious formula."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_normalign.methods import Attention, get_method
from fairseq_normalign.methods.norms import (
    decomposition_error,
    head_norms,
    transformed_gram,
    transformed_norms,
    vector_norms,
)


def random_attention(
    batch: int,
    heads: int,
    steps: int,
    length: int,
    head_dim: int,
    channels: int,
    *,
    bias: bool,
    padded: bool,
    seed: int,
) -> Attention:
    random = torch.Generator().manual_seed(seed)
    scores = torch.randn(batch, heads, steps, length, generator=random, dtype=torch.float64)
    if padded and length > 1:
        scores[0, :, :, 0] = float("-inf")
    values = torch.randn(batch, length, heads * head_dim, generator=random, dtype=torch.float64)
    weight = torch.randn(channels, heads * head_dim, generator=random, dtype=torch.float64)
    out_bias = torch.randn(channels, generator=random, dtype=torch.float64) if bias else None
    return Attention(scores.softmax(-1), values, weight, out_bias)


def slow_vectors(attention: Attention) -> torch.Tensor:
    """alpha f_h(x), the tensor that the package never builds: [B, H, T, S, C]."""
    batch, length, _ = attention.values.shape
    values = attention.values.view(batch, length, attention.heads, -1)
    project = attention.out_weight.view(attention.out_weight.size(0), attention.heads, -1)
    transformed = torch.einsum("bshd,chd->bhsc", values, project)
    return torch.einsum("bhts,bhsc->bhtsc", attention.weights, transformed)


sizes = st.tuples(*(st.integers(1, 4) for _ in range(4)), st.integers(1, 5), st.integers(1, 9))


@settings(max_examples=60, deadline=None)
@given(sizes, st.booleans(), st.booleans(), st.integers(0, 999))
def test_fast_norms_equal_the_slow_formula(sizes, bias, padded, seed):
    attention = random_attention(*sizes, bias=bias, padded=padded, seed=seed)
    gram = transformed_gram(attention.values, attention.out_weight, attention.heads)
    vectors = slow_vectors(attention)
    torch.testing.assert_close(head_norms(attention.weights, gram), vectors.norm(dim=-1), atol=1e-7, rtol=1e-6)
    # a sum of vectors that cancels has a small root of a rounded difference: 1e-7 squared is what doubles leave
    torch.testing.assert_close(vector_norms(attention.weights, gram), vectors.sum(1).norm(dim=-1), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_low_precision_inputs_are_widened_first(dtype):
    exact = random_attention(3, 8, 7, 9, 8, 64, bias=True, padded=True, seed=5)
    rounded = Attention(*(t.to(dtype) for t in (exact.weights, exact.values, exact.out_weight)))
    wide = rounded.float()
    assert wide.weights.dtype == torch.float32
    expected = slow_vectors(Attention(*(t.double() for t in (wide.weights, wide.values, wide.out_weight))))
    found = get_method("norms").layer(wide)
    torch.testing.assert_close(found.double(), expected.sum(1).norm(dim=-1), atol=1e-5, rtol=1e-5)


def test_half_precision_lengths_that_would_overflow_stay_finite():
    values = torch.full((1, 2, 8), 200.0, dtype=torch.float16)
    weight = torch.full((64, 8), 20.0, dtype=torch.float16)
    attention = Attention(torch.full((1, 2, 1, 2), 0.5, dtype=torch.float16), values, weight).float()
    norms = get_method("norms").layer(attention)
    assert torch.isfinite(norms).all()
    assert norms.min() > 65504  # more than half precision can hold


def test_positions_of_a_batch_that_are_taken_in_parts():
    """1,200 source positions are more than are transformed at the same time."""
    attention = random_attention(3, 2, 2, 400, 4, 6, bias=False, padded=False, seed=2)
    found = get_method("norms").layer(attention)
    torch.testing.assert_close(found, slow_vectors(attention).sum(1).norm(dim=-1))


def test_transformed_norms_are_the_lengths_of_f():
    attention = random_attention(2, 3, 4, 5, 4, 6, bias=False, padded=False, seed=3)
    ones = Attention(torch.ones_like(attention.weights), attention.values, attention.out_weight)
    gram = transformed_gram(attention.values, attention.out_weight, 3)
    torch.testing.assert_close(transformed_norms(gram), slow_vectors(ones).norm(dim=-1)[:, :, 0])


def test_self_check_sees_parts_that_do_not_add_up():
    attention = random_attention(2, 3, 4, 5, 4, 6, bias=True, padded=False, seed=4)
    output = slow_vectors(attention).sum((1, 3)) + attention.out_bias
    fields = (attention.weights, attention.values, attention.out_weight, attention.out_bias)
    assert decomposition_error(Attention(*fields, output)) < 1e-6
    assert decomposition_error(Attention(*fields, output + 0.1)) > 0.05

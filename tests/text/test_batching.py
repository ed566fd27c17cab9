"""Batches of pairs by length."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.text.encoding import batches_by_length

sizes = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=30)


@given(sizes, st.integers(1, 100))
def test_batches_hold_every_pair_once_and_keep_the_limit(sizes, max_tokens):
    found = batches_by_length(sizes, max_tokens)
    assert sorted(place for batch in found for place in batch) == list(range(len(sizes)))
    for batch in found:
        longest = max(max(sizes[place]) for place in batch)
        assert len(batch) == 1 or len(batch) * longest <= max_tokens

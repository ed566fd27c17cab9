from __future__ import annotations

import itertools

import numpy as np
import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.decide import mutual_argmax_links
from fairseq_normalign.links.itermax import itermax_links


def slowly(soft, rounds, discount):
    """The same from the description in the paper, pair by pair."""
    targets, sources = soft.shape
    links = set(mutual_argmax_links(soft, soft.T))
    for _ in range(rounds - 1):
        full = ({s for s, _ in links} == set(range(sources)), {t for _, t in links} == set(range(targets)))
        if min(soft.shape) <= 2 or any(full):
            break
        changed = soft.copy()
        for t in range(targets):
            for s in range(sources):
                ends = any(s == a for a, _ in links) + any(t == b for _, b in links)
                changed[t, s] *= (1, discount, 0)[ends]
        links |= {
            (s, t) for t in range(targets) for s in range(sources)
            if changed[t, s] and changed[t].argmax() == s and changed[:, s].argmax() == t
        }  # fmt: skip
    return sorted(links)


@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
def test_itermax_is_mutual_argmax_again_and_again(rounds):
    rng = np.random.default_rng(rounds)
    for _ in range(100):
        soft = rng.random((rng.integers(1, 7), rng.integers(1, 7)))
        assert itermax_links(soft, rounds=rounds) == slowly(soft, rounds, 0.9)


def test_more_rounds_only_add_links():
    soft = np.random.default_rng(0).random((9, 9))
    found = [set(itermax_links(soft, rounds=rounds)) for rounds in range(1, 5)]
    assert all(fewer <= more for fewer, more in itertools.pairwise(found))
    assert len(found[1]) > len(found[0])


def test_nothing_to_link():
    assert itermax_links(np.zeros((3, 4))) == []
    assert itermax_links(np.zeros((0, 4))) == []


@pytest.mark.parametrize("options", [{"rounds": 0}, {"discount": 1.5}])
def test_bad_options(options):
    with pytest.raises(NormalignError, match="itermax"):
        itermax_links(np.ones((3, 3)), **options)

from __future__ import annotations

import numpy as np
import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.decide_links import (
    agreed_links,
    decide_agreed,
    decide_links,
    decided_by_rows,
    parse_decision,
)


@pytest.fixture(params=range(20))
def soft(request) -> np.ndarray:
    chance = np.random.default_rng(request.param)
    return chance.random((chance.integers(3, 9), chance.integers(3, 9)))


def shares(soft: np.ndarray) -> np.ndarray:
    return soft / soft.sum(axis=1, keepdims=True)


def test_top_k_are_the_largest_of_each_target_word(soft):
    expected = {(int(source), target) for target, row in enumerate(soft) for source in np.argsort(-row)[:2]}
    assert set(decide_links(soft, "top-k:2")) == expected
    assert decide_links(soft, "top-k:1") == decide_links(soft, "argmax")


def test_a_threshold_is_on_the_share_of_the_target_word(soft):
    found = decide_links(soft, "threshold:0.2")
    assert found == sorted((s, t) for t, row in enumerate(shares(soft)) for s, value in enumerate(row) if value > 0.2)


def test_itermax_adds_to_mutual_links(soft):
    assert set(decide_links(soft, "mutual")) <= set(decide_links(soft, "itermax"))
    added = [len(decide_links(s, "itermax")) - len(decide_links(s, "mutual")) for s in (soft, soft**4)]
    assert min(added) >= 0


def test_target_words_of_which_the_end_wins_have_no_link_by_any_decision(soft):
    null = np.zeros(len(soft))
    null[0] = 10
    for decision in ("argmax", "mutual", "itermax", "grow-diag", "top-k:2", "threshold:0"):
        links = decide_links(soft, decision, null=null, policy="unaligned")
        assert links
        assert all(target != 0 for _, target in links), decision


def test_decisions_by_what_two_directions_agree_on(soft):
    backward = np.random.default_rng(len(soft)).random(soft.shape[::-1])
    links, agreed = agreed_links(shares(soft), shares(backward), "agreed-intersection", 0.1)
    assert decide_agreed(agreed, "mutual", 0.1) == links
    grown, _ = agreed_links(shares(soft), shares(backward), "agreed-grow-diag", 0.1)
    assert decide_agreed(agreed, "grow-diag", 0.1) == grown
    assert all(agreed[t, s] > 0.3 for s, t in decide_agreed(agreed, "argmax", 0.3))
    assert len(decide_agreed(agreed, "threshold:0", 0.3)) == agreed.size


@pytest.mark.parametrize("text", ["best", "top-k", "top-k:0", "top-k:1.5", "threshold:2", "threshold:x", "mutual:2"])
def test_what_is_no_decision(text):
    with pytest.raises(NormalignError, match=text):
        parse_decision(text)


def test_how_sure_a_link_is_follows_the_decision():
    assert decided_by_rows("top-k:3")
    assert not decided_by_rows("itermax")

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from fairseq_normalign.projection import lexicon as module
from fairseq_normalign.projection.lexicon import Lexicon, log_likelihood_ratio


def random_pairs(seed, count=3000):
    rng = random.Random(seed)
    return [(f"s{int(rng.expovariate(0.1))}", f"t{int(rng.expovariate(0.1))}") for _ in range(count)]


def slowly(pairs):
    """Every column from its definition."""
    both, sources, targets = Counter(pairs), Counter(s for s, _ in pairs), Counter(t for _, t in pairs)
    total = len(pairs)
    found = {}
    for (s, t), count in both.items():
        observed = [[count, sources[s] - count], [targets[t] - count, total - sources[s] - targets[t] + count]]
        rows, columns = [sum(row) for row in observed], [sum(column) for column in zip(*observed, strict=True)]
        ratio = 2 * sum(
            observed[i][j] * math.log(observed[i][j] * total / (rows[i] * columns[j]))
            for i in (0, 1) for j in (0, 1) if observed[i][j]
        )  # fmt: skip
        expected = sources[s] * targets[t] / total
        found[s, t] = (count, count / sources[s], count / targets[t], -ratio if count < expected else ratio)
    return found


@pytest.mark.parametrize("held", [1, 7, 100, 10**6])
def test_counts_are_exact_whatever_is_held_in_memory(held, monkeypatch):
    monkeypatch.setattr(module, "MOST_FILES", 5)
    pairs = random_pairs(1)
    lexicon = Lexicon(held)
    for start in range(0, len(pairs), 20):
        lexicon.add(pairs[start : start + 20])
        assert len(lexicon._counts) <= held + 20
    expected = slowly(pairs)
    entries = list(lexicon.entries())
    assert len(entries) == len(expected)
    for entry in entries:
        values = (entry.count, entry.target_given_source, entry.source_given_target, entry.association)
        assert values == pytest.approx(expected[entry.source, entry.target], abs=1e-6)
    order = [(entry.source, -entry.count) for entry in entries]
    assert order == sorted(order)


def test_probabilities_add_up_to_one():
    lexicon = Lexicon()
    lexicon.add(random_pairs(2))
    sums: Counter = Counter()
    for entry in lexicon.entries():
        sums["of", entry.source] += entry.target_given_source
        sums["for", entry.target] += entry.source_given_target
    assert all(total == pytest.approx(1) for total in sums.values())


def test_filters():
    def found(**wanted):
        lexicon = Lexicon()
        lexicon.add(random_pairs(3))
        return list(lexicon.entries(**wanted))

    everything = found()
    assert found(min_count=3) == [e for e in everything if e.count >= 3]
    likely = [e for e in everything if min(e.target_given_source, e.source_given_target) >= 0.05]
    assert found(min_probability=0.05) == likely
    assert found(min_association=2.0) == [e for e in everything if e.association >= 2]
    assert max(Counter(e.source for e in found(top=2)).values()) == 2
    assert likely
    assert len(likely) < len(everything)


def test_association_is_zero_for_chance_and_negative_below_it():
    assert log_likelihood_ratio(10, 100, 100, 1000) == pytest.approx(0, abs=1e-9)
    assert log_likelihood_ratio(1, 100, 100, 1000) < 0 < log_likelihood_ratio(50, 100, 100, 1000)

from __future__ import annotations

import json

import numpy as np
import pytest

from fairseq_normalign.align.checking import best_pairs
from fairseq_normalign.analysis.check_lines import columns_of, json_line, table_line
from fairseq_normalign.analysis.translation_check import (
    PairEvidence,
    SideLogProbs,
    check_pair,
    repeated_words,
    weak_words,
    worst_run,
)


def side(gains, alone: float = -5.0) -> SideLogProbs:
    """A side whose words have one piece each; the end of the sentence has no gain."""
    gains = np.asarray(gains, dtype=float)
    blind = np.full(len(gains), alone)
    end = -1.0
    return SideLogProbs(
        blind + gains, blind, float((blind + gains).sum() + end), float(blind.sum() + end), len(gains) + 1
    )


def evidence(
    target_gains=(3, 3, 3, 3), source_gains=(3, 3, 3), agreed=None, target="a b c d", source="x y z", **more
) -> PairEvidence:
    agreed = np.full((len(target_gains), 3), 0.8) if agreed is None else agreed
    links = [(source, target) for target, source in zip(*np.nonzero(agreed > 0.1), strict=True)]
    backward = None if source_gains is None else side(source_gains)
    return PairEvidence(
        tuple(source.split()), tuple(target.split()), agreed, links, side(target_gains), backward, **more
    )


def test_the_numbers_of_a_pair_are_their_formulas():
    agreed = np.array([[0.9, 0.0, 0.0], [0.0, 0.6, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.0]])
    found = check_pair(evidence((3, 2, -1, -2), (2, 2, -3), agreed, source_shares=np.array([0.5, 0.4, 0.2, 0.05])))
    numbers = found.numbers
    assert numbers["agreement"] == pytest.approx(np.mean([0.9, 0.6, 0.3, 0.0, 0.9, 0.6, 0.0]))
    assert numbers["target_unlinked"] == 1 / 4
    assert numbers["source_unlinked"] == 1 / 3
    assert numbers["logprob"] == pytest.approx((-2 - 3 - 6 - 7 - 1) / 5)
    assert numbers["gain"] == pytest.approx(2 / 5)
    assert numbers["target_gap"] == pytest.approx(1.5 + 2.5)
    assert numbers["source_gap"] == pytest.approx(3.5)
    assert numbers["source_unseen"] == pytest.approx(0.4)
    assert numbers["source_share"] == pytest.approx(0.2875)
    assert numbers["source_share_min"] == 0.05
    assert numbers["source_share_low"] == 1 / 4
    explained = np.mean([1 - 19 / 21, 1 - 15 / 16])
    penalty = sum(np.log(1 + numbers[name]) for name in ("target_gap", "source_gap", "source_unseen"))
    assert found.score == pytest.approx(5 * explained - penalty)


@pytest.mark.parametrize(
    "worse",
    [
        {"target_gains": (3, 3, -1, -1)},
        {"source_gains": (3, -1, -1)},
        {"agreed": np.array([[0.8, 0.8, 0.1]] * 4)},
        {"target": "a b a b"},
        {"target": "a x y z"},
        {"target": "a b c 12", "source": "x y 13"},
        {"target": "a b c www.a.org", "source": "x y www.b.org"},
    ],
)
def test_damage_lowers_the_score(worse):
    assert check_pair(evidence(**worse)).score < check_pair(evidence()).score - 0.1


def test_one_direction_has_fewer_numbers_and_takes_unlinked_source_words():
    found = check_pair(evidence(source_gains=None, agreed=np.array([[0.8, 0.8, 0.0]] * 4)))
    assert not {"reverse_logprob", "reverse_gain", "source_gap", "source_share"} & set(found.numbers)
    assert found.without_target == [2]


def test_a_phrase_that_the_source_says_twice_too_is_no_damage():
    assert check_pair(evidence(target="a b a b")).numbers["repeated"] == 2
    assert check_pair(evidence(target="a b a b", source="x y x y")).numbers["repeated"] == 0


@pytest.mark.parametrize(
    ("source", "target", "copied", "changed"),
    [
        ("x y z", "x y z", 1.0, 0),
        ("X Y z", "x y a b", 4 / 7, 0),
        ("x y z", "x a y b", 0.0, 0),  # not next to each other
        ("x", "x", 0.0, 0),  # may be a name
        ("1 . 2", "1 . 2", 0.0, 0),
        ("x 1.000,5 y", "a 1,000.5", 0.0, 0),
        ("x 3 y", "a three b", 0.0, 0),
        ("x 3 4 y", "a 4 5 6 b", 0.0, 1),
        ("x me@a.de", "a you@a.de", 0.0, 1),
    ],
)
def test_copied_words_and_changed_numbers(source, target, copied, changed):
    found = check_pair(evidence(source=source, target=target)).numbers
    assert (found["copied"], found["changed"]) == (copied, changed)


def slow_repeated(words: list[str]) -> list[int]:
    found = set()
    for length in range(2, len(words)):
        for start in range(length, len(words) - length + 1):
            if words[start : start + length] == words[start - length : start]:
                found |= set(range(start, start + length))
    return sorted(found)


def test_repeats_and_runs_are_those_of_the_slow_search():
    chance = np.random.default_rng(1)
    for _ in range(200):
        words = [str(one) for one in chance.integers(0, 3, chance.integers(0, 14))]
        assert repeated_words(words) == slow_repeated(words)
        lacks = chance.normal(size=chance.integers(1, 10))
        sums = [lacks[start:stop].sum() for start in range(len(lacks)) for stop in range(start, len(lacks) + 1)]
        assert worst_run(lacks) == pytest.approx(max(0.0, *sums))


def test_weak_words_are_those_whose_surroundings_gain_little():
    chance = np.random.default_rng(2)
    for length in range(1, 12):
        gains = chance.normal(size=length)
        means = [gains[max(0, place - 2) : place + 3].mean() for place in range(length)]
        if length >= 4:  # shorter sentences have a narrower window
            assert weak_words(gains) == [place for place, mean in enumerate(means) if mean < 0.5]
        assert all(0 <= place < length for place in weak_words(gains))


def test_lines_of_the_table_and_of_json():
    found = check_pair(evidence((3, 3, -4, -4), source_shares=np.array([0.5, 0.4, 0.2, 0.05])))
    columns = columns_of(reverse=True, full=True, words=True)
    cells = dict(zip(columns, table_line(6, found, columns=columns, by_word=True)[:-1].split("\t"), strict=True))
    assert cells["line"] == "7"
    assert cells["words_without_source"] == "2:b 3:c 4:d"
    assert float(cells["score"]) == pytest.approx(found.score, abs=1e-4)
    entry = json.loads(json_line(6, found, columns=columns, by_word=True))
    assert entry["without_source"] == [1, 2, 3]
    assert entry["target_gains"] == [3, 3, -4, -4]
    assert table_line(0, "empty", columns=columns) == "1" + "\t" * (len(columns) - 1) + "\n"
    assert json.loads(json_line(0, "empty", columns=columns))["skipped"] == "empty"


def test_a_share_of_all_pairs_is_kept_the_best_first():
    scores = [0.5, None, 0.9, 0.1, 0.5]
    assert best_pairs(scores, share=0.4) == [True, False, True, False, False]
    assert best_pairs(scores, share=1.0) == [True, False, True, True, True]
    assert best_pairs(scores, least=0.5) == [True, False, True, False, True]

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from tests.recipes.conftest import RECIPES

sys.path.insert(0, str(RECIPES / "check"))
import damage
from damage import KINDS, damaged_pairs
from measure import auc


@pytest.fixture
def pairs():
    chance = random.Random(1)
    letters = [f"w{number}" for number in range(50)]

    def sentence() -> list[str]:
        return [*chance.choices(letters, k=5), ",", *chance.choices(letters, k=chance.randint(5, 8)), "."]

    return [(sentence(), sentence()) for _ in range(20)]


def test_every_kind_is_damaged_as_it_says_and_the_same_for_the_same_seed(pairs, monkeypatch):
    monkeypatch.setattr(damage, "THIRD", {" ".join(target): ["x", "y"] for _, target in pairs[:5]})
    found = damaged_pairs(pairs, 3)
    assert found == damaged_pairs(pairs, 3)
    assert found != damaged_pairs(pairs, 4)
    assert {kind for _, kind, _ in found} == {"true", "true_marked", *KINDS}
    for number, kind, pair in found:
        source, target = pairs[number]
        if kind in ("a_other", "b_same_length"):
            assert pair.target != target
            assert pair.target in [other for _, other in pairs]
            assert kind == "a_other" or len(pair.target) == len(target)
        elif kind == "c_half":
            assert pair.bad
            assert not {pair.target[place] for place in pair.bad} & set(target)
        elif kind == "d_dropped":
            assert 0 < len(pair.target) < len(target) - 2
        elif kind == "e_added":
            assert len(pair.source) > len(source) + 2
        elif kind == "f_repeated":
            assert [word for place, word in enumerate(pair.target) if place not in pair.bad] == target
        elif kind in ("g_copy", "h_source_copy"):
            assert pair.source == pair.target == (source if kind == "g_copy" else target)
        elif kind == "i_near_copy":
            assert 0.5 < len(set(pair.target) & set(source)) / len(set(source)) < 1
        elif kind == "j_untranslated":
            half = len(target) // 2
            assert target[:half] == pair.target[:half] or target[half:] == pair.target[half - len(target) :]
        elif kind == "k_language":
            assert number < 5
            assert pair.target == ["x", "y"]
        elif kind in ("true_marked", "l_changed"):
            same = set(pair.source) & set(pair.target) - set(source) - set(target)
            assert bool(same) == (kind == "true_marked")


def test_auc_counts_the_couples_in_the_right_order():
    chance = np.random.default_rng(1)
    good, bad = chance.integers(2, 6, 7), chance.integers(0, 5, 9)
    slow = np.mean([1.0 if one > other else 0.5 if one == other else 0.0 for one in good for other in bad])
    assert auc(good.astype(float), bad.astype(float)) == pytest.approx(slow)


def test_the_cost_of_a_column_is_that_of_what_it_needs():
    from cost import NEEDS, rows

    from fairseq_normalign.analysis.check_lines import columns_of

    assert set(NEEDS) == set(columns_of(reverse=True, full=True)) - {"line"}
    stages = sorted({stage for needs in NEEDS.values() for stage in needs})
    seconds = {stage: 2.0 if stage == "align" else 1.0 for stage in stages}
    found = {row[0]: row[1:] for row in rows(seconds)}
    assert found["repeated"] == ["0.00", "0.00"]
    assert found["gain"] == ["2.00", "1.00"]  # the target with its source, and without
    assert found["all, --full"] == ["8.00", "4.00"]


FAKE = """#!/bin/sh
while [ $# -gt 0 ]; do case $1 in -F) ahead=$2;; -R) back=$2;; esac; shift; done
awk '{print NR}' text > "$ahead"
awk '{print NF}' text > "$back"
"""


def test_the_column_of_eflomal_is_minus_both_costs_of_the_bed_alone(tmp_path, monkeypatch):
    import eflomal_scores

    for name, lines in (
        ("bed.source", "a b\nc\n"),
        ("bed.target", "x\ny z\n"),
        ("t.s", "q\n\nr\n"),
        ("t.t", "q\nq\nr\n"),
    ):
        (tmp_path / name).write_text(lines)
    (tmp_path / "eflomal-align").write_text(FAKE)
    (tmp_path / "eflomal-align").chmod(0o755)
    train = ["--train", str(tmp_path / "t.s"), str(tmp_path / "t.t")]
    given = [str(tmp_path / "bed"), str(tmp_path / "out"), "--programs", str(tmp_path), *train]
    monkeypatch.setattr(sys, "argv", ["eflomal_scores.py", *given])
    eflomal_scores.main()
    assert (tmp_path / "out").read_text() == "-5\n-6\n"  # 1 + 4 words and separator, 2 + 4

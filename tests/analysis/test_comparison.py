from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import strategies as st

from fairseq_normalign.analysis.attention_tables import pearson, spearman
from fairseq_normalign.analysis.comparison import Seed, compare, reversed_golds
from fairseq_normalign.analysis.decisions import PairDecisions
from fairseq_normalign.links.gold import Gold
from fairseq_normalign.links.score import score
from fairseq_normalign.show.plots import draw_layers
from fairseq_normalign.show.tables import STYLES, render_comparison

link = st.tuples(st.integers(0, 3), st.integers(0, 4))


def test_correlations():
    x, y = np.array([1.0, 2, 3, 4]), np.array([1.0, 4, 9, 16])
    assert spearman(x, y) == pytest.approx(1)
    assert spearman(x, -y) == pytest.approx(-1)
    assert pearson(x, 3 - 2 * x) == pytest.approx(-1)
    assert spearman(np.array([1.0, 2, 2, 3]), np.array([1.0, 2, 3, 4])) == pytest.approx(3 / math.sqrt(10))
    assert math.isnan(pearson(x, np.ones(4)))


def decisions(
    golds: list[Gold], wrong: list[float], seed: int, *, skip: int | None = None
) -> list[PairDecisions | None]:
    """Three words a side; layers and heads that miss a share of the links. A higher norm comes with fewer misses."""
    chance = np.random.default_rng(seed)
    pairs: list[PairDecisions | None] = []
    for number in range(len(golds)):
        pair = PairDecisions(("a", "b", "c"), ("x", "y", "z"))
        for step in ("awo", "awi"):
            layers, heads = [], []
            for share in wrong:
                one = np.where(chance.random((2, 3)) < share, -1, np.arange(3))
                layers.append(one[0])
                heads.append(one)
            pair.layers["norms", step], pair.heads["norms", step] = layers, heads
        pair.means["norms"] = [1 - share for share in wrong]
        pair.head_means["norms"] = [[1 - share, 1.1 - share] for share in wrong]
        pairs.append(None if number == skip else pair)
    return pairs


@pytest.fixture
def golds() -> list[Gold]:
    diagonal = frozenset((n, n) for n in range(3))
    return [Gold(diagonal, diagonal | {(0, 1)}) for _ in range(50)]


def test_figures_are_those_of_the_scorer(golds):
    pairs = decisions(golds, [0.5, 0.1], 1, skip=3)
    found = compare(golds, [Seed(pairs, speed={"norms": 10.0})])
    for row in found.layers:
        for layer, figure in enumerate(row.layers):
            links = [
                []
                if pair is None
                else [(s, t) for t, s in enumerate(pair.layers[row.method, row.step][layer]) if s >= 0]
                for pair in pairs
            ]
            expected = score(golds, links)
            assert figure.aer == pytest.approx(expected.aer)
            assert (figure.precision, figure.recall) == pytest.approx((expected.precision, expected.recall))
            assert figure.low <= figure.aer <= figure.high
            assert figure.spread is None
        assert row.best == 1
        assert row.mean == pytest.approx(np.mean([figure.aer for figure in row.layers]))
    best = next(system for system in found.systems if system.name == "norms awi best layer")
    assert best.layers == (1,)
    assert best.pairs_per_second == 10
    top = next(system for system in found.systems if system.name == "norms awi layer of the highest mean norm")
    assert top.layers == (1,)
    assert all(row.spearman < 0 and row.pearson < 0 for row in found.heads)


def test_heads_that_are_all_the_same_have_no_correlation(golds):
    pairs = decisions(golds, [0.5, 0.1], 1)
    for pair in pairs:
        pair.head_means["norms"] = [[0.5, 0.5], [0.5, 0.5]]
    found = compare(golds, [Seed(pairs)])
    assert {row.spearman for row in found.heads} == {None}
    assert '"spearman": null' in render_comparison(found, "json")
    assert render_comparison(found).rstrip().count(" -") >= 2
    assert "nan" not in render_comparison(found, "tsv")


def test_seeds_have_mean_and_spread(golds):
    seeds = [Seed(decisions(golds, [0.5, wrong], number)) for number, wrong in enumerate((0.1, 0.2, 0.3))]
    found = compare(golds, seeds)
    alone = [compare(golds, [seed]).layers[0].layers[1].aer for seed in seeds]
    figure = found.layers[0].layers[1]
    assert figure.aer == pytest.approx(np.mean(alone))
    assert figure.spread == pytest.approx(np.std(alone, ddof=1))
    assert "±" in render_comparison(found)


def test_other_direction_and_other_aligners(golds):
    forward, backward = decisions(golds, [0.4, 0.2], 1), decisions(golds, [0.4, 0.2], 2)
    added = {"perfect": [[(n, n) for n in range(3)]] * len(golds)}
    found = compare(golds, [Seed(forward, backward)], added=added, symmetrizations=["union", "intersection"])
    by_name = {system.name: system for system in found.systems if system.direction in ("both", "other")}
    assert by_name["perfect"].figure.aer == 0
    union = next(system.figure for name, system in by_name.items() if name.endswith("union"))
    common = next(system.figure for name, system in by_name.items() if name.endswith("intersection"))
    assert union.recall > common.recall
    assert union.aer < found.layers[0].layers[1].aer
    assert reversed_golds(golds)[0].possible == golds[0].sure | {(1, 0)}


def test_every_style(golds, tmp_path):
    found = compare(golds, [Seed(decisions(golds, [0.5, 0.1], 1))])
    texts = {style: render_comparison(found, style) for style in STYLES}
    assert json.loads(texts["json"])["sentences"] == 50
    lines = texts["tsv"].rstrip("\n").split("\n")
    assert len({line.count("\t") for line in lines}) == 1
    assert r"\hline" in texts["latex"]
    assert "layer 2" in texts["table"]
    draw_layers(found.layers, tmp_path / "layers.svg")
    assert "decoder layer" in (tmp_path / "layers.svg").read_text() or (tmp_path / "layers.svg").stat().st_size > 5000

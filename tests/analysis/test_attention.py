"""Every statistic against the obvious loops."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from fairseq_normalign.analysis.attention_batch import PAD, Inventory, Observed, ObservedLayer, categorize
from fairseq_normalign.analysis.categories import CategoryShares
from fairseq_normalign.analysis.correlation import spearman
from fairseq_normalign.analysis.dispersion import Dispersion
from fairseq_normalign.analysis.frequency import Frequency
from fairseq_normalign.analysis.head_roles import Heads
from fairseq_normalign.analysis.mixing import Mixing
from fairseq_normalign.analysis.singular_values import Projections, singular_tables, singular_values
from fairseq_normalign.analysis.streams import LENGTH_SCALE, RANK_SCALE, SHARE_SCALE
from fairseq_normalign.analysis.weight_norm_correlation import Relation

from .made_up import INVENTORY, made_up, pairs_of

KINDS = ("encoder", "decoder", "cross")
CATEGORIES = categorize(INVENTORY)
PARTS = range(3)


def rows_of(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_categories_by_default_and_by_pattern():
    assert CATEGORIES.names == ("<s>", "</s>", "punctuation", "others")
    named = [CATEGORIES.names[place] for place in CATEGORIES.of_piece]
    assert named == ["<s>", "</s>", *["punctuation"] * 2, *["others"] * 5]
    own = categorize(INVENTORY, {"stop": r"\.", "pets": "cat|dog"})
    assert own.names == ("stop", "pets", "<s>", "</s>", "punctuation", "others")
    assert [own.names[own.of_piece[piece]] for piece in (3, 5, 7, 2)] == ["stop", "pets", "pets", "punctuation"]
    assert own.of(np.array([PAD, 3])).tolist() == [PAD, 0]


def test_ranks_put_special_pieces_first():
    ranks = Inventory(["</s>", "a", "b", "c"], frozenset({0}), np.array([0, 5, 9, 7])).ranks()
    assert ranks.tolist() == [1, 4, 2, 3]


def test_in_the_decoder_nothing_later_is_visible():
    for kind in KINDS:
        observed = made_up(kind)
        assert set(zip(*map(np.ndarray.tolist, observed.visible.nonzero()), strict=True)) == set(pairs_of(observed))


@pytest.mark.parametrize("kind", KINDS)
def test_dispersion(kind):
    analysis, lengths, inputs = Dispersion(), defaultdict(list), defaultdict(list)
    for seed in PARTS:
        observed = made_up(kind, seed)
        analysis.add(observed)
        for number, layer in enumerate(observed.layers):
            for b, s in zip(*(observed.keys != PAD).nonzero(), strict=True):
                inputs[number].append(layer.inputs[b, s])
                for head in range(layer.lengths.shape[1]):
                    lengths[number, head].append(layer.lengths[b, head, s])
    short, whole, _, by_layer = analysis.tables()
    for row in rows_of(whole):
        values = np.array(lengths[row["layer"] - 1, row["head"] - 1])
        assert [row[name] for name in ("mean", "deviation", "cv", "max", "min")] == pytest.approx(
            [values.mean(), values.std(), values.std() / values.mean(), values.max(), values.min()]
        )
    assert rows_of(by_layer)[1]["mean"] == pytest.approx(np.mean(inputs[1]))
    assert rows_of(short)[0]["cv"] == max(row["cv"] for row in rows_of(whole))
    assert rows_of(short)[2]["cv"] == pytest.approx(np.mean([row["cv"] for row in rows_of(whole)]))


@pytest.mark.parametrize("kind", KINDS)
def test_category_shares(kind):
    analysis = CategoryShares(CATEGORIES)
    alpha, norms, rows = np.zeros((2, 4)), np.zeros((2, 4)), np.zeros(2)
    for seed in PARTS:
        observed = made_up(kind, seed)
        analysis.add(observed)
        for number, layer in enumerate(observed.layers):
            rows[number] += (observed.queries != PAD).sum() * layer.weights.shape[1]
            for b, t, s in pairs_of(observed):
                place = CATEGORIES.of_piece[observed.keys[b, s]]
                for head in range(layer.weights.shape[1]):
                    alpha[number, place] += layer.weights[b, head, t, s]
                    norms[number, place] += layer.weights[b, head, t, s] * layer.lengths[b, head, s]
    assert np.allclose(analysis.weights, alpha / rows[:, None])
    assert np.allclose(analysis.norms, norms / rows[:, None])
    assert np.allclose(analysis.weights.sum(axis=1), 1)
    assert [row["layer"] for row in rows_of(analysis.tables()[0])] == [None, 1, 2, "mean", 1, 2, "mean"]


@pytest.mark.parametrize("kind", KINDS)
def test_relation(kind):
    analysis = Relation(CATEGORIES, points=10)
    pairs, means = defaultdict(list), defaultdict(list)
    for seed in PARTS:
        observed = made_up(kind, seed)
        analysis.add(observed)
        for number, layer in enumerate(observed.layers):
            for b, t, s in pairs_of(observed):
                name = CATEGORIES.names[CATEGORIES.of_piece[observed.keys[b, s]]]
                for head in range(layer.weights.shape[1]):
                    pair = layer.weights[b, head, t, s], layer.lengths[b, head, s]
                    pairs[name].append(pair)
                    means[name, number + 1, head + 1].append(pair)
    table, heads = analysis.tables()
    for row in rows_of(table):
        found = np.array(pairs[row["category"]]).reshape(-1, 2)
        assert row["pairs"] == len(found)
        if len(found):
            rounded = SHARE_SCALE.steps(found[:, 0]).astype(float), LENGTH_SCALE.steps(found[:, 1]).astype(float)
            assert row["spearman"] == pytest.approx(spearman(*rounded))
    for row in rows_of(heads):
        found = means[row["category"], row["layer"], row["head"]]
        if found:
            assert [row["alpha"], row["||f(x)||"]] == pytest.approx(np.mean(found, axis=0))
    sampled = analysis.samples[-1].rows
    assert len(sampled) == 10
    assert {tuple(row) for row in sampled} <= set(pairs["others"])


@pytest.mark.parametrize("kind", KINDS)
def test_frequency(kind):
    ranks = INVENTORY.ranks()
    analysis = Frequency(ranks)
    found = defaultdict(list)
    for seed in PARTS:
        observed = made_up(kind, seed)
        analysis.add(observed)
        for b, s in zip(*(observed.keys != PAD).nonzero(), strict=True):
            queries = [t for bb, t, ss in pairs_of(observed) if (bb, ss) == (b, s)]
            alphas, lengths = [], []
            for number, layer in enumerate(observed.layers):
                alpha = [layer.weights[b, head, queries, s].mean() for head in range(layer.weights.shape[1])]
                found[number + 1].append((ranks[observed.keys[b, s]], np.mean(alpha), layer.lengths[b, :, s].mean()))
                alphas += alpha
                lengths += layer.lengths[b, :, s].tolist()
            found["all"].append((ranks[observed.keys[b, s]], np.mean(alphas), np.mean(lengths)))
    table, bands = analysis.tables()
    for row in rows_of(table):
        rank, alpha, length = np.array(found[row["layer"]]).T
        steps = RANK_SCALE.steps(rank).astype(float)
        assert row["alpha"] == pytest.approx(spearman(steps, SHARE_SCALE.steps(alpha).astype(float)))
        assert row["||f(x)||"] == pytest.approx(spearman(steps, LENGTH_SCALE.steps(length).astype(float)))
    second = [length for rank, _, length in found["all"] if 2 <= rank < 4]
    assert next(row for row in rows_of(bands) if row["from rank"] == 2)["||f(x)||"] == pytest.approx(np.mean(second))


def test_mixing():
    analysis = Mixing(CATEGORIES, INVENTORY.ranks())
    every, commas, ranks = [], [], []
    for seed in PARTS:
        observed = made_up("cross", seed)
        analysis.add(observed)
        for b, t in zip(*(observed.queries != PAD).nonzero(), strict=True):
            ratio = observed.layers[1].mixing["attn+res"][b, t]
            every.append(ratio)
            ranks.append(INVENTORY.ranks()[observed.queries[b, t]])
            if observed.queries[b, t] in (2, 3):
                commas.append(ratio)
    by_layer, by_category = map(rows_of, analysis.tables())
    row = next(row for row in by_layer if (row["variant"], row["layer"]) == ("attn+res", 2))
    assert [row["mean"], row["deviation"]] == pytest.approx([np.mean(every), np.std(every)])
    steps = RANK_SCALE.steps(np.array(ranks)).astype(float), SHARE_SCALE.steps(np.array(every)).astype(float)
    assert row["spearman"] == pytest.approx(spearman(*steps))
    row = next(row for row in by_category if (row["variant"], row["layer"]) == ("attn+res", 2))
    assert row["punctuation"] == pytest.approx(np.mean(commas))


@pytest.mark.parametrize("with_bias", [True, False])
def test_singular_values_are_those_of_the_whole_matrix(with_bias):
    chance = np.random.default_rng(1)
    heads, size, width, out = 2, 3, 8, 7
    value, project = chance.normal(size=(heads * size, width)), chance.normal(size=(out, heads * size))
    bias = chance.normal(size=heads * size) if with_bias else np.zeros(heads * size)
    found = singular_values(Projections(heads, value, bias if with_bias else None, project))
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        whole = np.zeros((width + 1, out + 1))
        whole[:-1, :-1] = value[part].T @ project[:, part].T
        whole[-1, :-1] = bias[part] @ project[:, part].T
        whole[-1, -1] = 1
        assert np.allclose(found[head], np.linalg.svd(whole, compute_uv=False)[: size + 1])
    assert rows_of(singular_tables([found])[0])[0]["largest"] == pytest.approx(found[0, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_heads(kind):
    special, ranks = frozenset({0, 1}), INVENTORY.ranks()
    analysis = Heads(special, special, ranks)
    largest, apart, rare, chance = defaultdict(list), defaultdict(Counter), defaultdict(list), []
    for seed in PARTS:
        observed = made_up(kind, seed)
        analysis.add(observed)
        for b, row in enumerate(observed.queries):
            for t, query in enumerate(row):
                keys = [s for bb, tt, s in pairs_of(observed) if (bb, tt) == (b, t)]
                words = [s for s in keys if observed.keys[b, s] not in special]
                if query == PAD or query in special:
                    continue
                limit = sorted(ranks[observed.keys[b, s]] for s in words)[-2:][0] if words else 0
                scarce = [s for s in words if ranks[observed.keys[b, s]] >= limit]
                if len(words) >= 4:
                    chance.append(len(scarce) / len(keys))
                for number, layer in enumerate(observed.layers):
                    for head in range(layer.weights.shape[1]):
                        alpha = layer.weights[b, head, t]
                        best = max(keys, key=lambda s: alpha[s])
                        largest[number + 1, head + 1].append(max((alpha[s] for s in words), default=0))
                        apart[number + 1, head + 1][best - t] += 1
                        if len(words) >= 4:
                            rare[number + 1, head + 1].append(best in scarce)
    (table,) = analysis.tables()
    for row in rows_of(table):
        place = row["layer"], row["head"]
        assert row["confidence"] == pytest.approx(np.mean(largest[place]))
        assert row["share"] == pytest.approx(max(apart[place].values()) / len(largest[place]))
        assert apart[place][int(row["position"])] == max(apart[place].values())
        assert row["rare"] == pytest.approx(np.mean(rare[place]))
        assert row["by chance"] == pytest.approx(np.mean(chance))


def test_heads_are_told_by_what_they_do():
    keys = np.array([[2, 4, 5, 8, 6, 1]])
    before = np.eye(6, k=-1)
    rarest = np.zeros((6, 6))
    rarest[:, 3] = 1
    layer = ObservedLayer(np.stack([before, rarest])[None], np.ones((1, 2, 6)), np.ones((1, 6)))
    analysis = Heads(frozenset({1}), frozenset({1}), INVENTORY.ranks(), extra={"aer": [np.array([0.5, 0.25])]})
    analysis.add(Observed("encoder", keys, keys, [layer]))
    assert analysis.functions() == [["", "rare words"]]
    assert rows_of(analysis.tables()[0])[1]["aer"] == 0.25
    keys = np.array([[4, 2, 4, 5, 8, 6, 4, 3, 2, 5, 7, 4, 1]])
    layer = ObservedLayer(np.eye(13, k=-1)[None, None], np.ones((1, 1, 13)), np.ones((1, 13)))
    analysis = Heads(frozenset({1}), frozenset({1}), INVENTORY.ranks())
    analysis.add(Observed("encoder", keys, keys, [layer]))
    assert analysis.functions() == [["position -1"]]

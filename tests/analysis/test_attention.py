"""Every statistic against the obvious loops."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.analysis.attention_batch import PAD, Inventory, Observed, ObservedLayer, Projections, categorize
from fairseq_normalign.analysis.attention_tables import (
    CategoryShares,
    Dispersion,
    Frequency,
    Heads,
    Mixing,
    Moments,
    Relation,
    Sample,
    SingularValues,
    spearman,
)

from .made_up import INVENTORY, made_up, pairs_of

KINDS = ("encoder", "decoder", "cross")
CATEGORIES = categorize(INVENTORY)
PARTS = range(3)


def rows_of(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def slow_spearman(x, y):
    """The correlation of ranks, each counted: how many are smaller, and half of those that are equal."""
    x, y = ([sum(b < a for b in values) + sum(b == a for b in values) / 2 for a in values] for values in (x, y))
    return np.corrcoef(x, y)[0, 1]


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
def test_category_shares_are_means_over_the_queries_of_a_sentence_then_over_sentences(kind):
    analysis = CategoryShares(CATEGORIES)
    sentences = []  # per sentence: what each layer gives to each category, by alpha and by norm
    for seed in PARTS:
        observed = made_up(kind, seed)
        analysis.add(observed)
        for b in range(len(observed.keys)):
            given = np.zeros((2, 2, 4))
            pairs = [(t, s) for bb, t, s in pairs_of(observed) if bb == b]
            for number, layer in enumerate(observed.layers):
                heads = layer.weights.shape[1]
                for t, s in pairs:
                    place = CATEGORIES.of_piece[observed.keys[b, s]]
                    alpha = layer.weights[b, :, t, s]
                    given[0, number, place] += alpha.sum() / heads
                    given[1, number, place] += (alpha * layer.lengths[b, :, s]).sum() / heads
            sentences.append(given / len({t for t, _ in pairs}))
    alpha, norms = np.mean(sentences, axis=0)
    assert np.allclose(analysis.weights, alpha)
    assert np.allclose(analysis.norms, norms)
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
            assert row["spearman"] == pytest.approx(slow_spearman(*found.T))
    for row in rows_of(heads):
        found = means[row["category"], row["layer"], row["head"]]
        if found:
            assert [row["alpha"], row["||f(x)||"]] == pytest.approx(np.mean(found, axis=0))
    sampled = analysis.points(3)
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
        assert row["alpha"] == pytest.approx(slow_spearman(rank, alpha))
        assert row["||f(x)||"] == pytest.approx(slow_spearman(rank, length))
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
    assert row["spearman"] == pytest.approx(slow_spearman(ranks, every))
    row = next(row for row in by_category if (row["variant"], row["layer"]) == ("attn+res", 2))
    assert row["punctuation"] == pytest.approx(np.mean(commas))


@pytest.mark.parametrize("with_bias", [True, False])
def test_singular_values_are_those_of_the_whole_matrix(with_bias):
    chance = np.random.default_rng(1)
    heads, size, width, out = 2, 3, 8, 7
    value, project = chance.normal(size=(heads * size, width)), chance.normal(size=(out, heads * size))
    bias = chance.normal(size=heads * size) if with_bias else np.zeros(heads * size)
    analysis = SingularValues([Projections(heads, value, bias if with_bias else None, project)])
    found = analysis.layers[0]
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        whole = np.zeros((width + 1, out + 1))
        whole[:-1, :-1] = value[part].T @ project[:, part].T
        whole[-1, :-1] = bias[part] @ project[:, part].T
        whole[-1, -1] = 1
        assert np.allclose(found[head], np.linalg.svd(whole, compute_uv=False)[: size + 1])
    assert rows_of(analysis.tables()[0])[0]["largest"] == pytest.approx(found[0, 0])


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


@given(st.lists(st.lists(st.tuples(st.floats(-100, 100), st.booleans()), min_size=1, max_size=5), min_size=1))
def test_moments_of_parts_are_those_of_the_whole(parts):
    moments = Moments(2)
    for part in parts:
        moments.add(np.array([value for value, _ in part]), np.array([int(stream) for _, stream in part]))
    for stream in (0, 1):
        whole = np.array([value for part in parts for value, here in part if here == stream])
        assert moments.count[stream] == len(whole)
        if len(whole):
            assert moments.mean[stream] == pytest.approx(whole.mean(), abs=1e-9)
            assert moments.deviation[stream] == pytest.approx(whole.std(), abs=1e-6)
            assert (moments.largest[stream], moments.smallest[stream]) == (whole.max(), whole.min())


def test_moments_keep_their_digits_far_from_zero():
    values = 1e8 + np.random.default_rng(1).random(1000)
    moments = Moments(2)
    for part in np.split(values, 10):
        moments.add(part, np.ones(len(part), dtype=int))
    assert moments.deviation[1] == pytest.approx(values.std(), rel=1e-6)


def test_rank_correlation_tells_values_apart_that_are_close():
    """Values within two percent have ranks of their own."""
    x = 0.5 + np.random.default_rng(1).random(400) / 100
    y = x**2
    sample = Sample(1000)
    for part in range(0, 400, 70):
        sample.add(x[part : part + 70], y[part : part + 70])
    assert sample.spearman() == pytest.approx(1)
    assert np.isnan(Sample(10).spearman())


def test_rank_correlation_of_more_than_fits_is_that_of_a_uniform_sample():
    chance = np.random.default_rng(2)
    x = chance.random(5000)
    y = x + chance.random(5000)
    sample = Sample(1000)
    for part in range(0, 5000, 70):
        sample.add(x[part : part + 70], y[part : part + 70])
    assert (sample.count, len(sample.rows())) == (5000, 1000)
    assert sample.spearman() == pytest.approx(spearman(x, y), abs=0.04)


def test_a_sample_is_uniform_and_bounded():
    hits = np.zeros(100)
    for seed in range(400):
        sample = Sample(20, seed)
        for part in np.split(np.arange(100.0), 10):
            sample.add(part)
        assert len(sample.rows()) == 20
        hits[sample.rows(10)[:, 0].astype(int)] += 1
    assert hits.mean() == 40
    assert hits[:50].mean() == pytest.approx(40, abs=3)
    assert hits.min() > 15

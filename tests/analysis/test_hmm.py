"""The HMM aligner against sums over every alignment there is."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fairseq_normalign.analysis import hmm
from fairseq_normalign.analysis.hmm import LONGEST_JUMP, NO_WORD, HmmAligner
from fairseq_normalign.errors import NormalignError


def every_alignment(lexicon, no_word, jumps):
    """Posteriors and jump counts of one pair, summed over all sequences of states; lexicon [T, S], no_word [T]."""
    height, width = lexicon.shape
    links, empty, moved, total = np.zeros_like(lexicon), np.zeros(height), np.zeros(len(jumps)), 0.0
    states = [(position, linked) for position in range(width) for linked in (True, False)]
    for path in itertools.product(states, repeat=height):
        weight, before, steps = 1.0, None, []
        for t, (position, linked) in enumerate(path):
            if before is None:
                start = [jumps[min(i + 1, LONGEST_JUMP) + LONGEST_JUMP] for i in range(width)]
                weight *= start[position] / sum(start)
            elif linked:
                row = [jumps[np.clip(i - before, -LONGEST_JUMP, LONGEST_JUMP) + LONGEST_JUMP] for i in range(width)]
                weight *= row[position] / sum(row)
                steps.append(position - before + LONGEST_JUMP)
            elif position != before:
                weight = 0.0
            weight *= (1 - NO_WORD) * lexicon[t, position] if linked else NO_WORD * no_word[t]
            before = position
        total += weight
        for t, (position, linked) in enumerate(path):
            if linked:
                links[t, position] += weight
            else:
                empty[t] += weight
        for step in steps:
            moved[step] += weight
    return links / total, empty / total, moved / total


def test_posteriors_and_jumps_are_sums_over_every_alignment():
    chance = np.random.default_rng(2)
    lexicon = chance.random((4, 2, 3)).astype(np.float32)
    no_word = chance.random((4, 2)).astype(np.float32)
    jumps = chance.random(2 * LONGEST_JUMP + 1)
    links, empty, moved = hmm._forward_backward(lexicon, no_word, jumps)
    expected = [every_alignment(lexicon[:, row], no_word[:, row], jumps) for row in range(2)]
    for row in range(2):
        np.testing.assert_allclose(links[:, row], expected[row][0], rtol=1e-4)
        np.testing.assert_allclose(empty[:, row], expected[row][1], rtol=1e-4)
    np.testing.assert_allclose(moved, expected[0][2] + expected[1][2], rtol=1e-4)


def test_long_sentences_do_not_underflow():
    lexicon = np.full((300, 1, 300), 1e-8, np.float32)
    lexicon[np.arange(300), 0, np.arange(300)] = 1e-3
    links, _, _ = hmm._forward_backward(lexicon, np.full((300, 1), 1e-8, np.float32), np.ones(2 * LONGEST_JUMP + 1))
    assert np.isfinite(links).all()
    assert (links[:, 0].argmax(axis=1) == np.arange(300)).all()


def test_exp_digamma_is_the_slope_of_log_gamma():
    for x in (0.05, 0.3, 1.0, 2.5, 40.0):
        slope = (math.lgamma(x + 1e-5) - math.lgamma(x - 1e-5)) / 2e-5
        assert hmm._exp_digamma(np.array([x]))[0] == pytest.approx(math.exp(slope), rel=1e-4)


def text(count: int, seed: int = 3) -> list[tuple[list[str], list[str]]]:
    """Translated word by word, each second pair of words exchanged; 'the' has no translation."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        words = chance.choice(30, size=int(chance.integers(2, 8)), replace=False).tolist()
        order = list(words)
        if len(order) > 3:
            order[1], order[2] = order[2], order[1]
        found.append(([f"s{word}" for word in words], ["the", *(f"t{word}" for word in order)]))
    return found


def test_it_learns_translations_order_and_words_without_translation():
    pairs = text(300)
    model = HmmAligner.train(pairs)
    for source, target in text(20, seed=4):
        forward, backward = model.posteriors(source, target)
        assert forward.shape == (len(target), len(source))
        assert backward.shape == (len(source), len(target))
        for soft, words, others in ((forward, target, source), (backward, source, target)):
            assert (soft.sum(axis=1) <= 1 + 1e-5).all()
            for row, word in zip(soft, words, strict=True):
                if word != "the":
                    assert others[int(row.argmax())][1:] == word[1:]
        assert forward[0].sum() < 0.5, "'the' has no translation"


def test_numbers_of_cells_are_those_of_the_slow_way(monkeypatch):
    pairs = text(40)
    for block in (10, 1_000_000):
        monkeypatch.setattr(hmm, "BLOCK", block)
        source, target = hmm.WordNumbers(), hmm.WordNumbers()
        groups = hmm.grouped(pairs, source, target, 10_000)
        keys = hmm.number_cells(groups, len(source.numbers), len(target.numbers))
        assert (np.diff(keys) > 0).all()
        for group in groups:
            for t, row, s in itertools.product(*map(range, group.cells.shape)):
                wanted = group.source[row, s] * len(target.numbers) + group.target[row, t]
                assert keys[group.cells[t, row, s]] == wanted


def test_the_result_depends_neither_on_chance_nor_on_blocks(monkeypatch):
    pairs = text(60)
    first = HmmAligner.train(pairs).posteriors(*pairs[0])
    again = HmmAligner.train(pairs).posteriors(*pairs[0])
    monkeypatch.setattr(hmm, "BLOCK", 50)
    monkeypatch.setattr(hmm, "AT_ONCE", 40)
    blocks = HmmAligner.train(pairs).posteriors(*pairs[0])
    for way in range(2):
        np.testing.assert_array_equal(first[way], again[way])
        np.testing.assert_allclose(first[way], blocks[way], atol=1e-4)


def obvious_shares(model, source, target, shares):
    """Posteriors of one pair, forward: every cell of the lexicon multiplied by its share, cell by cell."""
    side, width = model._sides[0], len(source)
    lexicon = np.empty((len(target), width))
    for t, s in itertools.product(range(len(target)), range(width)):
        key = model._words[0].find([source[s]])[0] * len(model._words[1].numbers) + model._words[1].find([target[t]])[0]
        row = np.rint(255 * shares[t]) / 255 + hmm.SHARE_FLOOR
        lexicon[t, s] = side.lexicon[np.searchsorted(model._keys, key)] * width * row[s] / row.sum()
    no_word = side.no_word[model._words[1].find(target)]
    return every_alignment(lexicon, no_word, side.jumps)[0]


def test_shares_multiply_the_lexicon_of_each_cell():
    pairs = [(["a", "b"], ["x", "y", "z"]), (["b", "a"], ["z", "x", "y"])]
    chance = np.random.default_rng(3)
    shares = [tuple(chance.dirichlet(np.ones(width), height) for height, width in ((3, 2), (2, 3))) for _ in pairs]
    model = HmmAligner.train(pairs, ibm_rounds=2, hmm_rounds=1)
    seen = [(*pair, share) for pair, share in zip(pairs, shares, strict=True)]
    (group,) = hmm.grouped(seen, *model._words, 100)
    group.cells[:] = model._find(group.source[None, :, :], group.target.T[:, :, None])
    counts = [[np.zeros(len(one)) for one in (side.lexicon, side.no_word, side.jumps)] for side in model._sides]
    forward, _ = hmm._expected_links(group, model._sides, counts, distances=False)
    assert forward.size == 12
    lexicon = hmm._weighed(model._sides[0].lexicon[group.cells], group.shares[0])
    links, *_ = hmm._forward_backward(lexicon, model._sides[0].no_word[group.target.T], model._sides[0].jumps)
    for row, (source, target) in enumerate(pairs):
        np.testing.assert_allclose(links[:, row], obvious_shares(model, source, target, shares[row][0]), rtol=1e-3)


def test_even_shares_change_nothing_and_good_ones_decide_what_words_cannot():
    pairs = [(["a", "b"], ["x", "y"]), (["b", "a"], ["x", "y"])] * 20  # the words alone say nothing
    even = np.full((2, 2), 0.5)
    plain = HmmAligner.train(pairs)
    same = HmmAligner.train([(*pair, (even, even)) for pair in pairs])
    for way in range(2):
        np.testing.assert_allclose(plain.posteriors(*pairs[0])[way], same.posteriors(*pairs[0])[way], atol=1e-4)
    told = np.array([[0.9, 0.1], [0.1, 0.9]])  # a is x and b is y, wherever they stand
    shares = [told, told[:, ::-1]] * 20
    given = [(share, share.T) if row % 4 else None for row, share in enumerate(shares)]
    seen = [(*pair, share) for pair, share in zip(pairs, given, strict=True)]
    forward, backward = HmmAligner.train(seen).posteriors(["b", "a"], ["x", "y"])
    assert forward.argmax(axis=1).tolist() == backward.argmax(axis=1).tolist() == [1, 0]


def test_unknown_words_are_aligned_by_their_place():
    model = HmmAligner.train(text(100))
    forward, backward = model.posteriors(["s1", "new", "s2"], ["t1", "unseen", "t2"])
    assert np.isfinite(forward).all()
    assert np.isfinite(backward).all()
    assert forward[0].argmax() == 0
    assert forward[2].argmax() == 2


def test_only_so_many_cells_are_learned_from():
    pairs = [(["a", "b"], ["x", "y"])] * 3 + [(["c"], ["z"])]
    model = HmmAligner.train(pairs, max_cells=12)
    assert "c" not in model._words[0].numbers
    assert "b" in model._words[0].numbers


def test_forms_of_a_word_share_what_is_learned():
    pairs = [(["gehen", f"s{n}"], ["walking", f"t{n}"]) for n in range(30)]
    for stem, is_known in ((5, True), (None, False)):
        model = HmmAligner.train(pairs, stem=stem)
        forward, _ = model.posteriors(["s1", "neu", "gehende"], ["walkings", "other", "t1"])
        assert (forward[0].argmax() == 2) == is_known


def test_empty_sides_are_left_out_and_nothing_is_an_error():
    model = HmmAligner.train([([], ["x"]), (["a"], []), (["a"], ["x"])])
    assert model.posteriors(["a"], ["x"])[0].shape == (1, 1)
    assert [soft.shape for soft in model.posteriors([], ["x"])] == [(1, 0), (0, 1)]
    with pytest.raises(NormalignError, match="no sentence pair"):
        HmmAligner.train([([], ["x"])])

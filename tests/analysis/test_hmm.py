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


def exp_digamma(x):
    return math.exp((math.lgamma(x + 1e-5) - math.lgamma(x - 1e-5)) / 2e-5)


def slow_model(pairs, ibm_rounds, hmm_rounds, tests):
    """Both directions learned with dictionaries and sums over every alignment: posteriors of ``tests``."""
    corpus = [(pair[0], pair[1], pair[2] if len(pair) > 2 else None) for pair in pairs]
    sides = [{"lexicon": {}, "nothing": {}, "jumps": np.ones(2 * LONGEST_JUMP + 1)} for _ in range(2)]
    for source, target, _ in corpus:
        for side, given, others in ((sides[0], source, target), (sides[1], target, source)):
            side["lexicon"] |= dict.fromkeys(itertools.product(given, others), 1.0)
            side["nothing"] |= dict.fromkeys(others, 1.0)

    def posteriors(source, target, shares, with_jumps):
        found = []
        for side, given, others, share in zip(
            sides, (source, target), (target, source), shares or (None, None), strict=True
        ):
            lexicon = np.array([[side["lexicon"].get((g, o), hmm.UNSEEN) for g in given] for o in others])
            if share is not None:
                weight = np.rint(255 * share) / 255 + hmm.SHARE_FLOOR
                lexicon *= weight * len(given) / weight.sum(axis=1, keepdims=True)
            nothing = np.array([side["nothing"].get(o, hmm.UNSEEN) for o in others])
            if with_jumps:
                found.append(every_alignment(lexicon, nothing, side["jumps"]))
                continue
            links, nothing = lexicon * (1 - NO_WORD) / len(given), nothing * NO_WORD
            total = links.sum(axis=1) + nothing
            found.append((links / total[:, None], nothing / total, 0))
        return found

    for number in range(ibm_rounds + hmm_rounds):
        counts = [(dict.fromkeys(s["lexicon"], 0.0), dict.fromkeys(s["nothing"], 0.0), []) for s in sides]
        for source, target, shares in corpus:
            found = posteriors(source, target, shares, number >= ibm_rounds)
            believed = [found[0][0], found[1][0]]
            if number >= ibm_rounds:
                believed = [believed[0] * believed[1].T, believed[1] * believed[0].T]
            for count, soft, post, given, others in zip(
                counts, believed, found, (source, target), (target, source), strict=True
            ):
                for (o, other), (g, word) in itertools.product(enumerate(others), enumerate(given)):
                    count[0][word, other] += soft[o, g]
                for o, other in enumerate(others):
                    count[1][other] += post[1][o]
                count[2].append(post[2])
        for side, (links, nothing, jumps) in zip(sides, counts, strict=True):
            for given, other in side["lexicon"]:
                own = [value for (word, _), value in links.items() if word == given]
                share = exp_digamma(links[given, other] + hmm.PRIOR) / exp_digamma(sum(own) + hmm.PRIOR * len(own))
                side["lexicon"][given, other] = max(share, hmm.UNSEEN)
            whole = sum(nothing.values()) + hmm.PRIOR * len(nothing)
            side["nothing"] = {word: (value + hmm.PRIOR) / whole for word, value in nothing.items()}
            moved = sum(jumps)
            if np.any(moved):
                side["jumps"] = (moved + 1e-3 * moved.sum() / len(moved)) / moved.sum()
    return [[one[0] for one in posteriors(*pair, None, True)] for pair in tests]


@pytest.mark.parametrize("with_shares", [False, True])
def test_learning_and_posteriors_are_sums_over_every_alignment(with_shares):
    chance = np.random.default_rng(2)
    pairs = []
    for _ in range(6):
        source, target = (
            chance.choice(list(letters), int(chance.integers(1, 4))).tolist() for letters in ("abc", "xyz")
        )
        sizes = len(target), len(source)
        shares = chance.dirichlet(np.ones(sizes[1]), sizes[0]), chance.dirichlet(np.ones(sizes[0]), sizes[1])
        pairs.append((source, target, shares) if with_shares else (source, target))
    tests = [pair[:2] for pair in pairs] + [(["a", "new", "b"], ["x", "unseen"])]
    for rounds in ((0, 0), (2, 0), (1, 2)):
        model = HmmAligner.train(pairs, ibm_rounds=rounds[0], hmm_rounds=rounds[1])
        for pair, expected in zip(tests, slow_model(pairs, *rounds, tests), strict=True):
            for soft, slow in zip(model.posteriors(*pair), expected, strict=True):
                np.testing.assert_allclose(soft, slow, rtol=2e-3, atol=1e-6)


def test_long_sentences_do_not_underflow():
    words = [f"w{number}" for number in range(300)]
    forward, _ = HmmAligner.train([(words, words)], ibm_rounds=0, hmm_rounds=1).posteriors(words, words)
    assert np.isfinite(forward).all()


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
    pairs = [(["a", "b"], ["x", "y"])] * 3
    bounded, alone = HmmAligner.train([*pairs, (["c"], ["z"])], max_cells=12), HmmAligner.train(pairs)
    for pair in (["a", "c"], ["z", "y"]), (["a", "b"], ["x", "y"]):
        np.testing.assert_array_equal(bounded.posteriors(*pair)[0], alone.posteriors(*pair)[0])


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

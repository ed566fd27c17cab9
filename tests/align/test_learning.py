"""An HMM learned from the user's text: from the words alone, and from what the models look at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fairseq_normalign import load, read_gold, read_links, score, toy
from fairseq_normalign.align.learning import words_of_window
from fairseq_normalign.cli import main
from fairseq_normalign.jobs import Bitext, windows_of
from fairseq_normalign.links.decide import normalized

TEXT = tuple(str(toy.FOLDER / f"text.{language}") for language in toy.LANGUAGES)


@pytest.fixture(scope="module")
def model():
    forward, backward = toy.paths()
    return load(forward, reverse=backward, **toy.LOADING)


def shares(model) -> list:
    pairs = list(Bitext(*TEXT).pairs())
    window = next(windows_of([*pairs[:50], ("", "nothing")]))  # the last one cannot be aligned
    part = words_of_window(model.aligner, window, (), True)
    assert len(part.record) == 50
    return [(part.arrays[f"{n} forward"], part.arrays[f"{n} backward"], part.record[n]) for n in range(50)]


def test_each_pair_comes_with_what_both_models_give_to_its_words(model) -> None:
    found = model.aligner.align(list(Bitext(*TEXT).pairs())[:50], soft=True)
    for (forward, backward, (source, target)), one in zip(shares(model), found, strict=True):
        assert forward.shape == backward.T.shape == (len(target), len(source))
        np.testing.assert_allclose(forward, one.directions[0], atol=1e-6)
        np.testing.assert_allclose(backward, one.directions[1], atol=1e-6)


def test_of_one_model_the_columns_are_the_other_direction() -> None:
    for forward, backward, _ in shares(load(toy.paths()[0], **toy.LOADING)):
        np.testing.assert_array_equal(backward, normalized(forward.T))


@pytest.mark.parametrize("directions", [1, 2])
def test_the_command_multiplies_what_was_learned(tmp_path: Path, directions: int) -> None:
    forward, backward = toy.paths()
    models = ["--path", str(forward), "--bpe-codes", str(toy.FOLDER / "codes"), "--tokenizer", "moses", "--lowercase"]
    models += ["--reverse-path", str(backward)] if directions == 2 else []
    golds = read_gold(toy.FOLDER / "gold.talp", base=1)
    written = {}
    for name, options in (("plain", []), ("words", ["--learn"]), ("looks", ["--learn", "looks"])):
        out = str(tmp_path / name)
        assert main(["align", *models, "--source", TEXT[0], "--target", TEXT[1], *options, "-o", out]) == 0
        written[name] = list(read_links(out))
    assert written["plain"] != written["words"] != written["looks"]
    rates = {name: score(golds, links).aer for name, links in written.items()}
    assert max(rates.values()) < 0.2, rates

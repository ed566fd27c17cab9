"""An HMM learned from the user's text: from the words alone, and from what the models look at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fairseq_normalign import load, read_gold, read_links, score, toy
from fairseq_normalign.align import learning
from fairseq_normalign.align.bitext import Bitext
from fairseq_normalign.align.directions import Keep
from fairseq_normalign.align.learning import learned_posteriors
from fairseq_normalign.cli import main
from fairseq_normalign.links.decide import normalized

TEXT = tuple(str(toy.FOLDER / f"text.{language}") for language in toy.LANGUAGES)


@pytest.fixture(scope="module")
def model():
    forward, backward = toy.paths()
    return load(forward, reverse=backward, **toy.LOADING)


def learned_from(monkeypatch: pytest.MonkeyPatch, *arguments, **options) -> list:
    """The pairs that the HMM is given."""
    seen: list = []

    class Stand:
        posteriors = None

        @classmethod
        def train(cls, pairs):
            seen.extend(pairs)
            return cls()

    monkeypatch.setattr(learning, "HmmAligner", Stand)
    learned_posteriors(*arguments, **options)
    return seen


def test_each_pair_comes_with_what_both_models_give_to_its_words(model, monkeypatch, tmp_path: Path) -> None:
    for side, line in zip(("source", "target"), ("", "nothing"), strict=True):  # cannot be aligned
        (tmp_path / side).write_text(f"{line}\n", encoding="utf-8")
    monkeypatch.setattr(learning, "WINDOW", 64)
    counted: list[int] = []
    more = (tmp_path / "source", tmp_path / "target")
    seen = learned_from(monkeypatch, model.aligner, Bitext(*TEXT), more, looks=True, done=counted.append)
    assert counted == [64, 37]
    assert len(seen) == 100
    pairs = list(Bitext(*TEXT).pairs())
    found = model.aligner.align(pairs, keep=Keep(soft=True))
    for (source, target, (forward, backward)), one in zip(seen, found, strict=True):
        assert forward.shape == backward.T.shape == (len(target), len(source))
        np.testing.assert_allclose(forward, one.directions[0], atol=1e-6)
        np.testing.assert_allclose(backward, one.directions[1], atol=1e-6)


def test_of_one_model_the_columns_are_the_other_direction(monkeypatch) -> None:
    one = load(toy.paths()[0], **toy.LOADING)
    seen = learned_from(monkeypatch, one.aligner, Bitext(*TEXT), looks=True)
    for _, _, (forward, backward) in seen:
        np.testing.assert_array_equal(backward, normalized(forward.T))


def test_words_alone_come_without_shares(model, monkeypatch) -> None:
    assert {len(pair) for pair in learned_from(monkeypatch, model.aligner, Bitext(*TEXT))} == {2}


@pytest.mark.parametrize("directions", [1, 2])
def test_the_command_multiplies_what_was_learned(tmp_path: Path, directions: int, capsys) -> None:
    forward, backward = toy.paths()
    models = ["--path", str(forward), "--bpe-codes", str(toy.FOLDER / "codes"), "--tokenizer", "moses", "--lowercase"]
    models += ["--reverse-path", str(backward)] if directions == 2 else []
    golds = read_gold(toy.FOLDER / "gold.talp", base=1)
    written = {}
    for name, options in (("plain", []), ("words", ["--learn"]), ("looks", ["--learn", "looks", "--progress"])):
        out = str(tmp_path / name)
        assert main(["align", *models, "--source", TEXT[0], "--target", TEXT[1], *options, "-o", out]) == 0
        written[name] = list(read_links(out))
    assert "100 pairs looked at" in capsys.readouterr().err
    assert written["plain"] != written["words"] != written["looks"]
    rates = {name: score(golds, links).aer for name, links in written.items()}
    assert max(rates.values()) < 0.2, rates

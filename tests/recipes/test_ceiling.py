"""What is left in the attention: a classifier taught by half of the gold, beside two looks."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from fairseq_normalign import toy
from fairseq_normalign.links.gold import Gold

from .test_curve import recipe_steps, toy_text

ceiling = pytest.importorskip("recipe_steps.ceiling")
MODELS = ["--models", *(str(toy.FOLDER / f"{name}.pt") for name in ("de-en", "en-de"))]


def test_both_are_scored_on_both_halves_of_the_gold(tmp_path: Path, capsys) -> None:
    assert recipe_steps.main(["ceiling", *MODELS, *toy_text(tmp_path)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["odd", "even"]
    rates = {line[:12].strip(): [float(value) for value in line.split()[-2:]] for line in lines}
    assert set(rates) == {"two looks", "taught"}
    assert rates["taught"][0] < rates["two looks"][0] < 20, "it was taught by the odd sentences"
    assert rates["taught"][1] < 40


def test_a_pair_that_cannot_be_aligned_is_an_error(tmp_path: Path, capsys) -> None:
    arguments = toy_text(tmp_path)
    gold = tmp_path / "gold.talp"
    shutil.copyfile(toy.FOLDER / "gold.talp", gold)
    for path in (gold, tmp_path / "text.de", tmp_path / "text.en"):
        _, *lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join(["", *lines]) + "\n", encoding="utf-8")
    arguments[arguments.index("--gold") + 1] = str(gold)
    assert recipe_steps.main(["ceiling", *MODELS, *arguments]) == 2
    assert "a pair is empty or too long" in capsys.readouterr().err


def test_the_classifier_learns_a_boundary() -> None:
    chance = np.random.default_rng(1)
    cells = [chance.normal(size=(5, 6, 3)) for _ in range(40)]
    golds = []
    for one in cells:
        right = np.argwhere(one[..., 0] - 0.5 * one[..., 2] > 0.2)
        links = frozenset((int(source), int(target)) for target, source in right)
        golds.append(Gold(sure=links, possible=links))
    taught = ceiling.Classifier.learn(cells[::2], golds[::2])
    found = taught.links(cells[1::2], 0.5)
    right_cells = sum(len(set(links) ^ gold.sure) for links, gold in zip(found, golds[1::2], strict=True))
    assert right_cells < 0.05 * 20 * 30


def test_only_possible_links_teach_nothing() -> None:
    gold = Gold(sure=frozenset({(0, 0)}), possible=frozenset({(0, 0), (1, 0)}))
    assert ceiling._labels((1, 3), gold).tolist() == [[1, -1, 0]]

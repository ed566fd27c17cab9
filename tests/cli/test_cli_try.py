"""The toy that ships with the package, and the verb that shows it."""

from __future__ import annotations

import importlib.util
from argparse import Namespace
from pathlib import Path

import pytest
import torch

from fairseq_normalign import NormalignError, toy
from tests.conftest import REPOSITORY, run, succeed

OWN = "Wir werden seiner Regierung morgen helfen.", "We will help its government tomorrow."


def test_its_own_examples_are_shown_and_written_as_a_page(tmp_path):
    result = succeed("normalign", "try", cwd=tmp_path)
    lines = [line for line in result.stdout.splitlines() if line.startswith("links: ")]
    assert len(lines) == 3
    assert all({"0-0"} & set(line.split()) or "-" in line for line in lines)
    page = (tmp_path / "normalign-try.html").read_text(encoding="utf-8")
    assert "Vertreter".lower() in page
    assert "this is a toy" in result.stderr


def test_words_it_has_hardly_seen_are_named(tmp_path):
    result = succeed("normalign", "try", "Der Minister twittert.", "The minister tweets.", "--no-page", cwd=tmp_path)
    assert "hardly seen (de): twittert\n" in result.stderr
    assert "hardly seen (en): tweets\n" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("sentences", [["nur eine"], ["ein Satz .", ""]])
def test_a_pair_needs_both_sentences(sentences, tmp_path):
    result = run("normalign", "try", *sentences, "--no-page", cwd=tmp_path)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1


def test_a_copy_has_everything_and_writes_over_nothing(tmp_path):
    names = toy.copy_to(tmp_path / "toy")
    assert {path.name for path in (tmp_path / "toy").iterdir()} == set(names)
    with pytest.raises(NormalignError, match="not empty"):
        toy.copy_to(tmp_path / "toy")


def test_the_toy_aligns_the_sentences_of_its_grammar():
    from fairseq_normalign import load, read_gold, score

    model = load(*toy.paths(), **toy.LOADING)
    texts = [(toy.FOLDER / f"text.{language}").read_text(encoding="utf-8").splitlines() for language in toy.LANGUAGES]
    links = [found.links for found in model.align_many(zip(*texts, strict=True))]
    assert score(read_gold(toy.FOLDER / "gold.talp", base=1), links).aer < 0.15


def test_the_toy_aligns_alike_as_folders_of_transformers(tmp_path):
    pytest.importorskip("transformers")
    from fairseq_normalign import load

    texts = [(toy.FOLDER / f"text.{language}").read_text(encoding="utf-8").splitlines() for language in toy.LANGUAGES]
    pairs = list(zip(*texts, strict=True))[:20]
    links = [found.links for found in load(*toy.paths(), **toy.LOADING).align_many(pairs)]
    assert [found.links for found in load(*toy.write_folders(tmp_path), tokenizer="moses").align_many(pairs)] == links


def test_the_toy_is_small_and_tells_nothing_of_where_it_was_made():
    assert sum(path.stat().st_size for path in toy.FOLDER.iterdir() if path.is_file()) < 5e6
    for path in toy.paths():
        assert b"/tmp" not in path.read_bytes()
        assert b"/home" not in path.read_bytes()


def test_making_a_toy_keeps_parameters_and_no_path(tmp_path):
    spec = importlib.util.spec_from_file_location("make_toy", REPOSITORY / "recipes" / "toy" / "make_toy.py")
    make_toy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_toy)
    shared = torch.arange(6.0).reshape(2, 3) / 8
    arguments = Namespace(arch="transformer_normalign", data="/somewhere", normalign_layer=1, encoder_layers=1)
    state = {"cfg": {"model": arguments}, "model": {"a": shared, "b": shared, "n": torch.tensor([3])}}
    torch.save(state, tmp_path / "big.pt")
    make_toy.shrink(tmp_path / "big.pt", tmp_path / "small.pt")
    made = torch.load(tmp_path / "small.pt", weights_only=False)
    assert made["model"]["a"].dtype == torch.float16
    assert made["model"]["a"].data_ptr() == made["model"]["b"].data_ptr()
    assert torch.equal(made["model"]["a"].float(), shared)
    assert made["model"]["n"].dtype == torch.int64
    assert vars(made["args"])["arch"] == "transformer"
    assert b"somewhere" not in Path(tmp_path / "small.pt").read_bytes()

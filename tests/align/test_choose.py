"""``--normalign-readings auto`` in fairseq's commands: chosen by the references, if there are any."""

from __future__ import annotations

import logging

import pytest

from fairseq_normalign.align.sample import SAMPLE, choose_by_pairs
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.fairseq.task import first_pairs
from tests.hosts.fairseq.test_recording import build


def references(bitext, dictionary, split: str = "test"):
    """The dataset that fairseq makes of a split."""
    from fairseq.data import LanguagePairDataset

    sides = []
    for language in ("de", "en"):
        lines = (bitext / f"{split}.{language}").read_text(encoding="utf-8").splitlines()
        tokens = [dictionary.encode_line(line, add_if_not_exist=False).long() for line in lines]
        sides += [tokens, [len(line) for line in tokens], dictionary]
    return LanguagePairDataset(*sides)


@pytest.fixture
def loaded(binarized):
    """The task with ``--normalign-readings auto``, and a random model."""
    return build(binarized, ["--arch", "transformer", "--normalign-readings", "auto"])


def test_by_the_references_of_the_split(loaded, bitext, caplog, monkeypatch):
    monkeypatch.setattr("fairseq_normalign.analysis.choose_readings.LEAST_PAIRS", 10)
    task, model = loaded
    task.datasets = {"test": references(bitext, task.source_dictionary)}
    with caplog.at_level(logging.INFO):
        aligner = task.build_aligner([model])
    pairs = first_pairs(task.datasets["test"], task.vocabularies(), SAMPLE)
    chosen = aligner.expert
    again = choose_by_pairs(aligner, pairs)
    assert again.expert == chosen
    assert again.ranked
    assert f"reads {chosen}, by a lexicon of 13 sentence pairs" in caplog.text


def test_without_references_it_says_so(loaded, caplog):
    task, model = loaded
    task.datasets = {}
    aligner = task.build_aligner([model])
    assert [reading.layer for reading in aligner.expert.readings] == [0, 2]
    assert "no references to choose readings by" in caplog.text


def test_a_method_without_layers_has_none_to_choose(bitext, binarized):
    from fairseq_normalign.methods import METHODS

    name = next(name for name, method in METHODS.items() if not method.layerwise)
    options = ["--arch", "transformer", "--normalign-readings", "auto", "--normalign-method", name]
    task, model = build(binarized, options)
    task.datasets = {"test": references(bitext, task.source_dictionary)}
    with pytest.raises(NormalignError, match="no layers to choose from"):
        task.build_aligner([model])

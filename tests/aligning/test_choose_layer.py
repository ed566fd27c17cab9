"""``--normalign-layer auto`` in fairseq's commands: chosen by the references, if there are any."""

from __future__ import annotations

import logging

import pytest

from fairseq_normalign.aligning.choose_layer import SAMPLE, judge_by_pairs
from fairseq_normalign.aligning.directions import EncodedAligner
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.fairseq.datasets import first_pairs
from fairseq_normalign.hosts.fairseq.host import TaskBatches
from fairseq_normalign.hosts.fairseq.loading import load_models


class References:
    """As much of a fairseq dataset as a choice needs."""

    def __init__(self, bitext, dictionary, split: str = "test") -> None:
        self.src, self.tgt = (
            [
                dictionary.encode_line(line, add_if_not_exist=False).long()
                for line in (bitext / f"{split}.{language}").read_text(encoding="utf-8").splitlines()
            ]
            for language in ("de", "en")
        )

    def __len__(self) -> int:
        return len(self.src)


@pytest.fixture(scope="module")
def loaded(plain_checkpoint, binarized):
    return load_models(plain_checkpoint, data=binarized, options={"normalign_layer": "auto"})


def test_by_the_references_of_the_split(loaded, bitext, caplog):
    loaded.task.datasets = {"test": References(bitext, loaded.source_dictionary)}
    with caplog.at_level(logging.INFO):
        aligner = loaded.task.build_aligner(loaded.models)
    pairs = first_pairs(loaded.task.datasets["test"], loaded.task.vocabularies(), SAMPLE)
    verdict = judge_by_pairs(EncodedAligner(aligner, TaskBatches(loaded.task, aligner.reader.models)), pairs)
    assert verdict is not None
    chosen = verdict.choice.candidate
    assert (aligner.reading.layer, aligner.reading.setting) == (chosen.layer, chosen.setting)
    assert f"--normalign-layer {chosen.layer + 1}" in caplog.text
    assert "only 13 sentence pairs" in caplog.text


def test_without_references_it_says_so(loaded, caplog):
    loaded.task.datasets = {}
    aligner = loaded.task.build_aligner(loaded.models)
    assert aligner.reading.layer == 0
    assert "no references to choose by" in caplog.text


def test_a_method_without_layers_has_none_to_choose(bitext, plain_checkpoint, binarized):
    from fairseq_normalign.attribution import METHODS

    name = next(name for name, method in METHODS.items() if not method.layerwise)
    other = load_models(plain_checkpoint, data=binarized, options={"normalign_layer": "auto", "normalign_method": name})
    other.task.datasets = {"test": References(bitext, other.source_dictionary)}
    with pytest.raises(NormalignError, match="no layers to choose from"):
        other.task.build_aligner(other.models)

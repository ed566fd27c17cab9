"""One tiny Marian as npz, .bin, CTranslate2 and folder of transformers aligns, scores and translates the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fairseq_normalign
from fairseq_normalign.hosts.marian.modules import sinusoids
from tests.hosts.transformers.folders import lines

EXACT, HALF, BYTE = 2e-5, 5e-3, 0.03
"""The most that a weight of a soft alignment may differ: float32; float16 and 16 bits; 8 bits (random weights)."""
FORMATS = {
    "npz": EXACT,
    "bin": EXACT,
    "bin gz": EXACT,
    "ct2": EXACT,
    "ct2 float32 v2": EXACT,
    "ct2 float32 v3": EXACT,
    "argos": EXACT,
    "ct2 float16": HALF,
    "ct2 int16": HALF,
    "bin intgemm16": HALF,
    "bin intgemm8": BYTE,
    "ct2 int8": BYTE,
}


def read(path, epsilon=None, as_marian=False):
    """What is read of twelve pairs; the folder of transformers with the epsilon and the positions of the other side."""
    model = fairseq_normalign.load(path, source_lang="de", target_lang="en", layer=2)
    for name, module in model.aligner.forward.host.models[0].module.named_modules():
        if epsilon and isinstance(module, torch.nn.LayerNorm):
            module.eps = epsilon
        if as_marian and name.endswith("embed_positions"):
            module.weight = torch.nn.Parameter(torch.from_numpy(sinusoids(module.weight.size(1))))
    pairs = list(zip(lines(1, 12), lines(2, 12), strict=True))
    return list(model.align_many(pairs, score=True, every_layer=True))


@pytest.fixture(scope="module")
def expected(tiny):
    return {"marian": read(tiny[0], 1e-6, as_marian=True), "ct2": read(tiny[0], 1e-5)}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_aligns_as_the_folder_of_transformers(name, twin, expected):
    others = expected["ct2" if name.startswith(("ct2", "argos")) else "marian"]
    for one, other in zip(read(twin(name)), others, strict=True):
        assert np.abs(one.soft - other.soft).max() <= FORMATS[name]
        if FORMATS[name] == EXACT:
            assert one.links == other.links
            assert one.score == pytest.approx(other.score, abs=1e-4)


def test_the_twins_do_align(expected):
    softs = [np.abs(found.soft - found.soft.mean(1, keepdims=True)).max() for found in expected["ct2"]]
    assert min(softs) > BYTE

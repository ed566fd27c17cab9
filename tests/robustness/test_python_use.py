"""What a Python program may do with a model beside aligning: train it, be in inference mode, give it too much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairseq_normalign import load
from fairseq_normalign.cli import main
from tests.cli.tiny_pair import LONGEST, make_tiny_pair

NEEDS_GRADIENTS = ("saliency", "input-x-gradient", "smoothgrad:n=2", "integrated-gradients:n=2", "relevance")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make_tiny_pair(tmp_path_factory.mktemp("python")).folder


def of_host(host: str, folder: Path, **options: Any):
    if host == "fairseq":
        return load(folder / "de-en.pt", data=folder, **options)
    pytest.importorskip("transformers")
    from tests.hosts.transformers.folders import marian

    if not (folder / "marian").exists():
        (folder / "marian").mkdir()
        marian(folder / "marian")
    return load(folder / "marian", **options)


HOSTS = pytest.mark.parametrize("host", ["fairseq", "transformers"])


@HOSTS
def test_a_model_in_training_is_read_as_if_it_were_not_and_goes_on_training(host, folder):
    model = of_host(host, folder)
    source, target = "w1 w2 w3", "w2 w1"
    expected = [model.align(source, target, score=True), *model.translate(source, beam=2)]
    (module,) = (one.module for one in model.aligner.forward.models)
    module.train()
    for part in module.modules():
        if isinstance(part, torch.nn.LayerNorm):
            part.eval()  # frozen, as some trainings have it
    modes = [part.training for part in module.modules()]
    found = [model.align(source, target, score=True), *model.translate(source, beam=2)]
    assert [part.training for part in module.modules()] == modes
    assert any(modes)
    module.eval()
    for one, other in zip(found, expected, strict=True):
        assert (one.target, one.links, one.score) == (other.target, other.links, other.score)
        np.testing.assert_array_equal(one.soft, other.soft)


@HOSTS
@pytest.mark.parametrize("method", NEEDS_GRADIENTS)
def test_gradients_in_inference_mode(host, method, folder):
    expected = of_host(host, folder, method=method).align("w1 w2 w3", "w2 w1")
    with torch.inference_mode():
        model = of_host(host, folder, method=method)
        inside = model.align("w1 w2 w3", "w2 w1")
        model.translate("w1 w2 w3 w1", beam=2)
        assert torch.is_inference_mode_enabled()
    outside = model.align("w1 w2 w3", "w2 w1")
    for found in (inside, outside):
        np.testing.assert_array_equal(found.soft, expected.soft)


def test_what_the_command_does_not_translate_python_does_not_either(folder, tmp_path):
    lines = ["w1 w2", "", "w1 " * (LONGEST + 1), "w3"]
    text = tmp_path / "text"
    text.write_text("".join(f"{line}\n" for line in lines))
    given = ["--path", str(folder / "de-en.pt"), "--data", str(folder), "--cpu", "--source", str(text), "--beam", "2"]
    assert main(["translate", *given, "-o", str(tmp_path / "out")]) == 0
    model = of_host("fairseq", folder)
    found = model.translate(lines, beam=2)
    assert [" ".join(one[0].target if one else ()) for one in found] == (tmp_path / "out").read_text().splitlines()
    assert [len(one) for one in found] == [1, 0, 0, 1]
    assert model.translate(lines[2]) == []
    assert model.translate([]) == []
    assert model.align(lines[2], "w1").skipped == "too long"

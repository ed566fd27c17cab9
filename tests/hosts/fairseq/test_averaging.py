"""The mean of checkpoints."""

from __future__ import annotations

import shutil

import torch

from fairseq_normalign.cli import main
from tests.conftest import lines_of
from tests.hosts.fairseq.published_shapes import generate


def test_the_mean_is_that_of_every_parameter_and_fairseq_loads_it(shape_of, tmp_path):
    from dataclasses import replace

    shape = shape_of("bilingual")
    states = []
    for number in range(3):
        state = torch.load(shape.checkpoint, weights_only=False)
        for key, value in state["model"].items():
            if value.is_floating_point():
                state["model"][key] = value + number * 0.1
        torch.save(state, tmp_path / f"{number}.pt")
        states.append(state["model"])
    paths = [str(tmp_path / f"{number}.pt") for number in range(3)]
    assert main(["average", *paths, "-o", str(tmp_path / "mean.pt")]) == 0
    mean = torch.load(tmp_path / "mean.pt", weights_only=False)
    for key, value in mean["model"].items():
        expected = sum(state[key].double() for state in states) / 3 if value.is_floating_point() else states[-1][key]
        assert torch.allclose(value.double(), torch.as_tensor(expected).double(), atol=1e-6)
    output = generate(
        replace(shape, checkpoint=tmp_path / "mean.pt"), "translation_normalign", "--print-alignment", "hard"
    )
    assert len(lines_of(output, "A")) == 20


def test_checkpoints_of_other_models_are_one_line(shape_of, tmp_path, capsys):
    one, other = shape_of("bilingual").checkpoint, shape_of("M2M-100").checkpoint
    capsys.readouterr()
    assert main(["average", str(one), str(other), "-o", str(tmp_path / "mean.pt")]) == 2
    message = capsys.readouterr().err.strip()
    assert "another model" in message or "has the shape" in message
    assert "\n" not in message
    assert not (tmp_path / "mean.pt").exists()


def test_one_checkpoint_or_itself_is_refused(shape_of, tmp_path):
    copy = tmp_path / "a.pt"
    shutil.copy(shape_of("bilingual").checkpoint, copy)
    assert main(["average", str(copy), "-o", str(tmp_path / "mean.pt")]) == 2
    assert main(["average", str(copy), str(copy), "-o", str(copy)]) == 2

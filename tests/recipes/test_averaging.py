"""The mean of checkpoints."""

from __future__ import annotations

import shutil

import pytest
import torch
from recipe_steps.__main__ import main

from tests.conftest import generate, lines_of


def changed(checkpoint, path, change):
    """A copy of a checkpoint with its parameters changed: name, tensor -> tensor."""
    state = torch.load(checkpoint, weights_only=False)
    state["model"] = {name: change(name, tensor) for name, tensor in state["model"].items()}
    torch.save(state, path)
    return state["model"]


def test_the_mean_is_that_of_every_parameter_and_fairseq_loads_it(plain_checkpoint, binarized, tmp_path):
    def raised(amount):
        return lambda name, tensor: tensor + amount if tensor.is_floating_point() else tensor

    states = [changed(plain_checkpoint, tmp_path / f"{n}.pt", raised(n * 0.1)) for n in range(3)]
    assert main(["average", *(str(tmp_path / f"{n}.pt") for n in range(3)), "-o", str(tmp_path / "mean.pt")]) == 0
    mean = torch.load(tmp_path / "mean.pt", weights_only=False)
    for key, value in mean["model"].items():
        expected = sum(state[key].double() for state in states) / 3 if value.is_floating_point() else states[-1][key]
        assert torch.allclose(value.double(), torch.as_tensor(expected).double(), atol=1e-6)
    output = generate(binarized, tmp_path / "mean.pt", "--print-alignment", "hard").stdout
    assert len(lines_of(output, "A")) == 13


def test_one_checkpoint_or_itself_is_refused(plain_checkpoint, tmp_path):
    copy = tmp_path / "a.pt"
    shutil.copy(plain_checkpoint, copy)
    assert main(["average", str(copy), "-o", str(tmp_path / "mean.pt")]) == 2
    assert main(["average", str(copy), str(copy), "-o", str(copy)]) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda tensor: tensor * float("nan"), "NaN or infinity"),
        (lambda tensor: tensor.int(), "is of the type torch.int32"),
        (lambda tensor: tensor.to_sparse(), "not a plain tensor"),
        (lambda tensor: torch.empty_like(tensor, device="meta"), "not a plain tensor"),
        (lambda tensor: tensor[:1].clone(), "has the shape"),
    ],
)
def test_checkpoints_that_do_not_fit_are_one_line(plain_checkpoint, tmp_path, capsys, change, said):
    name = "decoder.layers.0.fc1.weight"
    changed(plain_checkpoint, tmp_path / "b.pt", lambda key, tensor: change(tensor) if key == name else tensor)
    assert main(["average", str(plain_checkpoint), str(tmp_path / "b.pt"), "-o", str(tmp_path / "mean.pt")]) == 2
    message = capsys.readouterr().err.strip()
    assert said in message
    assert "\n" not in message
    assert not (tmp_path / "mean.pt").exists()

"""Loaded models of every host: under autocast, on unknown devices, damaged, and given too much."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from fairseq_normalign import NormalignError, load
from fairseq_normalign.cli import main
from fairseq_normalign.hosts.protocol import OutOfMemory
from tests.cli.tiny_pair import make_tiny_pair

HOSTS = pytest.mark.parametrize("host", ["fairseq", "transformers"])
PAIR = "w1 w2 w3", "w2 w1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make_tiny_pair(tmp_path_factory.mktemp("loaded")).folder


def load_from(host: str, folder: Path, **options):
    if host == "fairseq":
        return load(folder / "de-en.pt", data=folder, **options)
    pytest.importorskip("transformers")
    from tests.hosts.transformers.folders import marian

    if not (folder / "marian").exists():
        (folder / "marian").mkdir()
        marian(folder / "marian")
    return load(folder / "marian", **options)


def spoilt(folder: Path, to: Path, names: str, value: float) -> Path:
    state = torch.load(folder / "de-en.pt", weights_only=False)
    for name, tensor in state["model"].items():
        if names in name:
            tensor.fill_(value)
    torch.save(state, to)
    return to


@HOSTS
def test_an_outer_autocast_changes_nothing(host, folder):
    model = load_from(host, folder)
    expected = model.align(*PAIR)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model.align(*PAIR)
    assert found.links == expected.links
    assert (found.soft == expected.soft).all()


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "xla", "meta"])
@HOSTS
def test_an_unknown_device_is_one_line(host, folder, device):
    with pytest.raises(NormalignError, match=f"the device '{device}' cannot be used"):
        load_from(host, folder, device=device)


@pytest.mark.parametrize(
    ("names", "value", "said"),
    [
        ("decoder.layers.1.fc1.weight", float("nan"), "NaN or infinity in its parameter decoder.layers.1.fc1.weight"),
        ("encoder_attn.v_proj", 0.0, "its encoder-decoder attention adds nothing"),
        ("encoder_attn.out_proj", 0.0, "its encoder-decoder attention adds nothing"),
    ],
)
@pytest.mark.parametrize("verb", ["align", "check", "translate"])
def test_a_damaged_model_is_one_line(folder, tmp_path, capsys, verb, names, value, said):
    path = spoilt(folder, tmp_path / "bad.pt", names, value)
    (tmp_path / "text").write_text("w1 w2\n")
    given = ["--path", str(path), "--data", str(folder), "--source", str(tmp_path / "text"), "--cpu"]
    given += [] if verb == "translate" else ["--target", str(tmp_path / "text")]
    assert main([verb, *given]) == 2
    message = capsys.readouterr().err.strip()
    assert said in message
    assert str(path) in message
    assert "\n" not in message


def test_what_a_checkpoint_holds_for_its_type_alone_may_be_nan(folder, tmp_path):
    state = torch.load(folder / "de-en.pt", weights_only=False)
    state["model"]["encoder.embed_positions._float_tensor"] = torch.tensor([float("nan")])
    torch.save(state, tmp_path / "older.pt")
    assert (
        load(tmp_path / "older.pt", data=folder).align(*PAIR).links == load_from("fairseq", folder).align(*PAIR).links
    )


def test_a_layer_whose_projection_is_zero_is_read_without_nan(folder, tmp_path, capsys):
    path = spoilt(folder, tmp_path / "zero.pt", "decoder.layers.0.encoder_attn.v_proj", 0.0)
    model = load(path, data=folder, layer=1, step="awi")
    found = model.align(*PAIR)
    json.loads(json.dumps({"confidence": found.confidence}, allow_nan=False))
    assert (found.soft == found.soft).all()


def test_memory_that_runs_out_names_the_pair(folder, monkeypatch):
    from fairseq_normalign.hosts.reading import enough_memory

    for error in (MemoryError(), RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")):
        with pytest.raises(OutOfMemory, match=r"^sentence 7: not enough memory"), enough_memory(["7"]):
            raise error
    with pytest.raises(RuntimeError, match="of another kind"), enough_memory(["7"]):
        raise RuntimeError("of another kind")


def test_a_pair_that_is_too_large_for_the_memory_is_left_out(folder, monkeypatch, tmp_path, capsys):
    from fairseq_normalign.hosts.fairseq.model import FairseqModel

    run = FairseqModel.run

    def limited(model, batch, kind, encoded):
        if batch.source_tokens.numel() > 8:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")
        run(model, batch, kind, encoded)

    texts = {"s": "w1 w2\nw1 w2 w3 w4 w5 w6 w7 w8 w9\nw3\n", "t": "w1 w2\nw2 w3\nw3 w4\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    given = ["--path", folder / "de-en.pt", "--data", folder, "--source", tmp_path / "s", "--target", tmp_path / "t"]
    assert main(["align", *map(str, given), "--cpu", "--layer", "1", "-o", str(tmp_path / "all")]) == 0
    capsys.readouterr()
    monkeypatch.setattr(FairseqModel, "run", limited)
    assert main(["align", *map(str, given), "--cpu", "--layer", "1", "-o", str(tmp_path / "some")]) == 0
    every, found = ((tmp_path / name).read_text().split("\n") for name in ("all", "some"))
    assert every[1]
    assert found == [every[0], "", *every[2:]]
    said = capsys.readouterr().err
    assert "sentence 2: not enough memory" in said
    assert "1 too large for the memory" in said


def test_a_model_without_positions_takes_no_line_of_any_length(tmp_path):
    pytest.importorskip("transformers")
    from tests.hosts.transformers.folders import t5

    model = load(t5(tmp_path))
    assert model.align("w1 " * 20_000, "w1").skipped == "too long"

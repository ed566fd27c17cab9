"""Pairs that are too large for the memory, and damaged models, in every verb that reads pairs by a model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fairseq_normalign.cli import main
from fairseq_normalign.hosts.fairseq.host import FairseqModels
from tests.cli.tiny_pair import make_tiny_pair

SOURCE = "w1 w2\nw1 w2 w3 w4 w5 w6 w7 w8 w9\nw3 w1\nw2\n"
TARGET = "w1 w2\nw2 w3\nw3 w4\nw1\n"
VERBS = {
    "align": ["--layer", "1"],
    "check": ["--full", "--json"],
    "compare": ["--gold", "gold", "--gold-base", "0", "--json"],
    "analyze": ["heads", "--gold", "gold", "--gold-base", "0"],
    "view": ["--method", "norms", "--html", "page.html"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    make_tiny_pair(tmp_path)
    for name, text in {"s": SOURCE, "t": TARGET, "gold": "0-0 1-1\n0-0\n0-0\n0-0\n"}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(verb: str, path: str = "de-en.pt") -> list[str]:
    what, options = ([VERBS[verb][0]], VERBS[verb][1:]) if verb == "analyze" else ([], VERBS[verb])
    return [verb, *what, "--path", path, "--data", ".", "--source", "s", "--target", "t", "--cpu", *options]


@pytest.mark.parametrize("verb", VERBS)
def test_a_pair_that_is_too_large_is_left_out(folder, monkeypatch, capsys, verb):
    made = FairseqModels.batch

    def limited(host, pairs, names=()):
        if any(len(source) > 9 for source, _ in pairs):
            raise MemoryError
        return made(host, pairs, names)

    assert main(command(verb)) == 0
    every = capsys.readouterr()
    monkeypatch.setattr(FairseqModels, "batch", limited)
    assert main(command(verb)) == 0
    some = capsys.readouterr()
    assert "sentence 2: not enough memory for a text of this length; it is left out" in some.err
    if verb == "align":
        links = every.out.splitlines()
        assert links[1]
        assert some.out.splitlines() == [links[0], "", *links[2:]]
    elif verb == "check":
        found = [json.loads(line) for line in some.out.splitlines()]
        assert [one.get("skipped") for one in found] == [None, "not enough memory", None, None]
        assert [one["score"] is None for one in found] == [False, True, False, False]
    elif verb == "analyze":
        assert "1 lines left out (not enough memory)" in some.err
    elif verb == "view":
        assert "sentence 2 is left out: not enough memory" in some.err
    else:
        assert json.loads(some.out)["layers"]


def test_a_line_that_is_too_large_is_not_translated(folder, monkeypatch, capsys):
    made = FairseqModels.translate

    def limited(host, lines, **options):
        if any(len(line.split()) > 8 for line in lines):
            raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")
        return made(host, lines, **options)

    translate = ["translate", "--path", "de-en.pt", "--data", ".", "--source", "s", "--cpu", "--beam", "2"]
    assert main(translate) == 0
    every = capsys.readouterr().out.splitlines()
    monkeypatch.setattr(FairseqModels, "translate", limited)
    assert main(translate) == 0
    some = capsys.readouterr()
    assert every[1]
    assert some.out.splitlines() == [every[0], "", *every[2:]]
    assert "sentence 2: not enough memory for a text of this length; it is left out" in some.err
    assert "1 of 4 lines have no translation" in some.err


@pytest.mark.parametrize(
    ("names", "value", "said"),
    [
        ("decoder.layers.1.fc1.weight", float("nan"), "NaN or infinity in its parameter decoder.layers.1.fc1.weight"),
        ("encoder_attn.v_proj", 0.0, "its encoder-decoder attention adds nothing"),
    ],
)
@pytest.mark.parametrize("verb", ["compare", "analyze", "view"])
def test_a_damaged_model_is_one_line(folder, capsys, verb, names, value, said):
    state = torch.load(folder / "de-en.pt", weights_only=False)
    for name, tensor in state["model"].items():
        if names in name:
            tensor.fill_(value)
    torch.save(state, folder / "bad.pt")
    assert main(command(verb, "bad.pt")) == 2
    message = capsys.readouterr().err.strip()
    assert said in message
    assert "\n" not in message


def test_a_layer_that_adds_nothing_is_compared_without_nan(folder, capsys):
    state = torch.load(folder / "de-en.pt", weights_only=False)
    for name, tensor in state["model"].items():
        if "decoder.layers.0.encoder_attn.v_proj" in name:
            tensor.fill_(0.0)
    torch.save(state, folder / "zero.pt")
    assert main(command("compare", "zero.pt")) == 0
    json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


FORKED = """
import os, signal, sys, torch
from fairseq_normalign import load
torch.set_num_threads(2)
model = load("de-en.pt", data=".", device="cpu")
found = model.align("w1 w2 w3", "w2 w1")
torch.ones(2**21).exp()  # large enough for both threads
child = os.fork()
if child == 0:
    signal.alarm(120)
    again = model.align("w1 w2 w3", "w2 w1")
    torch.ones(2**21).exp()
    os._exit(int(again.links != found.links or (again.soft != found.soft).any()))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_model_works_in_a_fork(folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", FORKED], env=environment, check=False).returncode == 0

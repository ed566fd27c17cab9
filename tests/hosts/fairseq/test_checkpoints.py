"""Nothing in a checkpoint runs; what is refused is named in one line."""

from __future__ import annotations

import argparse
import collections
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.fairseq.checkpoints import literal, safe_load
from fairseq_normalign.hosts.fairseq.patches import register
from tests.conftest import PACKAGE, TINY_TRAINING, generate, run

register()


class RunsACommand:
    """An object whose unpickling creates a file."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self):
        return os.system, (f"touch {self.witness}",)


@pytest.fixture
def witness(tmp_path) -> Path:
    return tmp_path / "it-ran"


@pytest.fixture(params=["a pickled command", "code in an argument"])
def hostile(request, plain_checkpoint, tmp_path, witness) -> Path:
    state = torch.load(plain_checkpoint, weights_only=False)
    if request.param == "a pickled command":
        state["extra_state"]["note"] = RunsACommand(witness)
    else:
        state["cfg"]["model"].adaptive_softmax_cutoff = f"__import__('os').system('touch {witness}')"
    torch.save(state, tmp_path / "hostile.pt")
    return tmp_path / "hostile.pt"


def test_every_command_and_python_refuse_what_would_run(hostile, binarized, witness, tmp_path):
    import fairseq_normalign

    ours = ("--user-dir", PACKAGE, "--task", "translation_normalign", "-s", "de", "-t", "en")
    resume = ("--restore-file", hostile, "--save-dir", tmp_path / "save", "--arch", "transformer_normalign")
    for result in (
        generate(binarized, hostile),
        run("fairseq-interactive", binarized, *ours, "--path", hostile, stdin="d1\n"),
        run("fairseq-train", binarized, *ours, *resume, "--max-update", 1, *TINY_TRAINING),
    ):
        assert result.returncode == 2
        (shown,) = [line for line in result.stderr.splitlines() if "error:" in line]
        assert "system" in shown or "adaptive_softmax_cutoff" in shown
        assert "Traceback" not in result.stderr + result.stdout
    with pytest.raises(NormalignError, match="refused"):
        fairseq_normalign.load(hostile, data=binarized)
    assert not witness.exists()


def test_every_door_that_evaluates_is_closed(witness):
    """Whatever arrives at an eval in fairseq is parsed, not run."""
    from fairseq import utils
    from fairseq.models import fconv

    code = f"__import__('os').system('touch {witness}')"
    for evaluate in (utils.eval_str_list, utils.eval_bool, fconv.eval):
        with pytest.raises(NormalignError, match="not a literal"):
            evaluate(code)
    assert not witness.exists()
    assert utils.eval_str_list("[0.25]*3") == [0.25] * 3
    assert utils.eval_bool(True) is False  # as fairseq has it: only strings are evaluated
    assert utils.eval_bool("True") is True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(0.9, 0.98)", (0.9, 0.98)),
        ("[(512, 3)] * 2 + [(2048, 1)]", [(512, 3), (512, 3), (2048, 1)]),
        ("-1e-4", -1e-4),
        ("{'a': 1}", {"a": 1}),
        ("None", None),
        ("'text'", "text"),
    ],
)
def test_literals(text, value):
    assert literal(text) == value


@pytest.mark.parametrize(
    "text", ["f(1)", "a", "[x for x in (1,)]", "(1).real", "lambda: 1", "[1] * 10**9", "[1]" + " * 9" * 20, "1 +", ""]
)
def test_what_is_no_literal(text):
    with pytest.raises(NormalignError, match="not a literal"):
        literal(text)


@given(
    st.recursive(
        st.one_of(st.integers(), st.booleans(), st.text(), st.none()), lambda inner: st.lists(inner) | st.tuples(inner)
    )
)
def test_literals_are_what_python_says(value):
    assert literal(repr(value)) == value


def saved(folder: Path, **arguments: object) -> Path:
    """A checkpoint with these arguments, and little else."""
    args = argparse.Namespace(**arguments)
    torch.save({"args": args, "model": {"decoder.embed_tokens.weight": torch.zeros(8, 8)}}, folder / "model.pt")
    return folder / "model.pt"


def test_everything_fairseq_stores_is_allowed(tmp_path):
    from fairseq.logging.meters import AverageMeter

    cfg = {"model": {"arch": "transformer"}, "seeds": [1, 2], "optimization": {"lr": [0.1]}}
    state = {
        "args": argparse.Namespace(arch="transformer", lr=[0.1]),
        "cfg": OmegaConf.create({**cfg, "optimizer": {"lr": "${optimization.lr}"}}),
        "best": np.float64(1.5),
        "counts": np.array([1, 2]),
        "meters": collections.OrderedDict(loss=AverageMeter()),
    }
    torch.save(state, tmp_path / "all.pt")
    loaded = safe_load(tmp_path / "all.pt")
    assert loaded["args"].lr == [0.1]
    assert loaded["cfg"].seeds[1] == 2
    assert loaded["cfg"].optimizer.lr == [0.1]  # a reference to another argument is fairseq's own
    assert loaded["best"] == 1.5
    assert loaded["counts"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "text", ["${oc.env:SECRET}", "a ${oc.env:SECRET,x}", "${${which}:SECRET}", "${a.${oc.env:SECRET}}"]
)
def test_what_omegaconf_would_look_up_is_refused(tmp_path, monkeypatch, text):
    monkeypatch.setenv("SECRET", "hush")
    cfg = OmegaConf.create({"model": {"arch": "transformer", "list": ["x", {"data": text}]}, "which": "oc.env"})
    for state in (
        {"cfg": cfg, "args": None},
        {"args": argparse.Namespace(data=text)},
        {"args": argparse.Namespace(more=[text])},
    ):
        torch.save({**state, "model": {}}, tmp_path / "model.pt")
        with pytest.raises(NormalignError, match="asks for something outside of the file") as caught:
            safe_load(tmp_path / "model.pt")
        assert "hush" not in str(caught.value)


SIZES = [
    (f"{side}{key}", value)
    for side in ("decoder_", "encoder_", "")
    for key, value in (("attention_heads", -4), ("attention_heads", 10**9), ("layers", -1))
]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        *(({key: value}, f"it asks for {key} {value}") for key, value in SIZES),
        ({"attention_dropout": "much"}, "its argument attention_dropout is not a number but 'much'"),
        ({"adam_betas": "print()"}, "its argument adam_betas is not a literal but 'print"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(tmp_path, arguments, said):
    with pytest.raises(NormalignError, match=said):
        safe_load(saved(tmp_path, **arguments))


def test_a_size_behind_a_reference_is_looked_at(tmp_path):
    cfg = OmegaConf.create({"model": {"decoder_layers": "${other}"}, "other": 10**9})
    torch.save({"cfg": cfg, "model": {"a": torch.zeros(2)}}, tmp_path / "model.pt")
    with pytest.raises(NormalignError, match="it asks for decoder_layers 1000000000"):
        safe_load(tmp_path / "model.pt")


def test_arguments_that_hold_themselves_are_refused(tmp_path):
    data: list = []
    data.append(data)
    with pytest.raises(NormalignError, match="its arguments cannot be read"):
        safe_load(saved(tmp_path, data=data))


def test_numpy_1_names_are_known(tmp_path):
    torch.save({"best": np.float64(1.5)}, tmp_path / "new.pt", _use_new_zipfile_serialization=False)
    old = (tmp_path / "new.pt").read_bytes().replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    (tmp_path / "old.pt").write_bytes(old)
    assert safe_load(tmp_path / "old.pt")["best"] == 1.5


def test_fused_copies_of_0_12_2_are_dropped(tmp_path):
    layer = "encoder.layers.0"
    names = [f"{layer}.in_proj_weight", f"{layer}.in_proj_bias", f"{layer}.self_attn.q_proj.weight"]
    old_style = "encoder.layers.1.self_attn.in_proj_weight"  # of 2018: fairseq splits it by itself
    torch.save({"model": {name: torch.zeros(1) for name in [*names, old_style]}}, tmp_path / "fused.pt")
    assert set(safe_load(tmp_path / "fused.pt")["model"]) == {names[2], old_style}


@pytest.mark.parametrize("size", [0, 1, 100, 5000])
def test_truncated_files_are_named(plain_checkpoint, tmp_path, size):
    broken = tmp_path / "broken.pt"
    broken.write_bytes(plain_checkpoint.read_bytes()[:size])
    with pytest.raises(NormalignError, match=r"broken\.pt: not a whole checkpoint"):
        safe_load(broken)


def test_a_pickle_that_is_no_checkpoint_is_named(tmp_path):
    (tmp_path / "list.pt").write_bytes(pickle.dumps([1]))
    with pytest.raises(NormalignError, match=r"list\.pt: not"):
        safe_load(tmp_path / "list.pt")
    with pytest.raises(NormalignError, match="no such file"):
        safe_load(tmp_path / "missing.pt")

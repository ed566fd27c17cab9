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


def changed(checkpoint: Path, out: Path, change) -> Path:
    state = torch.load(checkpoint, weights_only=False)
    change(state)
    torch.save(state, out)
    return out


@pytest.fixture
def witness(tmp_path) -> Path:
    return tmp_path / "it-ran"


@pytest.fixture
def with_command(plain_checkpoint, tmp_path, witness) -> Path:
    def add(state):
        state["extra_state"]["note"] = RunsACommand(witness)

    return changed(plain_checkpoint, tmp_path / "command.pt", add)


@pytest.fixture
def with_code(plain_checkpoint, tmp_path, witness) -> Path:
    def add(state):
        model = state["cfg"]["model"]
        model.adaptive_softmax_cutoff = f"__import__('os').system('touch {witness}')"

    return changed(plain_checkpoint, tmp_path / "code.pt", add)


def assert_refused(result, what: str) -> None:
    assert result.returncode == 2
    shown = [line for line in result.stderr.splitlines() if "error:" in line]
    assert len(shown) == 1
    assert what in shown[0]
    assert "Traceback" not in result.stderr + result.stdout


def test_generate_refuses_a_pickled_command(binarized, with_command, witness):
    assert_refused(generate(binarized, with_command), "system")
    assert not witness.exists()


def test_text_where_a_number_belongs_is_refused(plain_checkpoint, tmp_path):
    def add(state):
        state["cfg"]["model"].attention_dropout = "much"

    with pytest.raises(NormalignError, match="its argument attention_dropout is not a number but 'much'"):
        safe_load(str(changed(plain_checkpoint, tmp_path / "text.pt", add)))


def test_generate_refuses_code_in_an_argument(binarized, with_code, witness):
    assert_refused(generate(binarized, with_code), "adaptive_softmax_cutoff")
    assert not witness.exists()


def test_interactive_and_resume_refuse_too(binarized, with_command, witness, tmp_path):
    options = ("--user-dir", PACKAGE, "--task", "translation_normalign", "-s", "de", "-t", "en")
    assert_refused(run("fairseq-interactive", binarized, *options, "--path", with_command, stdin="d1\n"), "system")
    resume = ("--restore-file", with_command, "--save-dir", tmp_path / "save")
    training = ("--arch", "transformer_normalign", "--max-update", 1, *TINY_TRAINING)
    assert_refused(run("fairseq-train", binarized, *options, *resume, *training), "system")
    assert not witness.exists()


def test_python_interface_refuses_both(binarized, with_command, with_code, witness):
    import fairseq_normalign

    for checkpoint in (with_command, with_code):
        with pytest.raises(NormalignError, match="refused"):
            fairseq_normalign.load(checkpoint, data=binarized)
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


def test_everything_fairseq_stores_is_allowed(tmp_path):
    from fairseq.logging.meters import AverageMeter
    from omegaconf import OmegaConf

    state = {
        "args": argparse.Namespace(arch="transformer", lr=[0.1]),
        "cfg": OmegaConf.create({"model": {"arch": "transformer"}, "seeds": [1, 2]}),
        "best": np.float64(1.5),
        "counts": np.array([1, 2]),
        "meters": collections.OrderedDict(loss=AverageMeter()),
    }
    torch.save(state, tmp_path / "all.pt")
    loaded = safe_load(tmp_path / "all.pt")
    assert loaded["args"].lr == [0.1]
    assert loaded["cfg"].seeds[1] == 2
    assert loaded["best"] == 1.5
    assert loaded["counts"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "text", ["${oc.env:SECRET}", "a ${oc.env:SECRET,x}", "${${which}:SECRET}", "${a.${oc.env:SECRET}}"]
)
def test_what_omegaconf_would_look_up_is_refused(tmp_path, monkeypatch, text):
    from argparse import Namespace

    from omegaconf import OmegaConf

    monkeypatch.setenv("SECRET", "hush")
    cfg = OmegaConf.create({"model": {"arch": "transformer", "list": ["x", {"data": text}]}, "which": "oc.env"})
    for state in ({"cfg": cfg, "args": None}, {"args": Namespace(data=text)}, {"args": Namespace(more=[text])}):
        torch.save({**state, "model": {}}, tmp_path / "model.pt")
        with pytest.raises(NormalignError, match="asks for something outside of the file") as caught:
            safe_load(tmp_path / "model.pt")
        assert "hush" not in str(caught.value)


def test_references_to_other_arguments_are_fairseq_s_own(tmp_path):
    from omegaconf import OmegaConf

    cfg = OmegaConf.create({"optimization": {"lr": [0.1]}, "optimizer": {"lr": "${optimization.lr}"}})
    torch.save({"cfg": cfg, "model": {}}, tmp_path / "model.pt")
    assert safe_load(tmp_path / "model.pt")["cfg"].optimizer.lr == [0.1]


def test_arguments_that_hold_themselves_are_refused(tmp_path):
    from argparse import Namespace

    args = Namespace(data=[])
    args.data.append(args.data)
    torch.save({"args": args, "model": {}}, tmp_path / "model.pt")
    with pytest.raises(NormalignError, match="its arguments cannot be read"):
        safe_load(tmp_path / "model.pt")


@pytest.mark.parametrize(("key", "value"), [("attention_heads", -4), ("attention_heads", 10**9), ("layers", -1)])
@pytest.mark.parametrize("side", ["decoder_", "encoder_", ""])
def test_sizes_that_make_no_sense_are_refused(tmp_path, key, value, side):
    from argparse import Namespace

    args = Namespace(**{f"{side}{key}": value})
    torch.save({"args": args, "model": {"decoder.embed_tokens.weight": torch.zeros(8, 8)}}, tmp_path / "model.pt")
    with pytest.raises(NormalignError, match=f"it asks for {side}{key} {value}"):
        safe_load(tmp_path / "model.pt")


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

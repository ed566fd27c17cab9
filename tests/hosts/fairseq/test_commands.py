"""fairseq's real commands with our user-dir: train, stop, resume, generate, interactive; nothing lost."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest
import torch

from tests.conftest import PACKAGE, generate, lines_of, run, succeed


def test_train_stop_resume_generate(our_checkpoint, binarized):
    state = torch.load(our_checkpoint, weights_only=False)
    assert state["optimizer_history"][-1]["num_updates"] == 30
    result = generate(binarized, our_checkpoint, "--print-alignment", "hard", "--post-process", "subword_nmt")
    assert result.returncode == 0
    assert "Traceback" not in result.stderr
    assert sorted(lines_of(result.stdout, "A")) == list(range(13))


@pytest.mark.parametrize("multiple", [1, 8])
def test_no_sentence_is_lost(our_checkpoint, binarized, multiple):
    for subset, size in {"test": 13, "test1": 5}.items():
        result = generate(binarized, our_checkpoint, "--gen-subset", subset, "--required-batch-size-multiple", multiple)
        assert sorted(lines_of(result.stdout, "H")) == list(range(size))


def test_interactive_hard_and_soft(our_checkpoint, binarized):
    command = ("fairseq-interactive", binarized, "--user-dir", PACKAGE, "--task", "translation_normalign")
    options = ("--path", our_checkpoint, "-s", "de", "-t", "en", "--beam", 2, "--max-len-b", 10)
    text = "d1 d0@@ e0 d2\n\nd5\n"
    hard = succeed(*command, *options, "--print-alignment", "hard", "--post-process", "subword_nmt", stdin=text)
    assert sorted(lines_of(hard.stdout, "A")) == [0, 1, 2]
    assert lines_of(hard.stdout, "A")[1] == [""]
    soft = succeed(*command, *options, "--print-alignment", "soft", "--post-process", "subword_nmt", stdin=text)
    words = len(lines_of(soft.stdout, "H")[0][0].split("\t")[1].split())
    rows = [row.split("-") for row in lines_of(soft.stdout, "A")[0][0].split()]
    assert [int(target) for target, _ in rows] == list(range(words))
    for _, numbers in rows:
        assert sum(map(float, numbers.split(","))) == pytest.approx(1, abs=1e-5)
        assert len(numbers.split(",")) == 3


@pytest.mark.parametrize(
    "order",
    [
        "import fairseq; again(); import fairseq_normalign",
        "import fairseq_normalign; fairseq_normalign.register(); again(); fairseq_normalign.register()",
    ],
)
def test_registration_in_any_order(order):
    again = f"""
def again():
    from argparse import Namespace
    from fairseq import utils
    utils.import_user_module(Namespace(user_dir={str(PACKAGE)!r}))
"""
    check = """
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks import TASK_REGISTRY
from fairseq import checkpoint_utils
assert "transformer_normalign_big" in ARCH_MODEL_REGISTRY
assert "translation_normalign" in TASK_REGISTRY
assert checkpoint_utils.torch.load.__module__ == "fairseq_normalign.hosts.fairseq.patches"
"""
    script = f"{again}\nfor step in {order.split('; ')!r}: exec(step)\n{check}"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=PACKAGE.parent)


def test_user_dir_prints_the_path():
    assert succeed("normalign", "user-dir").stdout.strip() == str(PACKAGE)


def test_an_installed_wheel_serves_as_user_dir(tmp_path, binarized, our_checkpoint, built_wheel):
    zipfile.ZipFile(built_wheel).extractall(tmp_path / "site")
    result = run(
        *("fairseq-generate", binarized, "--path", our_checkpoint, "--cpu"),
        *("--user-dir", tmp_path / "site" / "fairseq_normalign", "--task", "translation_normalign"),
        *("-s", "de", "-t", "en", "--print-alignment", "hard"),
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert len(lines_of(result.stdout, "A")) == 13


def test_a_users_mistake_is_one_line_and_exit_code_2(our_checkpoint, binarized):
    result = generate(binarized, our_checkpoint, "--print-alignment", "hard", "--normalign-layer", "9")
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == (
        "fairseq_normalign: error: there is no decoder layer 9; the model has 3, counted from 1"
    )
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arch", ["lstm", "fconv_iwslt_de_en", "nonautoregressive_transformer"])
def test_models_that_cannot_be_read_get_a_clear_line(binarized, tmp_path, arch):
    options = ("--user-dir", PACKAGE, "--task", "translation_normalign", "--arch", arch, "--max-tokens", 100)
    result = run("fairseq-train", binarized, *options, "--save-dir", tmp_path, "--optimizer", "adam", "--cpu")
    assert result.returncode == 2
    assert "cannot be read" in result.stderr.splitlines()[-1]

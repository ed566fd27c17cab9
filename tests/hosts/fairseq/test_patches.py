"""Each patch of fairseq is still needed: stock fairseq, in a process of its own, shows the fault that it is for.

A test that fails here says that the fairseq that is installed has mended something: the patch can go.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.fairseq.checkpoints import literal
from fairseq_normalign.hosts.fairseq.patches import PATCHES, register
from tests.conftest import run

register()


NEEDED = {
    "install_safe_loading": (
        "refused",
        """
import argparse, sys, torch
from fairseq import checkpoint_utils
torch.save({"args": argparse.Namespace(arch="transformer"), "model": {}}, sys.argv[1])
try:
    checkpoint_utils.load_checkpoint_to_cpu(sys.argv[1])
except Exception as error:
    print("refused" if "weights_only" in str(error) else error)
""",
    ),
    "replace_eval": (
        "ran",
        """
from fairseq import utils
print("ran" if utils.eval_str_list("[__import__('os').getpid()]") else "")
""",
    ),
    "patch_replace_unk": (
        "taken for a file",
        """
from fairseq import utils
try:
    utils.load_align_dict("@@ ")
except FileNotFoundError:
    print("taken for a file")
""",
    ),
    "patch_checkpoint_errors": (
        "not named",
        """
import sys
from fairseq import checkpoint_utils
open(sys.argv[1], "wb").write(b"damaged")
try:
    checkpoint_utils.load_model_ensemble_and_task([sys.argv[1]])
except Exception as error:
    print("" if sys.argv[1] in str(error) else "not named")
""",
    ),
    "say_whose_alignments": (
        "silent",
        """
import inspect
from fairseq.tasks import FairseqTask
print("silent" if "piece" not in inspect.getsource(FairseqTask.build_generator) else "")
""",
    ),
    "report_errors_in_one_line": (
        "traceback",
        """
import inspect
from fairseq_cli import generate
print("" if "except" in inspect.getsource(generate.cli_main) else "traceback")
""",
    ),
}
"""Patch -> what stock fairseq prints, and the program."""


def test_every_patch_has_a_reason_and_a_test():
    assert {patch.apply.__name__ for patch in PATCHES} == set(NEEDED)
    assert all(patch.reason and patch.versions for patch in PATCHES)


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_stock_fairseq_still_needs_the_patch(name, tmp_path):
    shown, program = NEEDED[name]
    code = f"import sys; sys.argv[1:] = [{str(tmp_path / 'checkpoint.pt')!r}]\n{program}"
    result = run("python", "-c", code)
    assert result.stdout.strip().endswith(shown), f"{result.stdout}\n{result.stderr[-2000:]}"


def test_no_module_of_fairseq_evaluates_code():
    """Also one that is imported after registration: the loader of checkpoints looks again."""
    import importlib

    import fairseq
    from fairseq import checkpoint_utils

    folder = Path(fairseq.__file__).parent
    named = {".".join(path.relative_to(folder.parent).with_suffix("").parts): path for path in folder.rglob("*.py")}
    calling = {name for name, path in named.items() if re.search(r"(?<![.\w])eval\(", path.read_text(encoding="utf-8"))}
    assert {name for name in calling if name in sys.modules} >= {"fairseq.utils", "fairseq.models.fconv"}
    assert not {name for name in calling - set(sys.modules) if not name.startswith("fairseq.examples.")}
    late = importlib.import_module("fairseq.scoring.wer") if "fairseq.scoring.wer" not in sys.modules else None
    with pytest.raises(NormalignError):
        checkpoint_utils.torch.load("no such file")
    for name in [name for name in sys.modules if name.split(".")[0] == "fairseq"]:
        assert sys.modules[name].__dict__.get("eval", literal) is literal, name
    assert late is None or late.__dict__["eval"] is literal
    with pytest.raises(NormalignError, match="is not a literal"):
        fairseq.utils.eval_str_list("[__import__('os').getpid()]")


def test_applying_the_patches_again_changes_nothing():
    from fairseq import checkpoint_utils, utils
    from fairseq.tasks import FairseqTask

    def state():
        return utils.load_align_dict, FairseqTask.build_generator, checkpoint_utils.torch

    before = state()
    register()
    assert state() == before

"""Each patch of fairseq is still needed: stock fairseq, in a process of its own, shows the fault that it is for.

A test that fails here says that the fairseq that is installed has mended something: the patch can go.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.fairseq.patches import PATCHES
from fairseq_normalign.hosts.fairseq.register import register
from tests.warm import warm_python

register()


def stock(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that knows fairseq and not us."""
    return subprocess.run([*warm_python(), "-c", code], capture_output=True, text=True, timeout=300, check=False)


NEEDED = {
    "install_safe_loading": """
import argparse, sys, torch
from fairseq import checkpoint_utils
torch.save({"args": argparse.Namespace(arch="transformer"), "model": {}}, sys.argv[1])
try:
    checkpoint_utils.load_checkpoint_to_cpu(sys.argv[1])
except Exception as error:
    print("refused" if "weights_only" in str(error) else error)
""",
    "replace_eval": """
from fairseq import utils
print("ran" if utils.eval_str_list("[__import__('os').getpid()]") else "")
""",
    "patch_replace_unk": """
from fairseq import utils
try:
    utils.load_align_dict("@@ ")
except FileNotFoundError:
    print("taken for a file")
""",
    "patch_checkpoint_errors": """
import sys
from fairseq import checkpoint_utils
open(sys.argv[1], "wb").write(b"damaged")
try:
    checkpoint_utils.load_model_ensemble_and_task([sys.argv[1]])
except Exception as error:
    print("" if sys.argv[1] in str(error) else "not named")
""",
    "say_whose_alignments": """
import inspect
from fairseq.tasks import FairseqTask
print("silent" if "piece" not in inspect.getsource(FairseqTask.build_generator) else "")
""",
    "show_errors_in_one_line": """
import sys, fairseq
print("no hook" if sys.excepthook is sys.__excepthook__ else "")
""",
}
SHOWN = {
    "install_safe_loading": "refused",
    "replace_eval": "ran",
    "patch_replace_unk": "taken for a file",
    "patch_checkpoint_errors": "not named",
    "say_whose_alignments": "silent",
    "show_errors_in_one_line": "no hook",
}


def test_every_patch_has_a_reason_and_a_test():
    assert {patch.apply.__name__ for patch in PATCHES} == set(NEEDED) == set(SHOWN)
    assert all(patch.reason and patch.versions for patch in PATCHES)


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_stock_fairseq_still_needs_the_patch(name, tmp_path):
    code = f"import sys; sys.argv[1:] = [{str(tmp_path / 'checkpoint.pt')!r}]\n{NEEDED[name]}"
    result = stock(code)
    assert result.stdout.strip().endswith(SHOWN[name]), f"{result.stdout}\n{result.stderr[-2000:]}"


def test_modules_that_are_imported_later_have_no_eval(tmp_path, monkeypatch):
    import importlib

    import fairseq

    (tmp_path / "imported_later.py").write_text("def run(text):\n    return eval(text)\n")
    monkeypatch.setattr(fairseq, "__path__", [*fairseq.__path__, str(tmp_path)])
    module = importlib.import_module("fairseq.imported_later")
    try:
        assert module.run("[1, 2] * 2") == [1, 2, 1, 2]
        with pytest.raises(NormalignError, match="is not a literal"):
            module.run("__import__('os').getpid()")
    finally:
        sys.modules.pop("fairseq.imported_later", None)


def test_applying_the_patches_again_changes_nothing():
    from fairseq import utils
    from fairseq.tasks import FairseqTask

    before = utils.load_align_dict, FairseqTask.build_generator, len(sys.meta_path), sys.excepthook
    register()
    assert before == (utils.load_align_dict, FairseqTask.build_generator, len(sys.meta_path), sys.excepthook)

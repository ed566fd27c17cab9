"""What a process that embeds us keeps: its own hooks, exit handlers, warnings and logging."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.tiny_pair import make_tiny_pair

SNAPSHOT = """
import atexit, json, logging, signal, sys, threading, warnings
handlers = []
register = atexit.register
atexit.register = lambda function, *rest, **options: handlers.append(
    function.__module__ or ""
) or register(function, *rest, **options)

def ours(names):
    return [name for name in names if name.partition(".")[0] == "fairseq_normalign"]

def snapshot():
    return {
        "excepthook": repr(sys.excepthook),
        "threading.excepthook": repr(threading.excepthook),
        "unraisablehook": repr(sys.unraisablehook),
        "meta_path": ours((one if isinstance(one, type) else type(one)).__module__ for one in sys.meta_path),
        "signals": repr([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]),
        "at exit": ours(handlers),
        "logging": [logging.root.level, len(logging.root.handlers), logging.root.manager.disable],
    }

steps = [snapshot()]
import fairseq_normalign
steps.append(snapshot())
model = fairseq_normalign.load(sys.argv[1], **json.loads(sys.argv[2]))
steps.append(snapshot())
model.align("w1 w2 w3", "w2 w1")
steps.append(snapshot())
print(json.dumps(steps))
raise KeyError("an error of the program itself")
"""


@pytest.mark.parametrize("host", ["fairseq", "transformers"])
def test_import_load_and_align_leave_the_process_as_it_was(host, tmp_path):
    if host == "fairseq":
        folder = make_tiny_pair(tmp_path).folder
        path, options = folder / "de-en.pt", {"data": str(folder)}
    else:
        pytest.importorskip("transformers")
        from tests.hosts.transformers.folders import marian

        marian(tmp_path)
        path, options = tmp_path, {}
    command = [sys.executable, "-c", SNAPSHOT, str(path), json.dumps(options)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert result.stdout, result.stderr[-2000:]
    before, *after = json.loads(result.stdout.splitlines()[-1])
    assert after == [before] * 3
    assert result.returncode == 1
    assert result.stderr.rstrip().endswith("KeyError: 'an error of the program itself'")


def test_an_error_of_ours_keeps_its_traceback_in_a_program_of_ones_own(tmp_path):
    code = "import fairseq, fairseq_normalign; fairseq_normalign.register(); fairseq_normalign.load('nowhere.pt')"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert result.returncode == 1
    assert "Traceback" in result.stderr
    assert result.stderr.rstrip().endswith("NormalignError: nowhere.pt: no such checkpoint")


def test_what_fairseq_imports_later_is_the_real_package():
    """fairseq gets stand-ins for packages of statistics while it is imported; a program that imports them does not."""
    program = """
import sys
import fairseq_normalign.hosts.fairseq
assert not [name for name, module in sys.modules.items() if type(module).__name__ == "_Later"]
from fairseq.criterions.sentence_prediction import simple_accuracy, acc_and_f1
import numpy as np
print(acc_and_f1(np.array([1, 0, 1]), np.array([1, 1, 1]))["f1"])  # by the real package, imported now
import scipy.stats, sklearn.metrics
print(scipy.stats.pearsonr([1, 2, 3], [1, 2, 4]).statistic > 0.9, bool(sklearn.metrics.__file__))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0.8", "True", "True"]

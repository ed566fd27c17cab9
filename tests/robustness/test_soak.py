"""Long runs in one process: flat memory, nothing left behind in a model."""

from __future__ import annotations

import time

import pytest
import torch

from .soak import hooks_of, report, soak

FLAT_MB = 20


def test_a_short_soak(tmp_path):
    seen = soak(4, tmp_path, clock=time.process_time, looks=2)
    print(report(seen))
    assert seen.rounds >= 1  # how many fit into the time depends on the machine
    assert seen.hooks_left == 0
    assert seen.changed_outputs == 0


@pytest.mark.slow
def test_two_minutes_of_cpu(tmp_path, capsys):
    seen = soak(120, tmp_path, clock=time.process_time)
    with capsys.disabled():
        print("\n" + report(seen))
    assert seen.hooks_left == 0
    assert seen.changed_outputs == 0
    assert seen.growth() < FLAT_MB


def test_hooks_are_counted():
    model = torch.nn.Sequential(torch.nn.Linear(1, 1))
    assert hooks_of(model) == 0
    model[0].register_forward_hook(lambda *_: None)
    model.forward = model.forward
    assert hooks_of(model) == 2

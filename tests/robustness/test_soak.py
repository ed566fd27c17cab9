"""A long run in one process: flat memory, no hook left in a model, its outputs the same to the last bit."""

from __future__ import annotations

import gc
import resource
import time
from pathlib import Path

import pytest
import torch

from fairseq_normalign import load
from fairseq_normalign.methods import METHODS
from tests.cli.tiny_pair import make_tiny_pair

SENTENCES = [("w1 w2 w3", "w3 w1"), ("w4", "w5@@ w6 w7"), ("w1 w9 w8 w3 w2", "w2 w2 w3 w9"), ("w21 w22", "w23")]
FLAT_MB = 20


def memory_in_use() -> float:
    """MB of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def hooks_of(module: torch.nn.Module) -> int:
    """Hooks, and functions put in the place of a module's own."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks")
    count = sum(len(getattr(part, kind)) for part in module.modules() for kind in kinds)
    return count + sum("forward" in vars(part) for part in module.modules())


def state_of(model) -> tuple[torch.Tensor, int]:
    """What the model itself computes, without us, and its hooks."""
    module = model.aligner.forward.models[0].module
    source, target = torch.tensor([[5, 6, 7, 8, 2], [1, 1, 9, 10, 2]]), torch.tensor([[2, 9, 10, 11], [2, 6, 7, 1]])
    with torch.no_grad():
        return module(source, torch.tensor([5, 3]), target)[0].clone(), hooks_of(module)


def assert_unchanged(model, before: tuple[torch.Tensor, int]) -> None:
    output, hooks = state_of(model)
    assert torch.equal(output, before[0])
    assert hooks == before[1]


@pytest.mark.parametrize("seconds", [4, pytest.param(120, marks=pytest.mark.slow)])
def test_models_that_are_loaded_and_read_over_and_over(tmp_path, seconds):
    """Three models stay, by each method in turn a fourth is loaded, read and let go. The seconds are of CPU."""
    pair = make_tiny_pair(tmp_path)
    kept = [("de-en", "norms"), ("de-en", "weights"), ("en-de", "norms")]
    models = [load(pair.path(direction), data=pair.folder, method=method) for direction, method in kept]
    before = [state_of(model) for model in models]
    started, rounds, warm = time.process_time(), 0, 0.0
    while rounds == 0 or time.process_time() - started < seconds:
        for model in models:
            for source, target in SENTENCES:
                model.align(source, target)
            model.translate(SENTENCES[rounds % len(SENTENCES)][0], beam=3, nbest=2)
        method = sorted(METHODS)[rounds % len(METHODS)]
        passing = load(pair.path(("de-en", "en-de")[rounds % 2]), data=pair.folder, method=method)
        sound = state_of(passing)
        for source, target in SENTENCES[:2]:
            passing.align(source, target)
        assert_unchanged(passing, sound)
        rounds += 1
        if not warm and time.process_time() - started > 0.2 * seconds:
            warm = memory_in_use()  # caches have filled by now
    for model, state in zip(models, before, strict=True):
        assert_unchanged(model, state)
    assert seconds < 60 or memory_in_use() - warm < FLAT_MB


def test_hooks_are_counted():
    model = torch.nn.Sequential(torch.nn.Linear(1, 1))
    assert hooks_of(model) == 0
    model[0].register_forward_hook(lambda *_: None)
    model.forward = model.forward
    assert hooks_of(model) == 2

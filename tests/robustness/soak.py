"""A long run in one process: ``python -m tests.robustness.soak --minutes 15``.

Several models are loaded, aligned with, generated with, instrumented by every method and let go, over and over. Memory
must stay flat, no hook may stay behind, and a model that was read must compute what it computed before, to the last bit
and as quickly.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from fairseq_normalign.interface import AlignmentModel, load
from fairseq_normalign.methods import METHODS
from tests.cli.tiny_pair import TinyPair, make_tiny_pair

SENTENCES = [("w1 w2 w3", "w3 w1"), ("w4", "w5@@ w6 w7"), ("w1 w9 w8 w3 w2", "w2 w2 w3 w9"), ("w21 w22", "w23")]
WARM_UP = 0.2
"""Share of the time after which memory is first looked at: caches have filled by then."""


@dataclass
class Soak:
    """What was seen."""

    rounds: int = 0
    alignments: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)
    """(minutes, MB in use) at several moments."""
    hooks_left: int = 0
    changed_outputs: int = 0
    speed: tuple[float, float] = (0.0, 0.0)
    """Forward passes a second of a model before it was ever read, and of the same model at the end."""

    def growth(self) -> float:
        """MB from the first look after warming up to the last."""
        late = [used for _, used in self.memory]
        return late[-1] - late[0] if late else 0.0


def memory_in_use() -> float:
    """MB of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def hooks_of(model: torch.nn.Module) -> int:
    """Hooks, and functions put in the place of a module's own."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks")
    count = sum(len(getattr(module, kind)) for module in model.modules() for kind in kinds)
    return count + sum("forward" in vars(module) for module in model.modules())


def plain_output(model: torch.nn.Module) -> torch.Tensor:
    """What the model itself computes, without us."""
    source = torch.tensor([[5, 6, 7, 8, 2], [1, 1, 9, 10, 2]])
    target = torch.tensor([[2, 9, 10, 11], [2, 6, 7, 1]])
    with torch.no_grad():
        return model(source, torch.tensor([5, 3]), target)[0].clone()


def passes_a_second(model: torch.nn.Module, seconds: float = 0.5) -> float:
    count, started = 0, time.process_time()
    while time.process_time() - started < seconds:
        plain_output(model)
        count += 1
    return count / (time.process_time() - started)


def module_of(model: AlignmentModel) -> Any:
    """The torch module behind a loaded model."""
    return model.aligner.forward.models[0].module


def one_round(models: list[AlignmentModel], pair: TinyPair, number: int, seen: Soak) -> None:
    """Every model aligns and translates; one more is loaded, read by every method, and let go."""
    for model in models:
        for source, target in SENTENCES:
            model.align(source, target)
            seen.alignments += 1
        model.translate(SENTENCES[number % len(SENTENCES)][0], beam=3, nbest=2)
    method = sorted(METHODS)[number % len(METHODS)]
    passing = load(pair.path(("de-en", "en-de")[number % 2]), data=pair.folder, method=method)
    before = plain_output(module_of(passing))
    hooks = hooks_of(module_of(passing))
    for source, target in SENTENCES[:2]:
        passing.align(source, target)
        seen.alignments += 1
    seen.hooks_left += hooks_of(module_of(passing)) - hooks
    seen.changed_outputs += not torch.equal(before, plain_output(module_of(passing)))
    seen.rounds += 1


def soak(seconds: float, folder: Path, *, clock: Callable[[], float] = time.monotonic, looks: int = 10) -> Soak:
    """So many seconds by ``clock``."""
    pair = make_tiny_pair(folder)
    methods = ("norms", "weights", "norms")
    directions = ("de-en", "de-en", "en-de")
    models = [
        load(pair.path(direction), data=pair.folder, method=method)
        for direction, method in zip(directions, methods, strict=True)
    ]
    seen = Soak()
    plain: list[Any] = [module_of(model) for model in models]
    outputs = [plain_output(model) for model in plain]
    hooks = [hooks_of(model) for model in plain]
    speed = passes_a_second(plain[0])
    started, next_look = clock(), WARM_UP * seconds
    while clock() - started < seconds:
        one_round(models, pair, seen.rounds, seen)
        if clock() - started >= next_look:
            seen.memory.append(((clock() - started) / 60, memory_in_use()))
            next_look += (1 - WARM_UP) * seconds / looks
    seen.memory.append(((clock() - started) / 60, memory_in_use()))
    for model, output, count in zip(plain, outputs, hooks, strict=True):
        seen.changed_outputs += not torch.equal(output, plain_output(model))
        seen.hooks_left += hooks_of(model) - count
    seen.speed = speed, passes_a_second(plain[0])
    return seen


def report(seen: Soak) -> str:
    rows = [f"{seen.rounds} rounds, {seen.alignments} alignments by {len(METHODS)} methods, four models at a time"]
    rows += [f"{minutes:>8.1f} min {used:>9.1f} MB" for minutes, used in seen.memory]
    rows.append(f"growth {seen.growth():+.1f} MB; hooks left {seen.hooks_left}; outputs changed {seen.changed_outputs}")
    rows.append(f"plain passes a second: {seen.speed[0]:.0f} before, {seen.speed[1]:.0f} after")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--cpu-time", action="store_true", help="count minutes of CPU, not of the clock")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        clock = time.process_time if args.cpu_time else time.monotonic
        seen = soak(60 * args.minutes, Path(place), clock=clock)
    print(report(seen))
    return int(seen.hooks_left != 0 or seen.changed_outputs != 0 or seen.growth() > 20)


if __name__ == "__main__":
    sys.exit(main())

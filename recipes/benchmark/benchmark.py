"""Measures what alignments cost and writes one table of ratios, JSON and a figure. See README.md beside this file."""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import corpora
from drawing import AT_ONCE, draw
from made_up import Size, make_checkpoint
from measuring import alone

WMT = Size()


@dataclass(frozen=True)
class Row:
    """One ratio. ``limit`` is what it must not pass: '<= 0.5', '>= 10', or nothing."""

    what: str
    ratio: float
    limit: str = ""

    @property
    def holds(self) -> bool | None:
        if not self.limit:
            return None
        sign, bound = self.limit.split()
        return self.ratio <= float(bound) if sign == "<=" else self.ratio >= float(bound)


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    repetitions: int = 7
    pairs: int = 16
    method_pairs: int = 4
    process_pairs: int = 6144
    process_size: Size = field(default_factory=lambda: Size(channels=256, inner=1024, heads=4, layers=3, words=8192))
    lengths: tuple[int, ...] = (10, 20, 40, 80, 160)
    widths: tuple[int, ...] = (256, 512, 1024)
    files: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    scored: int = 1_000_000
    projected: int = 50_000
    aligned: int = 20_000


QUICK = Plan(
    3, 8, 2, 3072, lengths=(10, 20, 40, 80), widths=(256, 512), files=(5_000, 50_000), scored=100_000, aligned=2_000
)


def passes(plan: Plan, checkpoint: Path, results: dict[str, Any]) -> Iterator[Row]:
    """Forced passes against a plain one."""
    ways = ["plain", "low", "two_looks", "every", "heads"]
    seconds = alone("passes", "seconds", checkpoint, ways, plan.pairs, 30, plan.repetitions)
    memory = {way: alone("passes", "megabytes", checkpoint, way, plan.pairs, 30) for way in ways[:4]}
    results["passes"] = {"cpu_seconds": seconds, "megabytes": memory}
    yield Row("forced alignment at layer 2 of 6 / plain forward pass with softmax", _of(seconds, "low"), "<= 0.5")
    yield Row("all 6 layers, norms and weights / plain forward pass", _of(seconds, "every"), "<= 0.8")
    yield Row("all 6 layers and all heads, norms and weights / plain forward pass", _of(seconds, "heads"))
    yield Row("two looks, layers 2 and 6 of 6 in one pass / one look at layer 2", seconds["two_looks"] / seconds["low"])
    yield Row("peak memory, two looks / one look", memory["two_looks"] / memory["low"], "<= 1.2")
    yield Row("peak memory, layer 2 / plain forward pass", _of(memory, "low"), "<= 1.2")
    yield Row("peak memory, all layers / plain forward pass", _of(memory, "every"), "<= 1.2")


def library(plan: Plan, results: dict[str, Any]) -> Iterator[Row]:
    """The same for a model of Hugging Face transformers, where the library is installed."""
    if importlib.util.find_spec("transformers") is None:
        return
    seconds = alone("transformers_passes", "seconds", plan.pairs, 30, plan.repetitions)
    results["transformers"] = {"cpu_seconds": seconds}
    yield Row("transformers: norms at layer 2 of 6 / plain forward pass with softmax", _of(seconds, "low"), "<= 0.6")
    yield Row("transformers: all layers and heads, norms and weights / plain forward pass", _of(seconds, "every"))
    low, asked = seconds["low"], seconds["asked"]
    yield Row("transformers: norms at layer 2 of 6 / output_attentions=True of all layers", low / asked)


def formulas(plan: Plan, checkpoint: Path, results: dict[str, Any]) -> Iterator[Row]:
    """The slow formula for norms against ours, alone and end to end."""
    shape = (8, 8, 64, 512)
    seconds = alone("passes", "seconds_of_norms", plan.repetitions, *shape)
    memory = {way: alone("passes", "megabytes_of_norms", way, 8, 8, 60, 512) for way in ("slow", "fast")}
    whole = alone("passes", "seconds", checkpoint, ["low", "heads", "slow"], 8, 60, plan.repetitions)
    results["formulas"] = {"cpu_seconds": seconds, "megabytes": memory, "end_to_end_cpu_seconds": whole}
    yield Row("norms alone at B=8, H=8, T=S=64, C=512: slow formula / ours", seconds["slow"] / seconds["fast"], ">= 50")
    yield Row("memory for the norms at T=S=60: slow formula / ours", memory["slow"] / memory["fast"], ">= 20")
    yield Row("T=S=60: whole pass, slow formula at all layers / ours at layer 2", whole["slow"] / whole["low"], ">= 10")
    yield Row("T=S=60: whole pass, slow formula at all layers / ours at all", whole["slow"] / whole["heads"])


def methods(plan: Plan, checkpoint: Path, results: dict[str, Any]) -> None:
    """Every method, as it is read by default, on a few sentences: some run the model hundreds of times."""
    seconds = alone("passes", "seconds_of_methods", checkpoint, plan.method_pairs, 20, plan.repetitions)
    ratios = {name: _of(seconds, name) for name in sorted(seconds, key=seconds.__getitem__) if name != "plain"}
    results["methods"] = {"cpu_seconds": seconds, "of_a_plain_pass": ratios}


def generation(plan: Plan, checkpoint: Path, results: dict[str, Any]) -> Iterator[Row]:
    """Beam search with alignments against without."""
    seconds = alone("generation", "seconds", checkpoint, plan.pairs // 2, 25, plan.repetitions)
    results["generation"] = {"cpu_seconds": seconds}
    yield Row(
        "fairseq-generate, beam 5: with norms / without alignments", seconds["norms"] / seconds["none"], "<= 1.05"
    )
    yield Row("fairseq-generate, beam 5: stock --print-alignment / without", seconds["stock"] / seconds["none"])


def training(plan: Plan, results: dict[str, Any]) -> Iterator[Row]:
    """An update of a small model by both criteria."""
    seconds = alone("training", "seconds", 100, 26, plan.repetitions)
    results["training"] = {"cpu_seconds": seconds}
    whole, chunked, model = (seconds[way] for way in ("whole", "chunked", "model"))
    yield Row("training 3+3 layers on a CPU: fairseq's cross entropy / in chunks", whole / chunked)
    yield Row("the loss alone: fairseq's cross entropy / in chunks", (whole - model) / (chunked - model))


def files(plan: Plan, folder: Path, results: dict[str, Any]) -> Iterator[Row]:
    """Processes, growing files, scoring."""
    checkpoint = make_checkpoint(folder / "middling", plan.process_size)
    shared = corpora.processes(folder, checkpoint, plan.process_size, plan.process_pairs, 1 + plan.repetitions // 4)
    results["processes"] = shared
    if not shared["same_bytes"]:
        raise SystemExit("one process and two wrote different files")
    yield Row("normalign align: one process / two processes", shared["speedup"], ">= 1.8")
    speeds = results["pairs_per_cpu_second"] = corpora.throughput(folder, plan.process_size, plan.aligned)
    one, two = speeds["one look, one direction"], speeds["two looks, one direction"]
    yield Row("normalign align, 3 layers: CPU seconds of two looks / of one look", one / two, "<= 1.8")
    grown = results["growing_file"] = corpora.growing_file(folder, list(plan.files))
    growth = grown[-1]["megabytes"] / grown[0]["megabytes"]
    yield Row(f"peak memory: {plan.files[-1]:,} short pairs / {plan.files[0]:,}", growth, "<= 1.05")
    scored = results["scoring"] = alone("scoring", "measure", plan.scored)
    yield Row("scoring: loop over Python sets / normalign score", scored["times_faster"], ">= 5")
    projected = results["projecting"] = alone("projecting", "measure", plan.projected)
    yield Row("marked lines projected in a CPU second / 10,000", projected["lines_per_second"] / 10_000, ">= 1")


def growth(plan: Plan, folder: Path, results: dict[str, Any]) -> None:
    """How cost grows with sentence length and model width."""
    wmt = folder / "wmt" / "checkpoint.pt"
    ways = ["plain", "low", "heads", "slow"]
    repetitions = max(1, plan.repetitions // 2)
    results["by_length"] = [
        {"length": length, **alone("passes", "seconds", wmt, ways, AT_ONCE, length, repetitions)}
        for length in plan.lengths
    ]
    results["by_width"] = []
    for width in plan.widths:
        size = Size(width, 4 * width, width // 64, WMT.layers, WMT.words)
        checkpoint = wmt if size == WMT else make_checkpoint(folder / f"width{width}", size)
        seconds = alone("passes", "seconds", checkpoint, ways, AT_ONCE, 30, repetitions)
        results["by_width"].append({"width": width, **seconds})


def _of(found: dict[str, float], way: str) -> float:
    return found[way] / found["plain"]


def table(rows: list[Row]) -> str:
    width = max(len(row.what) for row in rows)
    marks = {None: "", True: "holds", False: "FAILS"}
    lines = [f"{row.what:<{width}}  {row.ratio:8.3f}  {row.limit:>8}  {marks[row.holds]}".rstrip() for row in rows]
    return "\n".join(lines)


def methods_table(ratios: dict[str, float]) -> str:
    width = max(map(len, ratios))
    lines = [f"{name:<{width}}  {ratio:7.1f}" for name, ratio in ratios.items()]
    return "\n".join(["cost of each method, x a plain forward pass", "", *lines])


def speed_table(speeds: dict[str, float]) -> str:
    width = max(map(len, speeds))
    lines = [f"{name:<{width}}  {speed:8.1f}" for name, speed in speeds.items()]
    return "\n".join(["pairs per CPU second of whole files, loading and learning included", "", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and sizes: a few minutes")
    parser.add_argument("--output", type=Path, default=Path("benchmark"), help="folder for results (benchmark)")
    args = parser.parse_args()
    plan = QUICK if args.quick else Plan()
    args.output.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"quick": args.quick, "python": platform.python_version(), "plan": asdict(plan)}
    rows: list[Row] = []
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkpoint = make_checkpoint(folder / "wmt", WMT)
        steps = (
            passes(plan, checkpoint, results),
            library(plan, results),
            formulas(plan, checkpoint, results),
            training(plan, results),
        )
        for step in (*steps, generation(plan, checkpoint, results), files(plan, folder, results)):
            for row in step:
                rows.append(row)
                print(
                    f"[{time.perf_counter() - begun:5.0f} s] {row.what}: {row.ratio:.3f}", file=sys.stderr, flush=True
                )
        methods(plan, checkpoint, results)
        growth(plan, folder, results)
    results["ratios"] = [{**asdict(row), "holds": row.holds} for row in rows]
    (args.output / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    parts = table(rows), speed_table(results["pairs_per_cpu_second"])
    tables = "\n\n".join([*parts, methods_table(results["methods"]["of_a_plain_pass"])]) + "\n"
    (args.output / "table.txt").write_text(tables, encoding="utf-8")
    draw(results, args.output / "growth.png")
    print(tables, end="")
    print(f"\nall of it in {args.output}/: table.txt, results.json, growth.png")


if __name__ == "__main__":
    main()

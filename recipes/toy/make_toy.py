"""Turns the demo's models and text into the files of the toy: small, and without the paths of this machine."""

from __future__ import annotations

import argparse
import shutil
from argparse import Namespace
from collections import Counter
from pathlib import Path

import torch

import fairseq_normalign
from fairseq_normalign.hosts.fairseq.checkpoints import safe_load

LANGUAGES = "de", "en"
EXAMPLES = 100
FAMILIAR = 5
"""A word is familiar when the training text has it so many times."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="work folder of the demo")
    parser.add_argument("--out", type=Path, required=True, help="folder of the toy")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    fairseq_normalign.register()
    for direction in ("de-en", "en-de"):
        shrink(args.work / "models" / direction / "checkpoint_best.pt", args.out / f"{direction}.pt")
    shutil.copy(args.work / "pieces" / "codes", args.out / "codes")
    for language in LANGUAGES:
        shutil.copy(args.work / "binary" / f"dict.{language}.txt", args.out)
        first_lines(args.work / "raw" / f"test.{language}", args.out / f"text.{language}")
        write_familiar(args.work / "tokenized" / f"train.{language}", args.out / f"words.{language}")
    first_lines(args.work / "raw" / "test.talp", args.out / "gold.talp")


def shrink(checkpoint: Path, out: Path) -> None:
    """Keep the parameters, as float16, and the arguments, as those of fairseq's stock Transformer and task."""
    state = safe_load(str(checkpoint))
    history = {"criterion_name": "", "optimizer_name": "", "lr_scheduler_state": {}, "num_updates": 0}
    slim = {"args": stock_arguments(state["cfg"]["model"]), "model": halved(state["model"])}
    torch.save({**slim, "optimizer_history": [history], "extra_state": {}}, out)


def stock_arguments(trained: Namespace) -> Namespace:
    """Leave out our own arguments and every path."""
    kept = {name: value for name, value in vars(trained).items() if not name.startswith("normalign_")}
    kept = {name: value for name, value in kept.items() if not (isinstance(value, str) and "/" in value)}
    return Namespace(**{**kept, "arch": "transformer", "_name": "transformer", "task": "translation", "data": ""})


def halved(parameters: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the parameters as float16; those that share memory go on sharing it."""
    made: dict[int, torch.Tensor] = {}
    for value in parameters.values():
        made.setdefault(value.data_ptr(), value.half() if value.is_floating_point() else value)
    return {name: made[value.data_ptr()] for name, value in parameters.items()}


def first_lines(source: Path, out: Path) -> None:
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    out.write_text("".join(lines[:EXAMPLES]), encoding="utf-8")


def write_familiar(text: Path, out: Path) -> None:
    counts = Counter(text.read_text(encoding="utf-8").split())
    familiar = sorted(word for word, count in counts.items() if count >= FAMILIAR)
    out.write_text("".join(f"{word}\n" for word in familiar), encoding="utf-8")


if __name__ == "__main__":
    main()

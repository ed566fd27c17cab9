"""Complete `align` commands of this version and an older one in turns: CPU seconds, memory, links that differ.

    python recipes/benchmark/versions.py --older CHECKOUT --path de-en.pt --reverse-path en-de.pt \\
        --source text.de --target text.en --bpe-codes codes

``--older`` is a folder with another version of this repository. Without models, both versions align random words by
random models of the size of OPUS-MT. Each command is run ``--turns`` times, the versions taking turns; the least CPU
time of each counts, as other work on the machine only adds to it. eflomal aligns the same text where it is installed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from made_up import Size, make_checkpoint, write_text
from measuring import alone, run

HERE = Path(__file__).resolve().parents[2]
DIRECTIONS = {"both directions, two looks": [], "one direction, one reading": ["--layer", "1"]}
PRECISIONS = ("auto", "float32", "bfloat16", "int8")
LARGE = 2048


def passes(
    path: str, source: str, target: str, codes: str, precision: str, pairs: int, options: dict[str, Any]
) -> dict[str, float]:
    """Billions of operations a second in forced passes by two looks, and in the best large product; padding."""
    import torch

    from fairseq_normalign.align.aligner import Setup
    from fairseq_normalign.align.options import LoadOptions
    from fairseq_normalign.files import read_parallel
    from fairseq_normalign.hosts.precision import in_bfloat16, in_float32, in_int8

    torch.set_num_threads(1)
    given = LoadOptions(path, bpe_codes=(codes,) if codes else (), precision=precision, device="cpu", **options)
    model = Setup(given).load().forward
    text = list(islice(read_parallel(source, target), pairs))
    encoded = [pair for pair in model.encode(text) if not isinstance(pair, str)]
    operations = [0.0]

    def count(layer: torch.nn.Linear, args: tuple[torch.Tensor], output: torch.Tensor) -> None:
        operations[0] += 2 * output.numel() * layer.in_features

    batches = [batch for _, batch in model.batches(encoded, lambda batch: batch)]
    model.reader.read(batches[0], model.expert.places)  # packs the weights
    handles = [
        layer.register_forward_hook(count)
        for layer in model.models[0].module.modules()  # type: ignore[attr-defined]
        if isinstance(layer, torch.nn.Linear)
    ]
    for batch in batches:
        model.reader.read(batch, model.expert.places)
    for handle in handles:
        handle.remove()
    before = time.process_time()
    for batch in batches:
        model.reader.read(batch, model.expert.places)
    seconds = time.process_time() - before

    best, matrix, layer = float("inf"), torch.rand(LARGE, LARGE), torch.nn.Linear(LARGE, LARGE).requires_grad_(False)
    packed = {"bfloat16": in_bfloat16, "int8": in_int8}.get(precision, in_float32)(layer)
    for product in (layer.forward, packed):
        for _ in range(3):
            before = time.process_time()
            product(matrix)
            best = min(best, time.process_time() - before)
    real = sum(len(one) + len(other) + 1 for one, other in encoded)
    made = sum(batch.source_tokens.numel() + batch.decoder_input().numel() for batch in batches)
    return {
        "pass": operations[0] / seconds / 1e9,
        "product": 2 * LARGE**3 / best / 1e9,
        "padding": 1 - real / made,
    }


def differing(one: Path, other: Path) -> tuple[int, int]:
    """How many links two files have, on average, and how many are in one of them only, counted on the longer side."""
    links = differ = 0
    with open(one, encoding="utf-8") as first, open(other, encoding="utf-8") as second:
        for left, right in zip(first, second, strict=True):
            ours, theirs = set(left.split()), set(right.split())
            links += len(ours)
            differ += max(len(ours - theirs), len(theirs - ours))
    return links, differ


def commands(args: argparse.Namespace, folder: Path) -> dict[str, list[str]]:
    """What each version runs, by its name."""
    given = ["--path", args.path, "--source", args.source, "--target", args.target, "--cpu", "--threads", "1"]
    given += ["--bpe-codes", args.bpe_codes, "--tokenizer", "moses", "--lowercase"] if args.bpe_codes else []
    ways = {name: ["align", *given, *options] for name, options in DIRECTIONS.items()}
    if args.reverse_path:
        ways["both directions, two looks"] += ["--reverse-path", args.reverse_path]
    return ways


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("older", "path", "reverse-path", "source", "target", "bpe-codes"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--pairs", type=int, default=20_000, help="the first pairs of the text")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--precisions", nargs="+", default=["auto"], choices=PRECISIONS)
    parser.add_argument("--json", type=Path, help="all figures")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.path is None:
            args.path = str(make_checkpoint(folder / "there", Size()))
            args.reverse_path = str(make_checkpoint(folder / "back", Size(), turned=True))
            args.source, args.target = map(str, write_text(folder, "text", args.pairs, 15, 35, Size().words))
        for side in ("source", "target"):
            with open(getattr(args, side), encoding="utf-8") as text:
                (folder / f"{side}.txt").write_text("".join(islice(text, args.pairs)), encoding="utf-8")
            setattr(args, side, str(folder / f"{side}.txt"))
        found = measured(args, folder)
    print(table(found))
    if args.json:
        args.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def measured(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """CPU seconds and megabytes of every command, links that differ from the first version's, speed of the passes."""
    versions = {"older": (Path(args.older), [])} if args.older else {}
    versions |= {f"this, {one}": (HERE, ["--precision", one]) for one in args.precisions}
    rows: list[dict[str, Any]] = []
    for way, command in commands(args, folder).items():
        best: dict[str, dict[str, float]] = {}
        for _ in range(args.turns):
            for version, (checkout, options) in versions.items():
                out = folder / f"{version}.links"
                took = run([*command, *options, "-o", str(out)], checkout=checkout)
                best[version] = min(best.get(version, took), took, key=lambda one: one["cpu"])
        first = next(iter(versions))
        for version, took in best.items():
            links, differ = differing(folder / f"{first}.links", folder / f"{version}.links")
            ratio = took["cpu"] / best[first]["cpu"]
            rows.append(
                {"command": way, "version": version, **took, "of the first": ratio, "links": links, "differ": differ}
            )
    if shutil.which("eflomal-align"):
        given = ["--source", args.source, "--target", args.target, "-o", str(folder / "eflomal")]
        rows.append({"command": "eflomal", "version": "", **run(["baseline", "eflomal", *given])})
    options = {"tokenizer": "moses", "lowercase": True} if args.bpe_codes else {}
    codes = args.bpe_codes or ""
    speeds = {
        one: alone("versions", "passes", args.path, args.source, args.target, codes, one, 1024, options)
        for one in args.precisions
    }
    return {"pairs": args.pairs, "commands": rows, "passes": speeds}


def table(found: dict[str, Any]) -> str:
    """Everything as text."""
    lines = [f"{'command':<28}{'version':<16}{'CPU s':>8}{'ratio':>7}{'MB':>7}{'links':>9}{'differ':>8}"]
    for row in found["commands"]:
        line = f"{row['command']:<28}{row['version']:<16}{row['cpu']:8.1f}"
        if "links" in row:
            line += f"{row['of the first']:7.2f}{row['megabytes']:7.0f}{row['links']:9,}{row['differ']:8,}"
        lines.append(line)
    for precision, one in found["passes"].items():
        lines.append(
            f"forced pass, {precision}: {one['pass']:.0f} GF/s, {one['pass'] / one['product']:.0%} of a large product "
            f"({one['product']:.0f}); padding {one['padding']:.1%}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()

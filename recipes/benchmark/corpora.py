"""What a whole file costs: one process against two, and time and memory as the file grows."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path

from made_up import TINY, Size, make_checkpoint, write_text
from measuring import run


def _command(checkpoint: Path, texts: tuple[Path, Path], output: Path) -> list[str]:
    paths = ["--path", checkpoint, "--source", texts[0], "--target", texts[1], "-o", output]
    return ["align", *map(str, paths), "--cpu", "--threads", "1"]


def processes(folder: Path, checkpoint: Path, size: Size, pairs: int, repetitions: int) -> dict[str, float | bool]:
    """Seconds that one and two processes take for a file, without the seconds they take to start."""
    texts = write_text(folder, "processes", pairs, 15, 35, size.words)
    nothing = write_text(folder, "nothing", 1, 2, 2, size.words)
    outputs = {count: folder / f"processes.{count}" for count in (1, 2)}
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repetitions):
        for count, output in outputs.items():
            start = run(_command(checkpoint, nothing, folder / "nothing.links"), count)["wall"]
            seconds[count].append(run(_command(checkpoint, texts, output), count)["wall"] - start)
    one, two = (min(values) for values in seconds.values())
    same = filecmp.cmp(outputs[1], outputs[2], shallow=False)
    return {"one": one, "two": two, "speedup": one / two, "same_bytes": same}


def growing_file(folder: Path, sizes: list[int]) -> list[dict[str, float]]:
    """CPU seconds and peak megabytes for files of short pairs, by a tiny model."""
    checkpoint = make_checkpoint(folder / "tiny", TINY)
    rows = []
    for pairs in sizes:
        texts = write_text(folder, f"short.{pairs}", pairs, 3, 9, TINY.words)
        found = run(_command(checkpoint, texts, folder / f"short.{pairs}.links"))
        rows.append({"pairs": pairs, "cpu_seconds": found["cpu"], "megabytes": found["megabytes"]})
    return rows


ONE_LOOK = ["--layer", "1"]
TWO_LOOKS = ["--readings", "default"]
PROGRAMS = {"eflomal": "eflomal", "fast_align": "fast_align"}
"""Other aligners, and the program that shows whether each is installed."""


def throughput(folder: Path, size: Size, pairs: int) -> dict[str, float]:
    """Pairs per CPU second of a whole file, starting and loading included: ours, and other aligners that are installed.

    Those learn from the very text they align; their learning counts.
    """
    forward = make_checkpoint(folder / "there", size)
    backward = make_checkpoint(folder / "back", size, turned=True)
    texts = write_text(folder, "throughput", pairs, 15, 35, size.words)
    both = ["--reverse-path", str(backward)]
    ways = {
        "one look, one direction": ONE_LOOK,
        "two looks, one direction": TWO_LOOKS,
        "one look, two directions": [*ONE_LOOK, *both],
        "two looks, two directions": [*TWO_LOOKS, *both],
    }
    commands = {
        name: [*_command(forward, texts, folder / f"throughput.{number}"), *options]
        for number, (name, options) in enumerate(ways.items())
    }
    for aligner, program in PROGRAMS.items():
        if shutil.which(program) or shutil.which(f"{program}-align"):
            given = ["--source", str(texts[0]), "--target", str(texts[1]), "-o", str(folder / aligner)]
            commands[aligner] = ["baseline", aligner, *given]
    return {name: pairs / run(command)["cpu"] for name, command in commands.items()}

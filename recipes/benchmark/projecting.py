"""How many marked lines normalign project puts out per CPU second."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from fairseq_normalign.cli import main

WORDS = 20
"""In each sentence, on both sides."""


def measure(lines: int) -> dict[str, float]:
    """Lines of 20 words, each with two pairs of tags, links near the diagonal: from files to a file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, lines)
        given = [f"--{kind}={folder / kind}" for kind in ("source", "target", "links")]
        started = time.process_time()
        if main(["project", "--markup", *given, "-o", str(folder / "out")]):
            raise SystemExit("normalign project failed")
        seconds = time.process_time() - started
    return {"lines": lines, "cpu_seconds": seconds, "lines_per_second": lines / seconds}


def _write(folder: Path, lines: int) -> None:
    rng = random.Random(1)
    files = {kind: open(folder / kind, "w", encoding="utf-8") for kind in ("source", "target", "links")}
    for _ in range(lines):
        words = [f"word{rng.randrange(5000)}" for _ in range(WORDS)]
        print(*words, file=files["target"])
        for first, name in ((rng.randrange(0, 8), "b"), (rng.randrange(10, 17), "i")):
            words[first] = f"<{name}>{words[first]}"
            words[first + rng.randrange(3)] += f"</{name}>"
        print(*words, file=files["source"])
        links = sorted({(n, min(max(n + rng.choice((-1, 0, 0, 0, 1)), 0), WORDS - 1)) for n in range(WORDS)})
        print(*(f"{source}-{target}" for source, target in links), file=files["links"])
    for handle in files.values():
        handle.close()

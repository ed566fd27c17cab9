"""How fast alignments are scored, against a loop over Python sets on the same files: python scoring.py [SENTENCES]."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from fairseq_normalign.links.formats import open_alignment
from fairseq_normalign.links.score import bootstrap, evaluate

DISTINCT = 10_000
GOLD_SIZE = 508


def measure(sentences: int = 1_000_000) -> dict[str, float]:
    """Time both ways of scoring ``sentences`` pairs and a bootstrap of 1,000 samples; seconds, ratios and megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        gold, hypothesis = Path(folder, "gold.talp"), Path(folder, "hypothesis.pharaoh")
        write_files(gold, hypothesis, sentences)
        looped, loop_seconds = timed(count_with_sets, gold, hypothesis)
        counted, block_seconds = timed(count_in_blocks, gold, hypothesis)
        if looped != counted:
            raise SystemExit(f"the two ways disagree: {looped} with sets, {counted} in blocks")
        memory = peak_megabytes(gold, hypothesis)
        write_files(gold, hypothesis, sentences // 10)
        memory_of_tenth = peak_megabytes(gold, hypothesis)
    return {
        "sentences": sentences,
        "seconds_with_sets": loop_seconds,
        "seconds_in_blocks": block_seconds,
        "times_faster": loop_seconds / block_seconds,
        "megabytes": memory,
        "megabytes_for_a_tenth": memory_of_tenth,
        "bootstrap_seconds": timed(bootstrap, [random_counts()], 1000, seed=1)[1],
    }


def write_files(gold: Path, hypothesis: Path, sentences: int) -> None:
    """Gold (talp, one link in ten only possible) and Pharaoh (seven links in ten right) of 8 to 39 words a sentence."""
    generator = np.random.default_rng(1)
    gold_lines, hypothesis_lines = [], []
    for length in generator.integers(8, 40, size=min(DISTINCT, sentences)):
        target = np.arange(length)
        source = np.clip(target + generator.integers(-2, 3, size=length), 0, None)
        found = np.where(generator.random(length) < 0.7, source, source + 1)
        marks = np.where(generator.random(length) < 0.1, "p", "-")
        gold_lines.append(" ".join(f"{s}{mark}{t}" for s, mark, t in zip(source, marks, target, strict=True)) + "\n")
        hypothesis_lines.append(" ".join(f"{s}-{t}" for s, t in zip(found, target, strict=True)) + "\n")
    for path, lines in ((gold, gold_lines), (hypothesis, hypothesis_lines)):
        with open(path, "w", encoding="utf-8") as handle:
            for start in range(0, sentences, DISTINCT):
                handle.writelines(lines[: sentences - start])


def count_with_sets(gold: Path, hypothesis: Path) -> list[int]:
    totals = [0] * 5
    with open(gold, encoding="utf-8") as gold_file, open(hypothesis, encoding="utf-8") as hypothesis_file:
        for gold_line, line in zip(gold_file, hypothesis_file, strict=True):
            sure, possible, links = set(), set(), set()
            for word in gold_line.split():
                source, target = word.replace("p", "-").split("-")
                possible.add((int(source), int(target)))
                if "-" in word:
                    sure.add((int(source), int(target)))
            for word in line.split():
                source, target = word.split("-")
                links.add((int(source), int(target)))
            for column, found in enumerate((links, sure, possible, links & sure, links & possible)):
                totals[column] += len(found)
    return totals


def count_in_blocks(gold: Path, hypothesis: Path) -> list[int]:
    with open_alignment(gold) as gold_file, open_alignment(hypothesis) as hypothesis_file:
        return evaluate(gold_file, [hypothesis_file]).counts[0].tolist()


def peak_megabytes(gold: Path, hypothesis: Path) -> float:
    """Peak memory of the whole command on the two files."""
    code = (
        "import resource, sys; from fairseq_normalign.cli import main; main(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, "score", gold, hypothesis], capture_output=True, check=True)
    return int(done.stderr) / 1024


def random_counts() -> np.ndarray:
    hits = np.random.default_rng(2).binomial(20, 0.7, size=GOLD_SIZE)
    return np.stack([np.full(GOLD_SIZE, 20)] * 3 + [hits] * 2, axis=1)


def timed(work, *arguments, **options):
    start = time.perf_counter()
    result = work(*arguments, **options)
    return result, time.perf_counter() - start


if __name__ == "__main__":
    for name, value in measure(*map(int, sys.argv[1:2])).items():
        print(f"{name}\t{value:.3g}" if isinstance(value, float) else f"{name}\t{value}")

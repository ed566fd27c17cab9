"""eflomal's own scores of pairs, as a column for measure.py: one number per line, higher is better.

    python recipes/check/eflomal_scores.py BED OUT --train train.de train.en --tokenizer de en --lowercase

eflomal learns from BED.source and BED.target and from the first pairs of the training text. A number is minus the sum
of the two costs that eflomal gives to a pair, one per direction. eflomal is looked for as ``normalign baseline`` does
(``pip install 'fairseq-normalign[aligners]'``). It samples: two runs differ a little.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from damage import Words, in_words

from fairseq_normalign.files import open_output, read_lines
from fairseq_normalign.links.baselines import Eflomal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bed", metavar="BED")
    parser.add_argument("output", metavar="OUT")
    parser.add_argument("--train", nargs=2, metavar=("SOURCE", "TARGET"), help="true pairs to learn from")
    parser.add_argument("--pairs", type=int, default=20_000, help="so many of them (20000)")
    parser.add_argument("--tokenizer", nargs=2, metavar=("L1", "L2"), help="Moses for the training text")
    parser.add_argument("--lowercase", action="store_true")
    parser.add_argument("--programs", metavar="DIR", help="where eflomal-align is (PATH)")
    args = parser.parse_args()
    with open_output(args.output) as handle:
        handle.writelines(f"{score:g}\n" for score in scores(args))


def scores(args: argparse.Namespace) -> list[float]:
    """Return the score of every pair of the bed."""
    program = Eflomal(args.programs).programs[0].path
    bed = list(in_words(f"{args.bed}.source", f"{args.bed}.target", None, lowercase=False))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = (f"{' '.join(source)} ||| {' '.join(target)}\n" for source, target in (*bed, *_training(args)))
        with open(folder / "text", "w", encoding="utf-8", newline="\n") as handle:
            handle.writelines(lines)
        command = [str(program), "-i", "text", "-f", "forward", "-r", "backward", "-F", "ahead", "-R", "back"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        costs = [[float(line) for line in read_lines(folder / side)][: len(bed)] for side in ("ahead", "back")]
    return [-(ahead + back) for ahead, back in zip(*costs, strict=True)]


def _training(args: argparse.Namespace) -> Iterator[tuple[Words, Words]]:
    if args.train:
        every = in_words(*args.train, args.tokenizer, lowercase=args.lowercase)
        yield from itertools.islice((pair for pair in every if all(pair)), args.pairs)


if __name__ == "__main__":
    main()

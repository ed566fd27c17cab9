"""How many links each precision changes: ``python recipes/benchmark/precision.py --path CKPT --source S --target T``.

The same model aligns the same text by torch's own float32 and in every precision (norms are always computed in
float32). A link that differs is shown with the gap that float32 itself saw between its first and second source word, as
a share of the first.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from fairseq_normalign import load
from fairseq_normalign.files import read_parallel


@dataclass(frozen=True)
class Difference:
    """Of one precision against float32."""

    precision: str
    method: str
    sentences: int
    links: int
    differing: int
    largest_gap: float
    """Among links that differ: how much smaller, in float32, the second source word was than the first, as a share."""


def differing_links(
    checkpoint: Path,
    source: Path,
    target: Path,
    *,
    data: Path | None = None,
    codes: Sequence[str] = (),
    precision: str = "bfloat16",
    method: str = "norms",
) -> Difference:
    """Align in float32 and in ``precision`` and count."""
    found = []
    for wanted in ("float32", precision):
        model = load(checkpoint, data=data, precision=wanted, bpe_codes=tuple(codes), method=method, layer=1)
        found.append(list(model.align_many(read_parallel(source, target))))
    links = differing = 0
    gaps = [0.0]
    for exact, half in zip(*found, strict=True):
        links += len(exact.links)
        for _, word in set(exact.links) - set(half.links):
            differing += 1
            assert exact.soft is not None
            first, second = [*np.sort(exact.soft[word])[::-1], 0.0][:2]
            gaps.append(float((first - second) / first))
    return Difference(precision, method, len(found[0]), links, differing, max(gaps))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--bpe-codes", nargs="+", default=[])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--methods", default="norms,weights")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    rows = [
        differing_links(
            args.path,
            args.source,
            args.target,
            data=args.data,
            codes=args.bpe_codes,
            precision=precision,
            method=method,
        )
        for method in args.methods.split(",")
        for precision in ("auto", "bfloat16", "int8", "float16")
    ]
    if args.json:
        print(json.dumps([asdict(row) for row in rows]))
        return 0
    print(
        f"{'method':<10}{'precision':<11}{'sentences':>10}{'links':>8}{'differing':>11}{'share':>9}{'largest gap':>13}"
    )
    for row in rows:
        share = f"{100 * row.differing / max(row.links, 1):.2f}%"
        print(
            f"{row.method:<10}{row.precision:<11}{row.sentences:>10}{row.links:>8}{row.differing:>11}{share:>9}"
            f"{row.largest_gap:>13.4f}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Damaged files of every binary format: ``python -m tests.hosts.marian.mutate --cases 10000``.

Each is read correctly or refused in one line, in memory bounded by its size; anything else is shown and counted.
"""

from __future__ import annotations

import argparse
import random
import resource
import struct
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fairseq_normalign import NormalignError
from fairseq_normalign.hosts.marian.formats import read_weights
from fairseq_normalign.hosts.marian.modules import build
from tests.robustness.fuzz import bounded_memory

LARGE = (
    0,
    1,
    2,
    3,
    7,
    255,
    1 << 15,
    (1 << 16) - 1,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    (1 << 64) - 1,
)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """One to three kinds of damage, most of them near the start, where the lengths are."""
    made = bytearray(content)
    for _ in range(chance.randint(1, 3)):
        place = int(len(made) * chance.random() ** chance.choice((1, 3, 6)))
        kind = chance.randrange(6)
        if kind == 0:
            made[place : place + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            size = chance.choice((2, 4, 8))
            made[place : place + size] = (chance.choice(LARGE) % (1 << 8 * size)).to_bytes(size, "little")
        elif kind == 2:
            del made[place:]
        elif kind == 3:
            del made[place : place + chance.choice((1, 4, 100))]
        elif kind == 4:
            made[place:place] = made[: chance.choice((1, 8, 200))]
        else:
            made[place : place + 4] = struct.pack("<f", chance.choice((float("nan"), float("inf"), 0.0, -1e38)))
    return bytes(made)


def cases(content: bytes, count: int, seed: int, path: Path) -> Iterator[str]:
    """What became of each of ``count`` damaged files: read, refused, or the traceback of what should not be."""
    chance = random.Random(seed)
    for _ in range(count):
        path.write_bytes(damaged(content, chance))
        try:
            build(read_weights(path), {})
            yield "read"
        except NormalignError as error:
            yield "refused" if "\n" not in str(error) else f"several lines: {error}"
        except Exception:  # that is what is looked for
            yield traceback.format_exc()


def seeds(folder: Path) -> dict[str, Path]:
    """A file of each format."""
    from tests.hosts.marian.conftest import make_tiny, write_twin

    source, model = make_tiny(folder / "tiny")
    made = {}
    for name in ("npz", "bin", "bin intgemm8", "ct2 float32", "ct2 int8", "ct2 int16 v3"):
        place = folder / name.replace(" ", "_")
        place.mkdir()
        path = write_twin(name, source, model, place)
        made[name] = path / "model.bin" if path.is_dir() else path
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as name, bounded_memory():
        for kind, path in seeds(Path(name)).items():
            found = Counter(cases(path.read_bytes(), options.cases, options.seed, Path(name) / f"case{path.suffix}"))
            print(
                f"{kind}: {found.pop('read', 0)} read, {found.pop('refused', 0)} refused, {found.total()} wrong",
                flush=True,
            )
            for text in list(found)[:3]:
                print(text)
            wrong += found.total()
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

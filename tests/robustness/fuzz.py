"""The mutation fuzzer: ``python -m tests.robustness.fuzz --cases 100000 --seed 1``.

Every reader gets its share of damaged files. Each has to be taken whole or refused with one clear line, in bounded time
and memory. What ends otherwise is kept in a file and shown; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .readers import Reader, attempt, readers

SECONDS = 10
"""Of CPU that one case may take."""
SPARE_BYTES = 4 << 30
"""Of memory beyond what the process has at the start."""


class Hang(BaseException):
    """A case took too long."""


@dataclass
class Count:
    """What became of a reader's cases."""

    cases: int = 0
    accepted: int = 0
    slowest: float = 0.0
    findings: list[str] = field(default_factory=list)


@contextlib.contextmanager
def bounded_memory() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + SPARE_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def bounded_time() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def one_case(reader: Reader, content: bytes, count: Count) -> None:
    count.cases += 1
    started = time.process_time()
    try:
        with bounded_time():
            count.accepted += attempt(reader, content)
    except (Exception, Hang) as error:
        place = "".join(traceback.format_exception(error)[-3:])
        count.findings.append(f"{type(error).__name__}: {error}\n{place}\n{content[:300]!r}")
    count.slowest = max(count.slowest, time.process_time() - started)


def fuzz(cases: int, seed: int, chosen: dict[str, Reader] | None = None) -> dict[str, Count]:
    """So many cases in all, shared among the readers by their weight."""
    known = chosen or readers()
    chance = random.Random(seed)
    counts: dict[str, Count] = collections.defaultdict(Count)
    whole = sum(reader.weight for reader in known.values())
    with bounded_memory():
        for name, reader in known.items():
            for content in reader.seeds:
                if not attempt(reader, content):
                    counts[name].findings.append("a sound file was refused")
            for _ in range(round(cases * reader.weight / whole)):
                one_case(reader, reader.damage(reader.seeds, chance), counts[name])
    return counts


def table(counts: dict[str, Count]) -> str:
    rows = [f"{'reader':<20}{'cases':>9}{'accepted':>10}{'refused':>9}{'findings':>10}{'slowest':>10}"]
    every = list(counts.values())
    for name, count in counts.items():
        refused = count.cases - count.accepted - len(count.findings)
        numbers = f"{count.cases:>9}{count.accepted:>10}{refused:>9}{len(count.findings):>10}{count.slowest:>8.2f} s"
        rows.append(f"{name:<20}{numbers}")
    sums = [sum(count.cases for count in every), sum(count.accepted for count in every)]
    found = sum(len(count.findings) for count in every)
    rows.append(f"{'all':<20}{sums[0]:>9}{sums[1]:>10}{sums[0] - sums[1] - found:>9}{found:>10}")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", help="this one alone")
    parser.add_argument("--findings", type=Path, help="write what was found here")
    args = parser.parse_args()
    known = readers()
    counts = fuzz(args.cases, args.seed, {args.reader: known[args.reader]} if args.reader else known)
    print(table(counts))
    findings = [f"== {name}\n{text}" for name, count in counts.items() for text in count.findings]
    if findings and args.findings:
        args.findings.write_text("\n\n".join(findings), encoding="utf-8", errors="backslashreplace")
    for text in findings[:5]:
        print(text[:2000], file=sys.stderr)
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())

"""What each column of ``normalign check`` costs, against plain aligning.

    python recipes/check/cost.py --path de-en.pt --reverse-path en-de.pt --bpe-codes codes --source S --target T

CPU seconds of one thread on the first pairs of a text, medians of repetitions that take turns; both directions, texts
encoded before. A column's row counts all that has to be run for this column alone.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmark"))
from measuring import in_turns

from fairseq_normalign import load
from fairseq_normalign.align.aligner import Aligner
from fairseq_normalign.align.checking import check, piece_log_probs, source_shares, with_empty_source
from fairseq_normalign.analysis.check_lines import columns_of
from fairseq_normalign.analysis.translation_check import check_pair
from fairseq_normalign.files import read_parallel
from fairseq_normalign.show.tables import columns

ALIGN, AHEAD, AHEAD_ALONE, BACK, BACK_ALONE, SHARE, NUMBERS = (
    *("align", "target given its source", "target alone", "source given the target", "source alone"),
    *("rollout", "numbers"),
)
BOTH = (ALIGN, AHEAD, AHEAD_ALONE, BACK, BACK_ALONE, NUMBERS)
NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("agreement", "target_unlinked", "source_unlinked", "source_unseen"), (ALIGN, NUMBERS)),
    "repeated": (),
    "copied": (),
    "changed": (),
    "logprob": (AHEAD,),
    **dict.fromkeys(("gain", "target_gap", "target_alone"), (AHEAD, AHEAD_ALONE)),
    "reverse_logprob": (BACK,),
    **dict.fromkeys(("reverse_gain", "source_gap", "source_alone"), (BACK, BACK_ALONE)),
    **dict.fromkeys(("source_share", "source_share_min", "source_share_low"), (SHARE,)),
    "score": BOTH,
}
"""What has to be run for each column."""


def stages(aligner: Aligner, pairs: list[tuple[str, str]]) -> dict[str, Callable[[], Any]]:
    """Return the pieces of work that a check consists of."""
    ahead, back = aligner.forward, aligner.backward
    assert back is not None
    encoded = aligner.encode(pairs)
    forward, backward = encoded.forward, encoded.backward
    assert backward is not None
    evidence = [one.evidence for one in check(aligner, encoded) if not isinstance(one, str)]
    alone = with_empty_source(ahead, forward), with_empty_source(back, backward)
    return {
        ALIGN: lambda: aligner.align(encoded, soft=True),
        AHEAD: lambda: piece_log_probs(ahead, forward, 0),
        AHEAD_ALONE: lambda: piece_log_probs(ahead, alone[0], 0),
        BACK: lambda: piece_log_probs(back, backward, 0),
        BACK_ALONE: lambda: piece_log_probs(back, alone[1], 0),
        SHARE: lambda: source_shares(ahead, forward, 0),
        NUMBERS: lambda: [check_pair(one) for one in evidence],
    }


def rows(seconds: dict[str, float]) -> list[list[str]]:
    """Return a row per stage and per column: CPU seconds, and how many times plain aligning."""

    def row(name: str, value: float) -> list[str]:
        return [name, f"{value:.2f}", f"{value / seconds[ALIGN]:.2f}"]

    found = [["work", "CPU seconds", "x aligning"], *(row(name, value) for name, value in seconds.items())]
    found += [[""], ["column", "CPU seconds", "x aligning"]]
    wanted = [name for name in columns_of(reverse=True, full=True) if name != "line"]
    found += [row(name, sum(seconds[need] for need in NEEDS[name])) for name in wanted]
    every = sum(seconds[need] for need in BOTH)
    return [*found, [""], row("all", every), row("all, --full", every + seconds[SHARE])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("path", "reverse-path", "source", "target"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--bpe-codes")
    parser.add_argument("--tokenizer", choices=("moses",))
    parser.add_argument("--lowercase", action="store_true")
    parser.add_argument("--readings", help="as normalign align has it (the default)")
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--repetitions", type=int, default=3)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning, module="torch")
    text = {"bpe_codes": args.bpe_codes, "tokenizer": args.tokenizer, "lowercase": args.lowercase}
    model = load(args.path, args.reverse_path, readings=args.readings, **text)
    pairs = list(itertools.islice(read_parallel(args.source, args.target), args.pairs))
    print(columns(rows(in_turns(stages(model.aligner, pairs), args.repetitions))), end="")


if __name__ == "__main__":
    main()

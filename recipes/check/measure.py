"""How well each number of ``normalign check`` tells true pairs from the damaged ones that damage.py made.

    python recipes/check/measure.py BED SCORES.jsonl [--half odd] [--column NAME=FILE ...]

BED.source, BED.target and BED.kinds are what damage.py wrote, SCORES.jsonl what ``normalign check --json --by-word``
made of them. Prints the AUC of every column against each kind of damage, next to the length ratio and any other column
(a file with one number per line, higher is better), and precision and recall of the words without a source.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from damage import CONTROLS, KINDS

from fairseq_normalign.files import read_lines, words_of
from fairseq_normalign.show.tables import columns

LOWER_IS_BETTER = {
    *("target_unlinked", "source_unlinked", "target_alone", "source_alone", "target_gap", "source_gap"),
    *("source_unseen", "repeated", "copied", "changed", "source_share_low"),
}
NOT_A_NUMBER = {"line", "skipped"}
HALVES = {"even": 0, "odd": 1}


def auc(good: np.ndarray, bad: np.ndarray) -> float:
    """Return the share of (good, bad) couples in which the good one has the higher number; equal ones count half.

    >>> auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    if not len(good) or not len(bad):
        return float("nan")
    return float((good[:, None] > bad).mean() + (good[:, None] == bad).mean() / 2)


def length_ratio(source: Sequence[Sequence[str]], target: Sequence[Sequence[str]], true: np.ndarray) -> np.ndarray:
    """Return for each pair how close its ratio of lengths is to that of the true pairs: 0 is best."""
    ratios = np.log([len(other) / len(one) for one, other in zip(source, target, strict=True)])
    return -np.abs(ratios - ratios[true].mean())


def numbers_of(entries: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return every column, turned so that higher is better; NaN where a pair was skipped."""
    names = [name for name, value in entries[0].items() if isinstance(value, int | float) and name not in NOT_A_NUMBER]
    return {
        name: np.array([np.nan if entry[name] is None else entry[name] for entry in entries])
        * (-1 if name in LOWER_IS_BETTER else 1)
        for name in names
    }


def auc_rows(numbers: dict[str, np.ndarray], kinds: np.ndarray, chosen: np.ndarray) -> list[list[str]]:
    """Return a row per column: the AUC against each kind."""
    rows = [["AUC", *KINDS]]
    for name, values in numbers.items():
        there = chosen & np.isfinite(values)
        of_kind = {kind: values[there & (kinds == kind)] for kind in {*kinds.tolist(), "true"}}
        aucs = [
            auc(of_kind.get(CONTROLS.get(kind, "true"), values[:0]), of_kind.get(kind, values[:0])) for kind in KINDS
        ]
        rows.append([name, *(f"{value:.3f}" for value in aucs)])
    return rows


def word_rows(
    labels: Sequence[dict[str, Any]], entries: Sequence[dict[str, Any]], chosen: np.ndarray
) -> list[list[str]]:
    """Return precision and recall of ``without_source`` on the kinds where it is known which words are bad."""
    rows = [["words without a source", "precision", "recall", "flagged in true pairs"]]
    true = [one for one, label, taken in zip(entries, labels, chosen, strict=True) if taken and label["kind"] == "true"]
    flagged = sum(len(one["without_source"]) for one in true) / sum(len(one["target"]) for one in true)
    for kind in ("c_half", "f_repeated"):
        hits = claimed = wanted = 0
        for label, entry, taken in zip(labels, entries, chosen, strict=True):
            if taken and label["kind"] == kind and "without_source" in entry:
                found, bad = set(entry["without_source"]) - set(label["unknown"]), set(label["bad"])
                hits, claimed, wanted = hits + len(found & bad), claimed + len(found), wanted + len(bad)
        rows.append([kind, f"{hits / max(claimed, 1):.3f}", f"{hits / max(wanted, 1):.3f}", f"{flagged:.3f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bed", metavar="BED")
    parser.add_argument("scores", metavar="SCORES.jsonl")
    parser.add_argument("--half", choices=HALVES, help="pairs with an even or an odd number only")
    parser.add_argument("--column", action="append", default=[], metavar="NAME=FILE", help="numbers of another program")
    args = parser.parse_args()
    labels = [json.loads(line) for line in read_lines(f"{args.bed}.kinds")]
    entries = [json.loads(line) for line in read_lines(args.scores)]
    kinds = np.array([label["kind"] for label in labels])
    chosen = np.array([args.half is None or label["pair"] % 2 == HALVES[args.half] for label in labels])
    sides = [[words_of(line) for line in read_lines(f"{args.bed}.{side}")] for side in ("source", "target")]
    numbers = numbers_of(entries)
    numbers["(length ratio)"] = length_ratio(sides[0], sides[1], kinds == "true")
    for given in args.column:
        name, _, file = given.partition("=")
        numbers[f"({name})"] = np.array([float(line) for line in read_lines(file)])
    chosen &= np.isfinite(numbers["score"])
    print(columns(auc_rows(numbers, kinds, chosen)))
    print(columns(word_rows(labels, entries, chosen)), end="")


if __name__ == "__main__":
    main()

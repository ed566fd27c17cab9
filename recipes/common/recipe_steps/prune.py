"""Take the heads whose gates are closed out of a checkpoint.

The checkpoint comes from --arch transformer_normalign_gated --normalign-gates. The new one has no gates, fewer and
smaller parameters, the same output and no optimizer state; it needs fairseq_normalign alone as the user-dir.
"""

from __future__ import annotations

import argparse

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import check_writable
from fairseq_normalign.show.tables import columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", metavar="CKPT", help="checkpoint with gates")
    parser.add_argument("-o", "--output", required=True, metavar="SMALL", help="where to write the smaller one")


def run(args: argparse.Namespace) -> None:
    from normalign_training.pruning import prune

    check_writable(args.output)
    if args.output == args.checkpoint:
        raise NormalignError(f"{args.output}: is the input; choose another name")
    found = prune(args.checkpoint, args.output)
    rows = [["attention", "heads", "kept", "by layer"]]
    for kind, kept in found.after.items():
        rows.append([kind, str(sum(found.before[kind])), str(sum(kept)), " ".join(map(str, kept))])
    before, after = found.parameters
    print(columns(rows), end="")
    print(f"parameters: {before} -> {after}")

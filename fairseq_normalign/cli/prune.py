"""Take the heads whose gates are closed out of a checkpoint.

The checkpoint comes from --arch transformer_normalign --normalign-gates. The new one has no gates, fewer and smaller
parameters, and the same output; fairseq's commands load it with our --user-dir. It has no optimizer state.
"""

from __future__ import annotations

import argparse

from ..errors import NormalignError
from ..files import check_writable
from ..show.text_tables import columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", metavar="CKPT", help="checkpoint with gates")
    parser.add_argument("-o", "--output", required=True, metavar="SMALL", help="where to write the smaller one")


def run(args: argparse.Namespace) -> None:
    from ..hosts.fairseq.pruning import prune

    check_writable(args.output)
    if args.output == args.checkpoint:
        raise NormalignError(f"{args.output}: would be written over itself")
    found = prune(args.checkpoint, args.output)
    rows = [["attention", "heads", "kept", "by layer"]]
    for kind, kept in found.after.items():
        rows.append([kind, str(sum(found.before[kind])), str(sum(kept)), " ".join(map(str, kept))])
    before, after = found.parameters
    print(columns(rows), end="")
    print(f"parameters: {before} -> {after}")

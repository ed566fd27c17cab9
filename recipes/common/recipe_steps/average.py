"""Average the parameters of several checkpoints of one training into one.

The new checkpoint has the arguments of the last one and no optimizer state; fairseq's commands load it. Nothing in the
checkpoints is executed.
"""

from __future__ import annotations

import argparse

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import check_distinct, check_writable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", nargs="+", metavar="CKPT", help="checkpoints of one training, the last one last")
    parser.add_argument("-o", "--output", required=True, metavar="MEAN", help="where to write their mean")


def run(args: argparse.Namespace) -> None:
    from normalign_training.averaging import average

    if len(args.checkpoint) < 2:
        raise NormalignError("give at least two checkpoints")
    check_writable(args.output)
    check_distinct([args.output], args.checkpoint)
    count = average(args.checkpoint, args.output)
    print(f"mean of {len(args.checkpoint)} checkpoints, {count} parameters: {args.output}")

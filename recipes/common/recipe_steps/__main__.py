"""``python -m recipe_steps STEP ...``: a user's mistake, a full disk or a lost connection is one line and exit code 2."""

from __future__ import annotations

import argparse
import errno
import sys

from fairseq_normalign.errors import NormalignError

from . import check_tokens, clean, download, expand, gather, hypotheses, sentencepieces, tokenize

STEPS = {
    "download": download,
    "gather": gather,
    "tokenize": tokenize,
    "check-tokens": check_tokens,
    "clean": clean,
    "sentencepiece": sentencepieces,
    "expand": expand,
    "hypotheses": hypotheses,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="recipe_steps", description=__doc__)
    chosen = parser.add_subparsers(dest="step", required=True)
    for name, module in STEPS.items():
        module.add_arguments(chosen.add_parser(name, help=(module.__doc__ or "").splitlines()[0]))
    args = parser.parse_args()
    try:
        STEPS[args.step].run(args)
    except NormalignError as error:
        return failed(args.step, str(error))
    except KeyboardInterrupt:
        failed(args.step, "interrupted; run the step again to go on")
        return 130
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return failed(args.step, f"{error.filename or 'the output'}: the disk is full; free some space and run again")
        return failed(args.step, f"{error.filename or ''}: {(error.strerror or str(error)).lower()}".lstrip(": "))
    return 0


def failed(step: str, message: str) -> int:
    print(f"{step}: error: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())

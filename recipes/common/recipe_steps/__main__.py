"""``python -m recipe_steps STEP ...``: mistakes, a full disk, a lost connection are one line and exit code 2."""

from __future__ import annotations

import argparse
import errno
import importlib
import sys
from collections.abc import Sequence

from fairseq_normalign.errors import NormalignError

STEPS = {
    "download": "fetch the files of a list",
    "gather": "raw text and gold out of archives or a local corpus",
    "tokenize": "Moses tokens",
    "check-tokens": "how the tokenizer agrees with the gold",
    "clean": "leave out pairs that are not worth training on",
    "sentencepiece": "make or apply a SentencePiece model",
    "expand": "links of words into links of pieces",
    "hypotheses": "the translations of a fairseq-generate log",
    "curve": "AER over the updates of a training",
    "ceiling": "what is left to find in the attention of two models",
    "constants": "the constants of the decision, tuned on a part of the gold and reported on the rest",
    "average": "the mean of several checkpoints of one training",
    "prune": "take closed heads out of a checkpoint",
    "model-options": "the arguments that build a model like a checkpoint's",
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="recipe_steps", description=__doc__)
    parser.add_argument("step", choices=STEPS, help="; ".join(f"{name}: {what}" for name, what in STEPS.items()))
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    module = importlib.import_module(f".{given.step.replace('-', '_')}", __package__)
    own = argparse.ArgumentParser(prog=f"recipe_steps {given.step}", description=module.__doc__)
    module.add_arguments(own)
    try:
        module.run(own.parse_args(given.arguments))
    except NormalignError as error:
        return failed(given.step, str(error))
    except KeyboardInterrupt:
        failed(given.step, "interrupted; run the step again to go on")
        return 130
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return failed(given.step, f"{error.filename or 'output'}: the disk is full; make room and run again")
        return failed(given.step, f"{error.filename or ''}: {(error.strerror or str(error)).lower()}".lstrip(": "))
    return 0


def failed(step: str, message: str) -> int:
    print(f"{step}: error: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())

"""What every host needs while it loads a model: silence, and one line for whatever goes wrong."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator

from ..errors import NormalignError


def reason_in(error: BaseException, most: int = 200) -> str:
    """Return what an error says in one line, or else its name.

    >>> reason_in(ValueError("a  b\\nc")), reason_in(KeyError())
    ('a b c', 'KeyError')
    """
    return " ".join(str(error).split())[:most] or type(error).__name__


@contextlib.contextmanager
def faults_of(what: object) -> Iterator[None]:
    """While a toolkit works on what a user gave: whatever it raises becomes one line that begins with ``what``.

    Toolkits raise errors of any kind; the tokenizers of transformers even raise some outside of ``Exception``.
    """
    try:
        yield
    except (NormalignError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise NormalignError(f"{what}: {reason_in(error)}") from None


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Keep a toolkit's warnings and notes from our users' screens."""
    previous = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(previous)

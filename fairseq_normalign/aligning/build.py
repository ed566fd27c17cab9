"""From what a user names (models, text, options) to a direction that aligns lines, or to both directions."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..errors import NormalignError, reason_of
from ..hosts import load_host
from ..hosts.options import ModelOptions
from ..text.options import TextOptions
from .aligner import Aligner
from .directions import BitextAligner, Direction
from .options import AlignmentOptions


def make_direction(
    model: ModelOptions, text: TextOptions, options: AlignmentOptions, *, max_tokens: int = 4000, level: str = "word"
) -> Direction:
    """Load a model and make it align lines of text."""
    host = load_host(model, text, tags=options.tags)
    return Direction(Aligner(host.models, options), host, max_tokens=max_tokens, level=level)


def make_bitext_aligner(
    model: ModelOptions,
    reverse: ModelOptions | None,
    text: TextOptions,
    options: AlignmentOptions,
    *,
    max_tokens: int = 4000,
    level: str = "word",
    combine: str = "grow-diag",
) -> BitextAligner:
    """Load the model of one direction and, if there is one, that of the other; ``text`` is of the first."""
    forward = make_direction(model, text, options, max_tokens=max_tokens, level=level)
    backward = None
    if reverse is not None:
        backward = make_direction(reverse, text.reversed(), options, max_tokens=max_tokens, level=level)
    return BitextAligner(forward, backward, combine)


def fingerprint(path: str | Path) -> str:
    """Return a short name of a file's content that does not take long: its size and the digest of its two ends."""
    try:
        with open(path, "rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            digest = hashlib.sha256(handle.read(1 << 20))
            handle.seek(max(0, size - (1 << 20)))
            digest.update(handle.read())
    except OSError as error:
        raise NormalignError(f"{path}: {reason_of(error)}") from None
    return f"{size}:{digest.hexdigest()[:16]}"

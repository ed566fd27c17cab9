"""From what a user names (models, text, options) to a direction that aligns lines, or to both directions."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..errors import NormalignError
from ..hosts import host_of, load_host
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
    """Return a short name of the content of a file or folder that does not take long: sizes and digests of the ends.

    The name of a model on the hub stands for itself.
    """
    if os.path.isdir(path):
        files = sorted(file for file in Path(path).iterdir() if file.is_file())
        whole = hashlib.sha256(" ".join(f"{file.name}:{fingerprint(file)}" for file in files).encode())
        return f"{len(files)}:{whole.hexdigest()[:16]}"
    if not os.path.exists(path) and host_of(str(path)) == "transformers":
        return str(path)
    try:
        with open(path, "rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            digest = hashlib.sha256(handle.read(1 << 20))
            handle.seek(max(0, size - (1 << 20)))
            digest.update(handle.read())
    except OSError as error:
        raise NormalignError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    return f"{size}:{digest.hexdigest()[:16]}"

"""From what a user names (models, text, options) to a direction that aligns lines, or to both directions."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

import torch

from ..errors import NormalignError, reason_of
from ..files import check_regular
from ..hosts import host_of, load_host
from ..hosts.options import ModelOptions
from ..links.experts import AGREEMENT_FLOOR, VOTE
from ..text.options import TextOptions
from ..text.vocabulary import check_words_known
from .aligner import Aligner
from .both_directions import BitextAligner
from .directions import Direction
from .doubts import check_mirrored
from .options import AlignmentOptions


def make_direction(
    model: ModelOptions,
    text: TextOptions,
    options: AlignmentOptions,
    *,
    max_tokens: int = 4000,
    level: str = "word",
    forward: Direction | None = None,
) -> Direction:
    """Load a model and make it align lines of text; ``forward``: the same model, loaded for the other direction."""
    with torch.inference_mode(False):  # what is loaded there cannot be used where gradients are needed
        host = load_host(model, text, tags=options.tags, forward=forward.host if forward is not None else None)
    if level == "word":
        for side in (host.source, host.target):
            check_words_known(side.scheme)
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
    floor: float = AGREEMENT_FLOOR,
    vote: float = VOTE,
) -> BitextAligner:
    """Load the model of one direction and, if there is one, that of the other; ``text`` is of the first."""
    forward = make_direction(model, text, options, max_tokens=max_tokens, level=level)
    backward = None
    if reverse is not None:
        same = forward if reverse.path == model.path else None
        backward = make_direction(reverse, text.reversed(), options, max_tokens=max_tokens, level=level, forward=same)
    aligner = BitextAligner(forward, backward, combine, floor=floor, vote=vote)
    check_mirrored(aligner)
    return aligner


def fingerprint(path: str | Path) -> str:
    """Return a short name of a file's content (its size and the start of its SHA-256), or of all files of a folder."""
    if os.path.isdir(path):
        return ",".join(f"{file.name}:{fingerprint(file)}" for file in sorted(Path(path).iterdir()) if file.is_file())
    if not os.path.exists(path) and host_of(str(path)) == "transformers":
        return str(path)  # the name of a model on the hub
    try:
        check_regular(path)
        with open(path, "rb") as handle:
            return f"{os.fstat(handle.fileno()).st_size}:{_sha256(handle)[:16]}"
    except OSError as error:
        raise NormalignError(f"{path}: {reason_of(error)}") from None


def _sha256(handle: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := handle.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def dictionaries(path: str, data: str | None) -> list[str]:
    """The dictionary files that the checkpoint(s) at ``path`` may be read with, in their order."""
    folder = Path(data) if data is not None else Path(path.split(":")[0]).parent
    return sorted(map(str, folder.glob("dict.*.txt")))

"""From what a user names (models, text, options) to a direction that aligns lines, or to both directions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from .. import jobs
from ..hosts import load_host
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


def own_device() -> str:
    """Return the device of this process: its own GPU, if there is any."""
    if not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{jobs.WORKER % torch.cuda.device_count()}"


@dataclass(frozen=True)
class Setup:
    """What the models of one direction or of both are loaded from, as plain data that can be sent to a worker."""

    model: ModelOptions
    """Its device may be "auto": the GPU of the process that loads it, if there is one."""
    reverse: ModelOptions | None
    text: TextOptions
    options: AlignmentOptions
    max_tokens: int = 4000
    level: str = "word"
    combine: str = "agreed-grow-diag"
    floor: float = AGREEMENT_FLOOR
    vote: float = VOTE
    user_dirs: Sequence[str] = ()

    def files(self) -> list[str]:
        """Return every file and folder that results depend on."""
        found = [*self.text.bpe_codes, *self.text.sentencepiece_models, *self.user_dirs]
        for model in filter(None, (self.model, self.reverse)):
            found += model.path.split(":")
            found += [path for path in model.task_options.values() if os.path.isfile(path)]
            folder = Path(model.data) if model.data is not None else Path(model.path.split(":")[0]).parent
            found += map(str, folder.glob("dict.*.txt"))
        return sorted({path for path in found if os.path.exists(path)})

    def describe(self) -> object:
        """Return every option that results depend on."""
        return asdict(self)

    def load(self) -> BitextAligner:
        """Load the models."""
        warnings.filterwarnings("ignore", category=UserWarning, module="torch")  # on how fairseq calls it
        if self.user_dirs:
            from ..hosts.fairseq.patches import import_user_dirs

            import_user_dirs(self.user_dirs)
        device = own_device() if self.model.device == "auto" else self.model.device
        return make_bitext_aligner(
            replace(self.model, device=device),
            None if self.reverse is None else replace(self.reverse, device=device),
            self.text,
            self.options,
            max_tokens=self.max_tokens,
            level=self.level,
            combine=self.combine,
            floor=self.floor,
            vote=self.vote,
        )

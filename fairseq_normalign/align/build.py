"""From what a user names (models, text, options) to a direction that aligns lines, or to both directions."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch

from .. import jobs
from ..hosts import load_host
from ..hosts.options import ModelOptions
from ..links.experts import AGREEMENT_FLOOR, VOTE
from ..options import input_files, paths, result_options
from ..text.options import TextOptions
from ..text.vocabulary import check_words_known
from .aligner import Aligner
from .both_directions import BitextAligner
from .directions import Direction
from .doubts import check_mirrored
from .options import ALIKE, AlignmentOptions, LoadOptions


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


def own_device() -> str:
    """Return the device of this process: its own GPU, if there is any."""
    if not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{jobs.WORKER % torch.cuda.device_count()}"


def model_options(options: LoadOptions, *, reverse: bool = False) -> ModelOptions:
    """Return what a host has to know of the model; ``reverse``: of that of the other direction."""
    replaced = {name: getattr(options, name) for name in ("fixed_dictionary", "lang_dict", "lang_pairs")}
    model = ModelOptions(
        path=str(options.path),
        data=None if options.data is None else str(options.data),
        source_lang=options.source_lang,
        target_lang=options.target_lang,
        device=options.device or own_device(),
        precision=options.precision,
        task_options={name: str(value) for name, value in replaced.items() if value is not None},
    )
    if not reverse:
        return model
    data = None if options.reverse_data is None else str(options.reverse_data)
    same = not options.reverse or (str(options.reverse) == model.path and data is None)
    return model.reversed() if same else model.reversed(str(options.reverse), data)


def import_user_code(options: LoadOptions) -> None:
    """Import the code that the user has for fairseq."""
    if options.user_dir:
        from ..hosts.fairseq.patches import import_user_dirs

        import_user_dirs(paths(options.user_dir))


def load_aligner(options: LoadOptions, *, vote: float = VOTE) -> BitextAligner:
    """Load the models that ``options`` name, with the readings that were given.

    ``vote``: how many times the share of a word counts that another aligner linked.
    """
    warnings.filterwarnings("ignore", category=UserWarning, module="torch")  # on how fairseq calls it
    import_user_code(options)
    options.check_choice()
    reading, tokens, level = options.alignment(), options.max_tokens, options.level
    forward = make_direction(model_options(options), options.text(), reading, max_tokens=tokens, level=level)
    backward = None
    if options.reverse is not None:
        model, text = model_options(options, reverse=True), options.text(reverse=True)
        same = forward if model.path == str(options.path) else None
        backward = make_direction(model, text, reading, max_tokens=tokens, level=level, forward=same)
    floor = AGREEMENT_FLOOR if options.floor is None else options.floor
    aligner = BitextAligner(forward, backward, options.symmetrize or ALIKE, floor=floor, vote=vote)
    check_mirrored(aligner)
    aligner.read_with(options.given_readings())
    return aligner


@dataclass(frozen=True)
class Setup:
    """What the models of a job are loaded from, as plain data that can be sent to a worker."""

    options: LoadOptions
    vote: float = VOTE

    def files(self) -> list[str]:
        """Return every file and folder that results depend on."""
        found = input_files(self.options)
        for path, data in (
            (self.options.path, self.options.data),
            (self.options.reverse or self.options.path, self.options.reverse_data),
        ):
            folder = Path(data) if data is not None else Path(str(path).split(":")[0]).parent
            found += map(str, folder.glob("dict.*.txt"))
        folders = {str(data) for data in (self.options.data, self.options.reverse_data)}
        return sorted({path for path in found if os.path.exists(path) and path not in folders})

    def describe(self) -> object:
        """Return every option that results depend on."""
        return result_options(self.options), self.vote

    def load(self) -> BitextAligner:
        """Load the models."""
        return load_aligner(self.options, vote=self.vote)

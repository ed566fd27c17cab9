"""What alignments add to a beam search: none, by norms, and fairseq's own --print-alignment."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from made_up import batch_of, load
from measuring import in_turns


def seconds(checkpoint: str, pairs: int, length: int, repetitions: int) -> dict[str, float]:
    """CPU seconds of the search over one batch, beam 5."""
    torch.set_num_threads(1)
    loaded = load(Path(checkpoint))
    made = batch_of(pairs, length, len(loaded.task.source_dictionary))
    sample = {
        "id": torch.arange(pairs),
        "net_input": {
            "src_tokens": made["src_tokens"],
            "src_lengths": made["src_lengths"],
            "prev_output_tokens": made["targets"],
        },
    }
    options = Namespace(beam=5, max_len_a=1, max_len_b=0, print_alignment=None)
    works = {
        "none": _search(loaded, sample, loaded.task.build_generator(loaded.models, options)),
        "norms": _search(loaded, sample, loaded.task.build_generator(loaded.models, _with(options))),
        "stock": _search(loaded, sample, _stock(loaded, options)),
    }
    return in_turns(works, repetitions)


def _with(options: Namespace) -> Namespace:
    return Namespace(**{**vars(options), "print_alignment": "hard"})


def _stock(loaded: Any, options: Namespace) -> Any:
    """fairseq's own generator with alignments: last layer, mean of heads."""
    from fairseq.tasks.translation import TranslationTask

    return TranslationTask.build_generator(loaded.task, loaded.models, _with(options))


def _search(loaded: Any, sample: dict[str, Any], generator: Any) -> Callable[[], Any]:
    return lambda: loaded.task.inference_step(generator, loaded.models, sample)

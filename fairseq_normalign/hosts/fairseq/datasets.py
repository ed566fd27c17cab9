"""Mending fairseq's datasets where they would lose sentences or speak of the wrong words."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import NormalignError
from ...text.encoding import Line
from ...text.vocabulary import Vocabulary
from ..protocol import Pair


@contextlib.contextmanager
def reading_dataset(directory: str, split: str) -> Iterator[None]:
    """While fairseq reads the files of a split: a missing or damaged one is one line."""
    try:
        yield
    except (OSError, ValueError, AssertionError, LookupError, TypeError, struct.error, OverflowError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise NormalignError(f"{directory}: the split '{split}' cannot be read: {reason}") from None


def keep_every_sentence(dataset: Any) -> None:
    """Make ``dataset.batch_by_size`` return every index it is given.

    fairseq main drops the last batch when its size is not a multiple of ``--required-batch-size-multiple``.
    """
    if getattr(dataset.batch_by_size, "keeps_every_sentence", False):
        return
    original = dataset.batch_by_size

    def batch_by_size(indices: ArrayLike, *args: Any, **options: Any) -> list[Any]:
        indices = np.asarray(indices)
        if not len(indices):
            return []
        batches = list(original(indices, *args, **options))
        lost = indices[~np.isin(indices, np.concatenate(batches) if batches else indices[:0])]
        if len(lost):
            batches.extend(original(lost, *args, **{**options, "required_batch_size_multiple": 1}))
        return batches

    batch_by_size.keeps_every_sentence = True  # type: ignore[attr-defined]
    dataset.batch_by_size = batch_by_size


def post_process_original_text(dataset: Any, symbol: str | None) -> None:
    """Let a raw text dataset give its original text in the words that are printed, not in pieces."""
    from fairseq.data.data_utils import post_process

    for side in (getattr(dataset, "src", None), getattr(dataset, "tgt", None)):
        original = getattr(side, "get_original_text", None)
        if symbol is not None and original is not None and not hasattr(original, "is_post_processed"):

            def get_original_text(number: int, original: Any = original) -> str:
                return post_process(original(number), symbol)

            get_original_text.is_post_processed = True  # type: ignore[attr-defined]
            side.get_original_text = get_original_text  # type: ignore[union-attr]


def sentence_numbers(dataset: Any, indices: ArrayLike) -> np.ndarray:
    """The numbers of the sentences at ``indices``: a dataset of several directions counts batches, not sentences.

    Nothing for several directions at once, as in training.
    """
    if not hasattr(dataset, "longest_dataset"):
        return np.asarray(indices)
    return np.asarray([] if dataset.eval_key is None else dataset._ordered_indices[dataset.eval_key], dtype=np.int64)


def size_of(dataset: Any, number: int) -> str:
    """How many pieces the sentence has, on each of its sides."""
    if hasattr(dataset, "longest_dataset"):
        dataset = dataset.datasets[dataset.eval_key]
    size = dataset.size(number)
    return " and ".join(str(int(side)) for side in (size if isinstance(size, tuple) else (size,)))


def first_pairs(dataset: Any, vocabularies: tuple[Vocabulary, Vocabulary], count: int) -> list[Pair]:
    """Return the first ``count`` pairs of a dataset as the model gets them; none when it has no targets."""
    if hasattr(dataset, "longest_dataset"):  # of several directions
        dataset = dataset.datasets.get(dataset.eval_key, ())
    source, target = vocabularies
    pairs = []
    for number in range(min(count, len(dataset))):
        sample = dataset.collater([dataset[number]])
        if sample.get("target") is None:
            return []
        pieces, words = sample["net_input"]["src_tokens"][0].tolist(), sample["target"][0, :-1].tolist()
        pairs.append((Line(pieces, source.sentence(pieces)), Line(words, target.sentence(words))))
    return pairs

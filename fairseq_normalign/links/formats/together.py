"""Several alignment files of the same sentences, read in step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...errors import NormalignError
from .blocks import Block, Lengths
from .ids import IdSentences
from .log import GenerateLog
from .open import AlignmentFile

BLOCK = 512


def in_step(
    files: Sequence[AlignmentFile], lengths: Lengths | None = None, *, ids_in_order: bool = False, size: int = BLOCK
) -> Iterator[list[Block]]:
    """Give blocks of the same sentences, one per file, to the end; an error when a file has more or fewer sentences.

    With ``ids_in_order`` the ids of a file give only the order; otherwise a gap in them is a sentence without links.
    """
    place_together(files, lengths, ids_in_order=ids_in_order)
    while True:
        known = lengths.take(size) if lengths else {}
        wanted = min((len(values) for values in known.values()), default=size)
        first = files[0].take(wanted, known)
        if known and _may_end_early(files[0]):
            first = first.padded(wanted)
        blocks = [first]
        for file in files[1:]:
            block = file.take(first.count, known)
            blocks.append(block.padded(first.count) if _may_end_early(file) else block)
        ended = first.count < size
        uneven = any(block.count != first.count for block in blocks) or any(
            len(values) != first.count for values in known.values()
        )
        if uneven or (ended and any(file.rest() for file in files)):
            raise _uneven(files, lengths)
        if first.count:
            yield blocks
        if ended:
            return


def _may_end_early(file: AlignmentFile) -> bool:
    return isinstance(file.sentences, GenerateLog) and file.sentences.allow_missing


def _uneven(files: Sequence[AlignmentFile], lengths: Lengths | None) -> NormalignError:
    totals = {file.name: file.total() for file in files} | (lengths.totals() if lengths else {})
    (name, count), *others = totals.items()
    other, different = next(((other, total) for other, total in others if total != count), (name, count))
    hint = ""
    if any(isinstance(file.sentences, GenerateLog) and file.total() < max(totals.values()) for file in files):
        how = next((file.options.missing_hint for file in files if file.options.missing_hint), "")
        hint = "; fairseq-generate can drop the last sentences" + (f", {how}" if how else "")
    return NormalignError(f"{name} has {count} sentences, {other} has {different}{hint}")


def place_together(
    files: Sequence[AlignmentFile], lengths: Lengths | None = None, *, ids_in_order: bool = False
) -> None:
    """Put the sentences of files with ids in step with the others; the first file is the one that must be complete.

    How many sentences there are is known from ``lengths``, else from the first file without ids. When every file has
    ids they are matched by them.
    """
    with_ids = [file for file in files if isinstance(file.sentences, IdSentences)]
    if not with_ids:
        return
    if ids_in_order:
        for file in with_ids:
            file.sentences.place_at(file.sentences.ids, len(file.sentences.ids))  # type: ignore[union-attr]
        return
    count, counted = (lengths.count(), "the source or target text") if lengths else (None, "")
    if count is None:
        for file in files:
            if not isinstance(file.sentences, IdSentences):
                count, counted = file.sentences.count_ahead(), file.name
                break
    if count is None and len(files) > 1:
        _match_ids([file.sentences for file in with_ids if isinstance(file.sentences, IdSentences)])
        return
    reliable = bool(lengths) or not isinstance(files[0].sentences, IdSentences)
    for file in with_ids:
        file.sentences.place(count, may_end_early=reliable or file is not files[0], counted=counted)  # type: ignore[union-attr]


def _match_ids(all_sentences: Sequence[IdSentences]) -> None:
    first = all_sentences[0]
    universe = first.ids
    for sentences in all_sentences[1:]:
        strange = sentences.ids[(sentences.ids < first.ids[0]) | (sentences.ids > first.ids[-1])]
        if len(strange):
            known = f"{first.name}, whose ids are {first.ids[0]} to {first.ids[-1]}"
            raise NormalignError(f"{sentences.name}: sentence {strange[0]} is not in {known}")
        universe = np.union1d(universe, sentences.ids)
    for sentences in all_sentences:
        sentences.place_at(universe, len(universe))

"""What a task of fairseq's puts around a sentence: the end of sentence and language tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Frame:
    """The symbols that a task puts around a sentence, as dictionary indices: end of sentence and language tags."""

    source_front: tuple[int, ...]
    source_end: tuple[int, ...]
    target_start: tuple[int, ...]
    """What the decoder is given before the first piece; the first of them is the start symbol."""
    target_end: tuple[int, ...]
    """What the decoder has to say after the last piece."""

    def pieces(self, target: Sequence[int]) -> list[int]:
        """The pieces of a hypothesis: without the tags in front, as far as they are there, and without its end."""
        found = list(target)
        for symbol in self.target_start[1:]:
            found = found[1:] if found[:1] == [symbol] else found
        for symbol in reversed(self.target_end):
            found = found[:-1] if found[-1:] == [symbol] else found
        return found

    @property
    def source(self) -> frozenset[int]:
        """All symbols around the source."""
        return frozenset((*self.source_front, *self.source_end))

    @property
    def target(self) -> frozenset[int]:
        """All symbols around the target."""
        return frozenset((*self.target_start, *self.target_end))


def framed(task: Any, source_tag: int | None, target_tag: int | None, *, replacing: bool) -> Frame:
    """Tags in front of the sentences, or instead of the source's end and the start symbol."""
    ends = task.source_dictionary.eos(), task.target_dictionary.eos()
    source, target = (() if tag is None else (tag,) for tag in (source_tag, target_tag))
    if replacing:
        return Frame((), source or (ends[0],), target or (ends[1],), (ends[1],))
    return Frame(source, (ends[0],), (ends[1], *target), (ends[1],))

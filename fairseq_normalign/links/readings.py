"""What is read from a model for one sentence pair: where (`Reading`), and the numbers of a method (`MethodReading`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from .decide import Link
from .words import STEPS

EACH: Final = -1
"""In the place of a head: each head by itself."""


@dataclass(frozen=True, order=True)
class Place:
    """What is read in one pass: a method, a 0-based layer, and a head.

    ``head`` is 0-based; None stands for all heads together and :data:`EACH` for every head by itself.

    >>> Place("norms", 0, 1)
    Place(method='norms', layer=0, head=1)
    """

    method: str
    layer: int
    head: int | None = None


@dataclass(frozen=True)
class Reading:
    """Where a soft alignment is read: method, 0-based layer, 0-based head (None: all together), step."""

    method: str
    layer: int = 0
    head: int | None = None
    step: str = "awi"

    @property
    def place(self) -> Place:
        """The place it is read from, which both steps share."""
        return Place(self.method, self.layer, self.head)

    @property
    def spec(self) -> str:
        """How a person types it: ``METHOD:LAYER[.HEAD]:STEP``, counted from 1.

        >>> Reading("norms", 0, 1, "awi").spec
        'norms:1.2:awi'
        """
        head = "" if self.head is None else f".{self.head + 1}"
        return f"{self.method}:{self.layer + 1}{head}:{self.step}"

    def label(self, shape: ReadingShape | None = None) -> str:
        """How a person reads it: 'norms, layer 2, AWI'."""
        kind = "steps" if shape is None else shape.kind
        parts = [self.method]
        if kind != "links" and not (kind == "words" and shape is not None and shape.layers == 1):
            parts.append(f"layer {self.layer + 1}")
        if self.head is not None:
            parts.append(f"head {self.head + 1}")
        if kind == "steps":
            parts.append(self.step.upper())
        return ", ".join(parts)


@dataclass(frozen=True)
class MethodReading:
    """What one method says of one pair: ``steps``, ``words`` or ``links``; links beside words are those decided."""

    steps: np.ndarray | None = None
    """[layers, T + 1 decoder steps, S source positions]."""
    heads: np.ndarray | None = None
    """[layers, H, T + 1, S]; only beside ``steps``."""
    words: np.ndarray | None = None
    """[layers, target words, source words]: AWO or AWI was settled before."""
    links: tuple[Link, ...] | None = None
    """Links between words from elsewhere, without numbers."""
    read_at: tuple[str, ...] = STEPS
    """Which decoder step of ``steps`` may stand for a target word."""

    @property
    def shape(self) -> ReadingShape:
        """The layers, heads and steps there are."""
        if self.steps is not None:
            heads = 0 if self.heads is None else self.heads.shape[1]
            return ReadingShape("steps", len(self.steps), heads, self.read_at)
        if self.words is not None:
            return ReadingShape("words", len(self.words), 0, ("",))
        return ReadingShape("links", 1, 0, ("",))


@dataclass(frozen=True)
class ReadingShape:
    """What can be chosen of a reading: layers, heads (0: only all together) and steps."""

    kind: str
    layers: int
    heads: int
    steps: tuple[str, ...]


def every_reading(method: str, shape: ReadingShape) -> Iterator[Reading]:
    """Give each reading of a method, in the order that the page and its counts share.

    >>> [reading.step for reading in every_reading("norms", ReadingShape("steps", 1, 0, ("awo", "awi")))]
    ['awo', 'awi']
    """
    for layer in range(shape.layers):
        for head in (None, *range(shape.heads)):
            for step in shape.steps:
                yield Reading(method, layer, head, step)

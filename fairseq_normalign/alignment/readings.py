"""Where soft alignments are read: which method, layer and head, and at which decoder step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

EACH: Final = -1
"""In the place of a head: every head by itself."""


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
    """One soft alignment: where it is read, and whether the word is the input (awi) or the output (awo) of the step.

    >>> Reading("norms", 0, 1, "awi").label
    'norms, layer 1, head 2, AWI'
    """

    method: str
    layer: int
    head: int | None = None
    setting: str = "awi"

    @property
    def place(self) -> Place:
        """The place it is read from, which both settings share."""
        return Place(self.method, self.layer, self.head)

    @property
    def label(self) -> str:
        """How a person reads it; layers and heads count from 1."""
        head = "" if self.head is None else f", head {self.head + 1}"
        return f"{self.method}, layer {self.layer + 1}{head}, {self.setting.upper()}"

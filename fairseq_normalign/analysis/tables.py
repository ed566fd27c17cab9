"""What an analysis says, as tables. numpy only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from .attention_batch import Observed

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows under names; layers and heads count from 1, as in the papers."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""
    detail: bool = False
    """Whether it is too long to be read: left to files."""


class Analysis(ABC):
    """Something that looks at batches, one after the other, and says what it saw."""

    needs_mixing = False
    """Whether layers have to bring their mixing ratios."""

    @abstractmethod
    def add(self, observed: Observed) -> None:
        """Look at one batch."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """What was seen, the summary first."""

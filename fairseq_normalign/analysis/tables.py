"""The results of an analysis as tables. numpy only."""

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
    """Whether it is long: shown only in files."""


class Analysis(ABC):
    """Statistics over batches, given one after the other."""

    needs_mixing = False
    """Whether layers must have their mixing ratios."""

    @abstractmethod
    def add(self, observed: Observed) -> None:
        """Add one batch."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """Return the results, the summary first."""

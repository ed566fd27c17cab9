"""Writing alignment files, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from ...errors import NormalignError
from ..decide import Link
from .option_names import with_value

WRITERS = {"pharaoh": 0, "talp": 1, "naacl": 1, "rwth": 1, "fairseq": 0}
"""Formats that can be written, with the base each is usually counted from."""

_WITH_MARKS = ("talp", "naacl", "rwth")


def pharaoh(links: Iterable[Link]) -> str:
    """Return the line of a sentence's links (source, target) in Pharaoh format, without a line end.

    >>> pharaoh([(0, 0), (1, 2)])
    '0-0 1-2'
    """
    return " ".join(f"{source}-{target}" for source, target in links)


class Writer:
    """Writes one sentence after the other. ``possible`` says what to do with links that are only possible where the
    format has no mark for them: "keep" them as links, "drop" them, or None, an error."""

    def __init__(
        self,
        handle: TextIO,
        format: str,
        *,
        base: int | None = None,
        first_id: int | None = None,
        possible: str | None = None,
        option: str = "possible",
    ) -> None:
        if format not in WRITERS:
            raise NormalignError(f"cannot write the format '{format}'; choose one of {', '.join(WRITERS)}")
        self._handle = handle
        self._format = format
        self._base = WRITERS[format] if base is None else base
        self._id = (0 if format == "fairseq" else 1) if first_id is None else first_id
        self._possible = possible
        self._option = option

    def write(self, links: Iterable[tuple[int, int, bool]]) -> None:
        """Write the next sentence from its (source, target, sure), 0-based."""
        rows = [(s + self._base, t + self._base, sure) for s, t, sure in links if sure or self._keeps_possible(s, t)]
        getattr(self, f"_{self._format}")(rows)
        self._id += 1

    def _keeps_possible(self, source: int, target: int) -> bool:
        if self._format in _WITH_MARKS or self._possible == "keep":
            return True
        if self._possible == "drop":
            return False
        keep, drop = (with_value(self._option, value) for value in ("keep", "drop"))
        raise NormalignError(
            f"sentence {self._id}: link {source + self._base}-{target + self._base} is only possible, which "
            f"{self._format} cannot say; choose {keep} or {drop}"
        )

    def _pharaoh(self, rows: list[tuple[int, int, bool]]) -> None:
        print(pharaoh((s, t) for s, t, _ in rows), file=self._handle)

    def _talp(self, rows: list[tuple[int, int, bool]]) -> None:
        print(" ".join(f"{s}{'-' if sure else 'p'}{t}" for s, t, sure in rows), file=self._handle)

    def _naacl(self, rows: list[tuple[int, int, bool]]) -> None:
        for s, t, sure in rows:
            print(f"{self._id:04d} {s} {t} {'S' if sure else 'P'}", file=self._handle)

    def _rwth(self, rows: list[tuple[int, int, bool]]) -> None:
        print(f"SENT: {self._id}", file=self._handle)
        for s, t, sure in rows:
            print(f"{'S' if sure else 'P'} {s} {t}", file=self._handle)

    def _fairseq(self, rows: list[tuple[int, int, bool]]) -> None:
        print(f"A-{self._id}\t" + pharaoh((s, t) for s, t, _ in rows), file=self._handle)

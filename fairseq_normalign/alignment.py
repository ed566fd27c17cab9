"""The alignment of one pair of sentences, and what a check found of it, as the Python interface returns them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .links.decide import Link
from .links.formats import pharaoh
from .links.formats.json_lines import AlignedPair as JsonPair
from .links.formats.json_lines import to_json
from .links.readings import Reading

if TYPE_CHECKING:
    from .align.model import Read
    from .hosts.protocol import Pair


@dataclass(frozen=True)
class Alignment:
    """A sentence pair in words and its links."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: list[Link]
    """(source, target), 0-based positions of words, sorted."""
    confidence: list[float] = field(default_factory=list)
    """One number from 0 to 1 per link."""
    soft: np.ndarray | None = field(default=None, repr=False)
    """[target words, source words]: what the links were decided by; None where the pair could not be aligned."""
    score: float | None = None
    """Mean log-probability of the target's pieces and its end, natural logarithm; of translations, and where asked."""
    skipped: str | None = None
    """Why the pair was not aligned: 'empty' or 'too long'."""
    source_text: str = field(default="", repr=False)
    """The line as it was given; of a translation, as it was translated."""
    target_text: str = field(default="", repr=False)
    source_spans: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    """``(start, end)`` of each source word in ``source_text``."""
    target_spans: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    """``(start, end)`` of each target word in ``target_text``."""
    lines: Pair | None = field(default=None, repr=False, compare=False)
    """Both sides as the forward model reads them."""
    directions: tuple[np.ndarray, ...] = field(default=(), repr=False, compare=False)
    """The soft alignments of the directions, [target, source] and [source, target], where ``soft`` is kept."""
    read: Read | None = field(default=None, repr=False, compare=False)
    """Everything that was read of the pair, where it was asked for."""

    @classmethod
    def of(cls, lines: Pair, links: Sequence[Link] = (), confidence: Sequence[float] = (), **more: Any) -> Alignment:
        """Return the alignment of two lines as a model reads them; ``more``: other fields."""
        source, target = lines
        return cls(
            source.sentence.by_word.words,
            target.sentence.by_word.words,
            list(links),
            list(confidence),
            source_text=source.text,
            target_text=target.text,
            source_spans=source.places,
            target_spans=target.places,
            lines=lines,
            **more,
        )

    @functools.cached_property
    def readings(self) -> Mapping[Reading, np.ndarray]:
        """[target words, source words] of every reading of the forward model that decided or was asked for."""
        if self.read is None:
            return {}
        found = list(self.read.expert.readings)
        found += [
            Reading(place.method, place.layer, place.head, self.read.expert.readings[0].step)
            for place in self.read.steps
        ]
        return {reading: self.read.read(reading) for reading in dict.fromkeys(found)}

    def pharaoh(self) -> str:
        """Return the links as text: ``0-0 1-2``.

        >>> Alignment(("das", "Haus"), ("the", "house"), [(0, 0), (1, 1)]).pharaoh()
        '0-0 1-1'
        """
        return pharaoh(self.links)

    def json(self) -> str:
        """Return the pair as a line of JSON: both texts, the places of their words, links with their confidence.

        >>> pair = Alignment(("ja",), ("yes",), [(0, 0)], [0.5], source_text="ja", target_text="yes")
        >>> pair.json()[-57:]
        '"links": [{"source": 0, "target": 0, "confidence": 0.5}]}'
        """
        known = dict(zip(self.links, self.confidence, strict=False))
        links = [(source, target, True) for source, target in self.links]
        return to_json(JsonPair(self.source_text, self.target_text, self.source_spans, self.target_spans, links, known))

    def draw(self, path: str | Path | None = None) -> str | None:
        """Draw the pair: to a figure at ``path`` (.png, .svg, .pdf), or return it as text for a terminal."""
        from .show.grids import draw_alignment

        return draw_alignment(self.source, self.target, self.links, self.soft, path)

    def _repr_html_(self) -> str:
        from .show.grids import svg_grid

        return f"<div style='overflow-x:auto'>{svg_grid(self.source, self.target, self.links, self.soft)}</div>"


@dataclass(frozen=True)
class TranslationCheck:
    """Whether the target of a pair translates its source.

    >>> found = TranslationCheck(("ja",), ("yes", "sir"), [(0, 0)], score=-1.0, without_source=[1])
    >>> [found.target[place] for place in found.without_source]
    ['sir']
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: list[Link]
    """(source, target), 0-based positions of words, sorted."""
    score: float | None = None
    """Higher for better translations; compare scores of the same models only. None where the pair was not checked."""
    numbers: Mapping[str, float] = field(default_factory=dict, repr=False)
    """Every number about the pair by its name: the columns of ``normalign check``."""
    without_source: list[int] = field(default_factory=list)
    """Positions of target words that have no source."""
    without_target: list[int] = field(default_factory=list)
    """Positions of source words that have no target."""
    skipped: str | None = None
    """Why the pair was not checked: 'empty' or 'too long'."""

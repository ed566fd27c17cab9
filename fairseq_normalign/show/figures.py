"""Soft alignments as figures: words on both axes, links in green frames, gold filled and hatched."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import MissingExtra, NormalignError
from ..files import check_writable, open_binary_output
from ..links.decide import Link
from ..links.pieces import Sentence
from ..links.read_pair import ReadPair, links_of, soft_of
from ..links.readings import Reading
from .fonts import drawn_text, missing_letters, usable_families

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
RIGHT, WRONG, MISSED, INK = "#1f8a4c", "#c2401c", "#80620a", "#24221e"
_HEAT = ("#ffffff", "#dfe6f0", "#9db3d3", "#4a6ea5", "#1c3766")
_CELL, _FONT = 0.27, 8.5
_WIDEST = 30
_TITLE = 1.15
"""How much larger than labels titles are drawn, with some room."""
_LONGEST_LABEL = 22
_MOST_DOTS = 200_000_000
"""Four bytes each: what a figure may take of the memory."""


Labels = tuple[list[str], list[str]]
"""Rotation of the source words and of the target words."""


@dataclass(frozen=True)
class Style:
    """How a figure looks."""

    threshold: float | None = None
    """The share of its row that makes a cell a link; None for argmax."""
    level: str = "word"
    reference: bool = True
    """A panel of the gold alone beside the others, when there is gold."""
    columns: int = 3
    dpi: int = 150


@dataclass(frozen=True)
class Panel:
    """One grid of the figure."""

    title: str
    soft: np.ndarray | None
    """[target, source]."""
    links: Sequence[Link]
    judged: bool
    """Whether links are held against the gold."""


def save_figure(
    path: str | Path, pairs: Sequence[ReadPair], choices: Sequence[Reading], style: Style | None = None
) -> str:
    """Draw pairs, one figure each, its choices side by side; ``path`` ends in .png, .svg or .pdf.

    A PDF has one page per pair; PNG and SVG hold one pair only. Returns the letters that no installed font has.
    """
    style = style or Style()
    format = figure_format(path)
    if len(pairs) > 1 and format != "pdf":
        raise NormalignError(f"{path}: only a PDF holds several sentences; write one {format} file per sentence")
    check_writable(path)
    missing = ""
    with open_binary_output(path) as out, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)  # said to the user in one line
        if format == "pdf":
            from matplotlib.backends.backend_pdf import PdfPages

            with PdfPages(out, metadata={"CreationDate": None}) as pages:
                for pair in pairs:
                    figure, lost = figure_of(pair, choices, style)
                    missing += lost
                    pages.savefig(figure)
        else:
            figure, missing = figure_of(pairs[0], choices, style)
            metadata = {"Date": None} if format == "svg" else None
            figure.savefig(out, format=format, dpi=style.dpi, metadata=metadata)
    return "".join(sorted(set(missing)))


def figure_format(path: str | Path) -> str:
    """The format that the name asks for."""
    format = Path(path).suffix.lower().removeprefix(".")
    if format not in FORMATS:
        raise NormalignError(f"{path}: a figure's name ends in {', '.join('.' + known for known in FORMATS)}")
    return format


def figure_of(pair: ReadPair, choices: Sequence[Reading], style: Style | None = None) -> tuple[Figure, str]:
    """The figure of a pair (a matplotlib Figure that no global state knows), and the letters that no font has."""
    style = style or Style()
    figure_class, fonts = _matplotlib()
    panels = list(_panels(pair, choices, style))
    source, target = pair.source.at(style.level).words, pair.target.at(style.level).words
    labels = [_label(word) for word in source], [_label(word) for word in target]
    handles = _legend_handles(any(panel.judged for panel in panels), style.level)
    layout = _Layout.of(labels, [panel.title for panel in panels], len(handles), style.columns, fonts)
    width, height = layout.size
    if width * height * style.dpi**2 > _MOST_DOTS:
        raise NormalignError(
            f"sentence {pair.id + 1}: {len(source)} and {len(target)} words are too many for a figure; a page has room"
        )
    figure = figure_class(figsize=layout.size)
    for number, panel in enumerate(panels):
        _draw(figure.add_axes(layout.place(number)), panel, pair, labels, style, fonts)
    figure.text(0.1 / width, 1 - 0.08 / height, f"sentence {pair.id + 1}", va="top", fontsize=_FONT, color="#6d685e")
    figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.1 / width, 0.03 / height),
        ncols=layout.legend_columns,
        frameon=False,
        prop={"size": _FONT - 1, "family": fonts},
        borderpad=0,
        handlelength=1.4,
        columnspacing=1.2,
    )
    return figure, missing_letters((*source, *target), fonts)


@dataclass(frozen=True)
class _Layout:
    """Positions of the panels of a figure, in inches."""

    columns: int
    grid: tuple[float, float]
    """Width and height of the cells of a panel."""
    left: float
    """Room for target words, and for a title wider than the cells."""
    top: float
    size: tuple[float, float]
    legend_columns: int
    below: float = 0.35

    @classmethod
    def of(cls, labels: Labels, titles: Sequence[str], handles: int, most_columns: int, fonts: list[str]) -> _Layout:
        """Return the layout with room for the labels, the cells and the titles."""
        grid = max(1, len(labels[0])) * _CELL, max(1, len(labels[1])) * _CELL
        columns = min(most_columns, len(titles), max(1, int(_WIDEST / (grid[0] + 1.5))))
        rows = -(-len(titles) // columns)
        above, beside = (_widest(side, fonts) for side in labels)
        title = _TITLE * _widest([_plain(title) for title in titles], fonts)
        left, top = max(beside, title - grid[0]) + 0.3, above + 0.15
        width = columns * (left + grid[0]) + 0.25
        legend_columns = max(1, min(handles, int(width / 1.05)))
        height = rows * (top + grid[1] + cls.below) + 0.4 + 0.17 * -(-handles // legend_columns)
        return cls(columns, grid, left, top, (width, height), legend_columns)

    def place(self, number: int) -> tuple[float, float, float, float]:
        """Left, bottom, width and height of a panel's cells, as parts of the figure."""
        down, across = divmod(number, self.columns)
        width, height = self.size
        x = across * (self.left + self.grid[0]) + self.left
        y = height - 0.3 - down * (self.top + self.grid[1] + self.below) - self.top - self.grid[1]
        return x / width, y / height, self.grid[0] / width, self.grid[1] / height


def _matplotlib() -> tuple[type[Figure], list[str]]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plots", "a figure") from None
    return Figure, usable_families()


def _panels(pair: ReadPair, choices: Sequence[Reading], style: Style) -> Iterator[Panel]:
    with_gold = pair.gold is not None
    if with_gold and style.reference:
        yield Panel("reference", None, [], False)
    for choice in choices:
        shape = pair.readings[choice.method].shape if choice.method in pair.readings else None
        soft = soft_of(pair, choice, style.level)
        links = links_of(pair, choice, threshold=style.threshold, level=style.level)
        yield Panel(choice.label(shape), soft, links, with_gold)


def _draw(axes: Axes, panel: Panel, pair: ReadPair, labels: Labels, style: Style, fonts: list[str]) -> None:
    source, target = labels
    axes.set_xlim(0, max(len(source), 1))
    axes.set_ylim(max(len(target), 1), 0)
    if panel.soft is not None and panel.soft.size:
        axes.pcolormesh(panel.soft, cmap=_colours(), vmin=0, vmax=max(float(panel.soft.max()), 0) or 1)
    axes.set_xticks(np.arange(len(source)) + 0.5, source, rotation=90, fontsize=_FONT, family=fonts)
    axes.set_yticks(np.arange(len(target)) + 0.5, target, fontsize=_FONT, family=fonts)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False, pad=3)
    axes.vlines(np.arange(len(source) + 1), 0, len(target), colors="#d9d5ca", linewidths=0.4)
    axes.hlines(np.arange(len(target) + 1), 0, len(source), colors="#d9d5ca", linewidths=0.4)
    for spine in axes.spines.values():
        spine.set_color("#8b8677")
        spine.set_linewidth(0.6)
    title = _plain(panel.title)
    narrow = len(source) * _CELL < _TITLE * _widest([title], fonts)
    axes.set_xlabel(title, loc="right" if narrow else "center", fontsize=_FONT + 1, color=INK, labelpad=4, family=fonts)
    _mark(axes, panel, pair, style)


def _mark(axes: Axes, panel: Panel, pair: ReadPair, style: Style) -> None:
    from matplotlib.patches import Rectangle

    reference = panel.title == "reference" and panel.soft is None and not panel.judged
    gold = _gold_cells(pair, style.level)
    for (source, target), sure in gold.items():
        margin = 0.1 if reference else 0.34
        box = (source + margin, target + margin), 1 - 2 * margin, 1 - 2 * margin
        fill, edge, hatch = (INK, "white", None) if sure else ("white", INK, "//////")
        axes.add_patch(Rectangle(*box, facecolor=fill, edgecolor=edge, hatch=hatch, linewidth=0.5, zorder=3))
    for source, target in panel.links:
        right = not panel.judged or (source, target) in gold
        frame = (source + 0.06, target + 0.06), 0.88, 0.88
        axes.add_patch(Rectangle(*frame, fill=False, linewidth=2.8, edgecolor="white", alpha=0.7, zorder=4))
        edge, dashes = (RIGHT, "solid") if right else (WRONG, (0, (2.2, 1.2)))
        axes.add_patch(Rectangle(*frame, fill=False, linewidth=1.7, zorder=4, edgecolor=edge, linestyle=dashes))
        if not right:
            for colour, width in (("white", 2.4), (WRONG, 1.2)):
                axes.plot(
                    source + 0.5, target + 0.5, marker="x", color=colour, markersize=6, mew=width, zorder=5, ls=""
                )
    if panel.judged and style.level == "word":
        missed = [link for link, sure in gold.items() if sure and link not in set(panel.links)]
        if missed:
            x, y = np.asarray(missed).T + 0.5
            axes.plot(
                x, y, linestyle="", marker="o", markersize=13, markerfacecolor="none", markeredgecolor=MISSED, zorder=4
            )


def _gold_cells(pair: ReadPair, level: str) -> dict[Link, bool]:
    """The gold links at a level, True for sure ones; a link of two words is one of all their pieces."""
    if pair.gold is None:
        return {}
    words = {link: link in pair.gold.sure for link in sorted(pair.gold.possible)}
    if level == "word":
        return words
    source, target = (_pieces_of(side) for side in (pair.source, pair.target))
    return {(s, t): sure for (i, j), sure in words.items() for s in source[i] for t in target[j]}


def _pieces_of(side: Sentence) -> list[list[int]]:
    """The columns that a word's pieces take when pieces that are no words are left out."""
    place = {position: number for number, (position, _) in enumerate(side.by_piece.spans)}
    return [[place[position] for position in range(*span)] for span in side.by_word.spans]


def _legend_handles(judged: bool, level: str) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Artist] = [Patch(fill=False, edgecolor=RIGHT, linewidth=1.7, label="link")]
    if judged:
        handles.append(Patch(fill=False, edgecolor=WRONG, linestyle="--", linewidth=1.4, label="wrong link"))
        if level == "word":
            ring = Line2D(
                [], [], label="missed", marker="o", markerfacecolor="none", markeredgecolor=MISSED, linestyle=""
            )
            handles.append(ring)
        handles += [
            Patch(facecolor=INK, label="gold, sure"),
            Patch(facecolor="white", edgecolor=INK, hatch="//////", label="gold, possible"),
        ]
    return handles


def _colours() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("normalign", _HEAT)


def _label(word: str) -> str:
    """Return the word as drawn, cut when it is too long for the grid."""
    cut = word if len(word) <= _LONGEST_LABEL else word[: _LONGEST_LABEL - 1] + "…"
    return _plain(drawn_text(cut))


def _plain(text: str) -> str:
    """Return the text with dollar signs escaped: matplotlib reads them as mathematics."""
    return text.replace("$", r"\$")


def _widest(labels: Sequence[str], fonts: list[str]) -> float:
    """The length of the longest label in inches, as it will be drawn."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    scratch = Figure(dpi=72)
    renderer = FigureCanvasAgg(scratch).get_renderer()
    texts = [scratch.text(0, 0, label, fontsize=_FONT, family=fonts) for label in set(labels)]
    return max((text.get_window_extent(renderer).width for text in texts), default=20) / 72

"""Soft alignments as figures: words on both axes, links in green frames, gold filled and hatched."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import MissingExtra, NormalignError
from ..files import NAMELESS, check_writable, open_binary_output
from ..links.decide import Link
from ..links.read_pair import ReadPair, links_of, soft_of
from ..links.readings import Reading
from .fonts import drawn_text, missing_letters, usable_families

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
RIGHT, WRONG, MISSED, INK = "#1f8a4c", "#c2401c", "#80620a", "#24221e"
_HEAT = ("#ffffff", "#dfe6f0", "#9db3d3", "#4a6ea5", "#1c3766")
_CELL, _FONT = 0.27, 8.5
"""Edge of a cell in inches, size of letters in points."""
_WIDEST, _ACROSS, _DPI = 30, 3, 150
"""The widest figure in inches, the most panels next to each other, and dots per inch."""
_TITLE = 1.15
"""Titles are so much larger than labels, with some room."""
_LONGEST_LABEL = 22
_MOST_DOTS = 200_000_000
"""The dots of the largest figure; each takes four bytes of memory."""


_Panel = tuple[str, np.ndarray | None, Sequence[Link] | None]
"""One grid: its title, the soft alignment [target, source], and its links; None: it shows the gold alone."""


def matplotlib_figure() -> type[Figure]:
    """Return matplotlib's class of figures, which no global state knows; an error names the extra to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plots", "a figure") from None
    return Figure


def plain_text(text: str) -> str:
    """Return the text with dollar signs escaped, which matplotlib would read as mathematics."""
    return text.replace("$", r"\$")


def figure_format(path: str | Path) -> str:
    """Return the format that a file's name asks for.

    >>> figure_format("a.PNG")
    'png'
    """
    if not str(path):
        raise NormalignError(NAMELESS)
    format = Path(path).suffix.lower().removeprefix(".")
    if format not in FORMATS:
        raise NormalignError(f"{path}: a figure's name ends in {', '.join('.' + known for known in FORMATS)}")
    return format


def save_figure(
    path: str | Path,
    pairs: Sequence[ReadPair],
    choices: Sequence[Reading],
    *,
    threshold: float | None = None,
    level: str = "word",
    reference: bool = True,
) -> str:
    """Draw pairs, one figure each with its choices side by side; ``path`` ends in .png, .svg or .pdf.

    A PDF has one page per pair; PNG and SVG hold one pair only. Returns the letters that no installed font has. The
    other arguments are those of :func:`figure_of`.
    """
    format = figure_format(path)
    if len(pairs) > 1 and format != "pdf":
        raise NormalignError(f"{path}: only a PDF holds several sentences; write one {format} file per sentence")
    check_writable(path)
    figures = (figure_of(pair, choices, threshold=threshold, level=level, reference=reference) for pair in pairs)
    missing = ""
    with open_binary_output(path) as out, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)  # missing letters are returned
        if format == "pdf":
            matplotlib_figure()
            from matplotlib.backends.backend_pdf import PdfPages

            with PdfPages(out, metadata={"CreationDate": None}) as pages:
                for figure, lost in figures:
                    missing += lost
                    pages.savefig(figure)
        else:
            figure, missing = next(figures)
            metadata = {"Date": None} if format == "svg" else None
            figure.savefig(out, format=format, dpi=_DPI, metadata=metadata)
    return "".join(sorted(set(missing)))


def figure_of(
    pair: ReadPair,
    choices: Sequence[Reading],
    *,
    threshold: float | None = None,
    level: str = "word",
    reference: bool = True,
) -> tuple[Figure, str]:
    """Return the figure of a pair, and the letters that no font has.

    ``threshold``: the share of its row that makes a cell a link (None: the largest of each row); ``reference``: whether
    the gold has a panel of its own.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure_class, fonts = matplotlib_figure(), usable_families()
    panels: list[_Panel] = [("reference", None, None)] if pair.gold is not None and reference else []
    for choice in choices:
        shape = pair.readings[choice.method].shape if choice.method in pair.readings else None
        links = links_of(pair, choice, threshold=threshold, level=level)
        panels.append((choice.label(shape), soft_of(pair, choice, level), links))
    words = pair.source.at(level).words, pair.target.at(level).words
    source, target = ([_label(word) for word in side] for side in words)
    handles: list[Artist] = [Patch(fill=False, edgecolor=RIGHT, linewidth=1.7, label="link")]
    if pair.gold is not None:
        handles.append(Patch(fill=False, edgecolor=WRONG, linestyle="--", linewidth=1.4, label="wrong link"))
        ring = Line2D([], [], label="missed", marker="o", markerfacecolor="none", markeredgecolor=MISSED, linestyle="")
        handles += [ring] if level == "word" else []
        handles.append(Patch(facecolor=INK, label="gold, sure"))
        handles.append(Patch(facecolor="white", edgecolor=INK, hatch="//////", label="gold, possible"))

    # sizes in inches: the cells of a panel, room at its left for words and a wide title, at its top for words
    grid = max(1, len(source)) * _CELL, max(1, len(target)) * _CELL
    columns = min(_ACROSS, len(panels), max(1, int(_WIDEST / (grid[0] + 1.5))))
    columns = -(-len(panels) // -(-len(panels) // columns))  # four panels are two rows of two, not three and one
    widest = _TITLE * _widest([plain_text(title) for title, _, _ in panels], fonts)
    left = max(_widest(target, fonts), widest - grid[0]) + 0.3
    top, below = _widest(source, fonts) + 0.15, 0.35
    width = columns * (left + grid[0]) + 0.25
    legend_columns = max(1, min(len(handles), int(width / 1.05)))
    height = -(-len(panels) // columns) * (top + grid[1] + below) + 0.4 + 0.17 * -(-len(handles) // legend_columns)
    if width * height * _DPI**2 > _MOST_DOTS:
        raise NormalignError(
            f"sentence {pair.id + 1}: {len(source)} and {len(target)} words are too many for a figure; a page has room"
        )

    figure = figure_class(figsize=(width, height))
    gold = _gold_cells(pair, level)
    for number, panel in enumerate(panels):
        down, across = divmod(number, columns)
        x = across * (left + grid[0]) + left
        y = height - 0.3 - down * (top + grid[1] + below) - top - grid[1]
        axes = figure.add_axes((x / width, y / height, grid[0] / width, grid[1] / height))
        _draw(axes, panel, source, target, fonts)
        _mark(axes, panel, None if pair.gold is None else gold, missed=level == "word")
    figure.text(0.1 / width, 1 - 0.08 / height, f"sentence {pair.id + 1}", va="top", fontsize=_FONT, color="#6d685e")
    figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.1 / width, 0.03 / height),
        ncols=legend_columns,
        frameon=False,
        prop={"size": _FONT - 1, "family": fonts},
        borderpad=0,
        handlelength=1.4,
        columnspacing=1.2,
    )
    return figure, missing_letters((*words[0], *words[1]), fonts)


def _draw(axes: Axes, panel: _Panel, source: Sequence[str], target: Sequence[str], fonts: list[str]) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    title, soft, _ = panel
    axes.set_xlim(0, max(len(source), 1))
    axes.set_ylim(max(len(target), 1), 0)
    if soft is not None and soft.size:
        colours = LinearSegmentedColormap.from_list("normalign", _HEAT)
        axes.pcolormesh(soft, cmap=colours, vmin=0, vmax=max(float(soft.max()), 0) or 1)
    axes.set_xticks(np.arange(len(source)) + 0.5, source, rotation=90, fontsize=_FONT, family=fonts)
    axes.set_yticks(np.arange(len(target)) + 0.5, target, fontsize=_FONT, family=fonts)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False, pad=3)
    axes.vlines(np.arange(len(source) + 1), 0, len(target), colors="#d9d5ca", linewidths=0.4)
    axes.hlines(np.arange(len(target) + 1), 0, len(source), colors="#d9d5ca", linewidths=0.4)
    for spine in axes.spines.values():
        spine.set_color("#8b8677")
        spine.set_linewidth(0.6)
    title = plain_text(title)
    narrow = len(source) * _CELL < _TITLE * _widest([title], fonts)
    axes.set_xlabel(title, loc="right" if narrow else "center", fontsize=_FONT + 1, color=INK, labelpad=4, family=fonts)


def _mark(axes: Axes, panel: _Panel, gold: dict[Link, bool] | None, *, missed: bool) -> None:
    """Draw gold (None: there is none), links, and with ``missed`` rings around the sure links that are not there."""
    from matplotlib.patches import Rectangle

    links = panel[2]
    for (source, target), sure in (gold or {}).items():
        margin = 0.1 if links is None else 0.34
        box = (source + margin, target + margin), 1 - 2 * margin, 1 - 2 * margin
        fill, edge, hatch = (INK, "white", None) if sure else ("white", INK, "//////")
        axes.add_patch(Rectangle(*box, facecolor=fill, edgecolor=edge, hatch=hatch, linewidth=0.5, zorder=3))
    for source, target in links or ():
        right = gold is None or (source, target) in gold
        frame = (source + 0.06, target + 0.06), 0.88, 0.88
        axes.add_patch(Rectangle(*frame, fill=False, linewidth=2.8, edgecolor="white", alpha=0.7, zorder=4))
        edge, dashes = (RIGHT, "solid") if right else (WRONG, (0, (2.2, 1.2)))
        axes.add_patch(Rectangle(*frame, fill=False, linewidth=1.7, zorder=4, edgecolor=edge, linestyle=dashes))
        for colour, width in () if right else (("white", 2.4), (WRONG, 1.2)):
            axes.plot(source + 0.5, target + 0.5, marker="x", color=colour, markersize=6, mew=width, zorder=5, ls="")
    rings = [link for link, sure in (gold or {}).items() if sure and links is not None and link not in set(links)]
    if missed and rings:
        x, y = np.asarray(rings).T + 0.5
        axes.plot(x, y, ls="", marker="o", markersize=13, markerfacecolor="none", markeredgecolor=MISSED, zorder=4)


def _gold_cells(pair: ReadPair, level: str) -> dict[Link, bool]:
    """Return the gold links at a level, True for sure ones; a link of two words is one of all their pieces."""
    if pair.gold is None:
        return {}
    words = {link: link in pair.gold.sure for link in sorted(pair.gold.possible)}
    if level == "word":
        return words
    pieces = []  # of each side: the rows or columns of each word's pieces; pieces that are no words have none
    for side in (pair.source, pair.target):
        place = {position: number for number, (position, _) in enumerate(side.by_piece.spans)}
        pieces.append([[place[position] for position in range(*span)] for span in side.by_word.spans])
    return {(s, t): sure for (i, j), sure in words.items() for s in pieces[0][i] for t in pieces[1][j]}


def _label(word: str) -> str:
    """Return the word as drawn, cut when it is too long for the grid."""
    return plain_text(drawn_text(word if len(word) <= _LONGEST_LABEL else word[: _LONGEST_LABEL - 1] + "…"))


def _widest(labels: Sequence[str], fonts: list[str]) -> float:
    """Return the length of the longest label in inches, as it will be drawn."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    scratch = matplotlib_figure()(dpi=72)
    renderer = FigureCanvasAgg(scratch).get_renderer()
    texts = [scratch.text(0, 0, label, fontsize=_FONT, family=fonts) for label in set(labels)]
    return max((text.get_window_extent(renderer).width for text in texts), default=20) / 72

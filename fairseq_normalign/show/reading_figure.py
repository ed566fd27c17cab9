"""The support of every layer and head as a picture: where a model looks at the word that it translates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.choose_readings import ReadingChoice
from ..errors import MissingExtra
from ..files import check_writable, open_binary_output
from .figures import figure_format

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

STEPS = (("awi", "after the word (AWI)"), ("awo", "before the word (AWO)"))


def support_grid(choice: ReadingChoice, step: str) -> np.ndarray:
    """Return the support [layers, 1 + heads] of a step, all heads together first; NaN where nothing was read."""
    rated = [one for one in choice.ranked if one.reading.step == step]
    layers = 1 + max((one.reading.layer for one in rated), default=0)
    heads = 2 + max((one.reading.head if one.reading.head is not None else -1 for one in rated), default=-1)
    grid = np.full((layers, heads), np.nan)
    for one in rated:
        grid[one.reading.layer, 0 if one.reading.head is None else one.reading.head + 1] = one.support
    return grid


def draw_support(choices: Sequence[ReadingChoice], path: str | Path) -> None:
    """Draw the support of every layer and head, one row of panels per direction; chosen readings are framed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plots", "a figure") from None
    check_writable(path)
    figure = Figure(figsize=(8, 2.6 * len(choices) + 0.4), layout="constrained")
    panels = figure.subplots(len(choices), len(STEPS), squeeze=False)
    highest = max((one.support for choice in choices for one in choice.ranked), default=1.0)
    for row, choice in enumerate(choices):
        for column, (step, title) in enumerate(STEPS):
            name = "" if len(choices) == 1 else ("forward, ", "reverse, ")[row]
            _panel(panels[row][column], choice, step, f"{name}{title}", highest)
    with open_binary_output(path) as handle:
        figure.savefig(handle, format=figure_format(path), dpi=150)


def _panel(axes: Axes, choice: ReadingChoice, step: str, title: str, highest: float) -> None:
    grid = support_grid(choice, step)
    axes.imshow(grid, cmap="Blues", vmin=0, vmax=highest, aspect="auto", origin="lower")
    for layer, row in enumerate(grid):
        for head, value in enumerate(row):
            if np.isfinite(value):
                colour = "white" if value > 0.6 * highest else "black"
                axes.text(head, layer, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
    for reading in choice.expert.readings:
        if reading.step == step:
            place = 0 if reading.head is None else reading.head + 1
            axes.add_patch(_frame(place, reading.layer))
    axes.set_title(title, fontsize=10)
    axes.set_xticks(range(grid.shape[1]), ["all", *(str(head) for head in range(1, grid.shape[1]))])
    axes.set_yticks(range(grid.shape[0]), [str(layer + 1) for layer in range(grid.shape[0])])
    axes.set_xlabel("head")
    axes.set_ylabel("layer")


def _frame(column: int, row: int) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, fill=False, edgecolor="#c2401c", linewidth=2)

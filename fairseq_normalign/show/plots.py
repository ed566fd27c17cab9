"""Results as pictures: AER of layers, support of readings, analyses of attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.attention_tables import BANDS, Frequency
from ..files import check_writable, open_binary_output
from .figures import figure_format, matplotlib_figure, plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..analysis.attention_tables import CategoryShares, Dispersion, Heads, Mixing, Relation, SingularValues
    from ..analysis.choose_readings import ReadingChoice
    from ..analysis.comparison import LayerRow

COLOURS = ("#c2401c", "#4a6ea5", "#1f8a4c", "#80620a", "#7a4a9a", "#24221e", "#b0567e", "#5a5a5a")


class Picture:
    """Panels in rows and columns, of ``width`` by ``height`` inches; no global state of matplotlib is used."""

    def __init__(self, rows: int, across: int, *, width: float = 3.6, height: float = 2.9) -> None:
        self.figure = matplotlib_figure()(figsize=(width * across, height * rows), layout="constrained")
        self.panels: list[Axes] = list(self.figure.subplots(rows, across, squeeze=False).ravel())

    def save(self, path: str | Path, dpi: int = 150) -> None:
        """Write the picture; the ending of ``path`` is the format: .png, .svg or .pdf."""
        format = figure_format(path)
        check_writable(path)
        for panel in self.panels:
            if not panel.has_data():
                panel.set_visible(False)
        with open_binary_output(path) as out:
            self.figure.savefig(out, format=format, dpi=dpi)


def draw_layers(rows: Sequence[LayerRow], path: str | Path, title: str = "") -> None:
    """Draw the AER of each layer as a heatmap; the ending of ``path`` is the format."""
    rows = [row for row in rows if len(row.layers) > 1] or list(rows)
    table = [[100 * figure.aer for figure in row.layers] for row in rows]
    deepest = max(map(len, table))
    filled = np.array([[*cells, *[np.nan] * (deepest - len(cells))] for cells in table])
    picture = Picture(1, 1, width=1.8 + 0.75 * deepest, height=1.2 + 0.42 * len(table))
    axes = picture.panels[0]
    shown = axes.imshow(filled, cmap="viridis", vmin=min(20, *map(min, table)), vmax=100, aspect="auto")
    for line, cells in enumerate(table):
        for column, rate in enumerate(cells):
            axes.text(column, line, f"{rate:.1f}", ha="center", va="center", color="white" if rate < 70 else "black")
    axes.set_xticks(range(deepest), [str(layer + 1) for layer in range(deepest)])
    axes.set_yticks(range(len(rows)), [plain_text(f"{row.method} {row.step.upper()}") for row in rows])
    axes.set_xlabel("decoder layer")
    axes.set_title(title or "alignment error rate")
    axes.tick_params(length=0)
    picture.figure.colorbar(shown, ax=axes, label="AER, lower is better")
    picture.save(path)


def draw_support(choices: Sequence[ReadingChoice], path: str | Path) -> None:
    """Draw the support of every layer and head, one row of panels per direction; chosen readings are framed."""
    from matplotlib.patches import Rectangle

    steps = (("awi", "after the word (AWI)"), ("awo", "before the word (AWO)"))
    picture = Picture(len(choices), len(steps), width=4, height=2.6 + 0.4 / max(1, len(choices)))
    highest = max((one.support for choice in choices for one in choice.ranked), default=1.0)
    for place, axes in enumerate(picture.panels):
        row, (step, title) = place // len(steps), steps[place % len(steps)]
        rated = [one for one in choices[row].ranked if one.reading.step == step]
        columns = [0 if one.reading.head is None else one.reading.head + 1 for one in rated]  # all heads come first
        shape = 1 + max((one.reading.layer for one in rated), default=0), 1 + max(columns, default=0)
        grid = np.full(shape, np.nan)
        for one, column in zip(rated, columns, strict=True):
            grid[one.reading.layer, column] = one.support
        axes.imshow(grid, cmap="Blues", vmin=0, vmax=highest, aspect="auto", origin="lower")
        for (layer, head), value in np.ndenumerate(grid):
            if np.isfinite(value):
                colour = "white" if value > 0.6 * highest else "black"
                axes.text(head, layer, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
        for reading in choices[row].expert.readings:
            if reading.step == step:
                corner = (0 if reading.head is None else reading.head + 1) - 0.48, reading.layer - 0.48
                axes.add_patch(Rectangle(corner, 0.96, 0.96, fill=False, edgecolor=COLOURS[0], linewidth=2))
        name = "" if len(choices) == 1 else ("forward, ", "reverse, ")[row]
        axes.set_title(f"{name}{title}", fontsize=10)
        axes.set_xticks(range(grid.shape[1]), ["all", *(str(head) for head in range(1, grid.shape[1]))])
        axes.set_yticks(range(grid.shape[0]), [str(layer + 1) for layer in range(grid.shape[0])])
        axes.set_xlabel("head")
        axes.set_ylabel("layer")
    picture.save(path)


def draw_dispersion(found: Dispersion) -> Picture:
    """The coefficient of variation of ||f(x)|| in each head, and of ||x|| in each layer."""
    picture = Picture(1, 2)
    heat(picture, 0, [moments.variation for moments in found.transformed], "CV of ||f(x)||")
    transformed = [float(moments.variation.mean()) for moments in found.transformed]
    curves = {"||f(x)||, mean of heads": transformed, "||x||": [moments.variation[0] for moments in found.inputs]}
    by_layer(picture, 1, curves, "coefficient of variation", markers="os")
    return picture


def draw_categories(found: CategoryShares) -> Picture:
    """Figure 3: alpha and ||alpha f(x)|| by category and layer."""
    picture = Picture(1, 2)
    seen = [bool(shares.any()) for shares in found.weights.T]
    for place, (table, title) in enumerate(((found.weights, "α"), (found.norms, "||α f(x)||"))):
        curves = zip(found.categories.names, table.T, seen, strict=True)
        by_layer(picture, place, {name: shares if there else None for name, shares, there in curves}, title)
    return picture


def draw_relation(found: Relation) -> Picture:
    """Figures 4, 5, 10-12: heatmaps of alpha and ||f(x)|| for each category, and sampled pairs."""
    present = [place for place, one in enumerate(found.correlations) if one.count]
    picture = Picture(len(present), 3, height=2.5)
    highest = max(float(layer.max()) for place in present for layer in found.heatmaps(place)[1])
    for row, place in enumerate(present):
        name = plain_text(found.categories.names[place])
        weights, lengths = found.heatmaps(place)
        heat(picture, 3 * row, weights, f"{name}: α")
        heat(picture, 3 * row + 1, lengths, f"{name}: ||f(x)||", largest=highest)
        panel = picture.panels[3 * row + 2]
        points = found.points(place)
        panel.scatter(points[:, 0], points[:, 1], s=3, alpha=0.3, linewidths=0, color=COLOURS[place % len(COLOURS)])
        panel.set_xlabel("α")
        panel.set_ylabel("||f(x)||")
        panel.set_title(f"ρ = {found.correlations[place].spearman():.2f}", fontsize=9)
    return picture


def draw_frequency(found: Frequency) -> Picture:
    """Figure 6: rank of frequency against alpha and ||f(x)||, each point an occurrence; the line is the mean."""
    picture = Picture(1, 2)
    names = ("α", "||f(x)||")
    rho = found.tables()[0].rows[0][2:]
    points = found.points()
    for place, (panel, name) in enumerate(zip(picture.panels, names, strict=True)):
        panel.scatter(points[:, 0], points[:, place + 1], s=4, alpha=0.3, linewidths=0, color=COLOURS[1])
        seen = found.bands[place].count > 0
        middles = 1.5 * 2.0 ** np.arange(BANDS)
        panel.plot(middles[seen], found.bands[place].mean[seen], color=COLOURS[0], marker="o", markersize=3)
        panel.set_xscale("log")
        panel.set_xlabel("rank of frequency")
        panel.set_ylabel(name)
        panel.set_title(f"{name}: ρ = {rho[place]:.2f}", fontsize=9)
    return picture


def draw_mixing(found: Mixing) -> Picture:
    """The mixing ratio by layer: of each variant, and of each category with the whole block."""
    picture = Picture(1, 2)
    means = {variant: np.array([one.mean for one in moments]) for variant, moments in found.layers.items()}
    by_layer(picture, 0, {variant: table[:, 0] for variant, table in means.items()}, "mixing ratio")
    variant, moments = list(found.layers.items())[-1]
    seen = np.any([one.count[1:] for one in moments], axis=0)
    curves = zip(found.categories.names, means[variant].T[1:], seen, strict=True)
    by_layer(picture, 1, {name: ratio if there else None for name, ratio, there in curves}, f"mixing ratio, {variant}")
    return picture


def draw_singular(found: SingularValues) -> Picture:
    """Figure 9: the singular values of f, one curve per head, one panel per layer."""
    across = min(4, len(found.layers))
    picture = Picture(-(-len(found.layers) // across), across, width=3, height=2.5)
    for number, (panel, heads) in enumerate(zip(picture.panels, found.layers, strict=False)):
        for head, values in enumerate(heads):
            colour = COLOURS[head % len(COLOURS)]
            panel.plot(
                np.arange(1, len(values) + 1), values, color=colour, linewidth=1, label=f"{number + 1}-{head + 1}"
            )
        panel.set_title(f"layer {number + 1}", fontsize=9)
        panel.set_ylim(bottom=0)
        if len(heads) <= 8:
            panel.legend(fontsize=7, frameon=False)
    return picture


def draw_heads(found: Heads) -> Picture:
    """Confidence of each head with what it does, and the other columns that were measured."""
    across = min(3, 1 + len(found.extra))
    picture = Picture(-(-(1 + len(found.extra)) // across), across, width=4)
    marks = [["P" * ("position" in f) + "R" * ("rare" in f) for f in layer] for layer in found.functions()]
    heat(picture, 0, found.confidence(), "confidence (P positional, R rare words)", marks=marks)
    for place, (name, layers) in enumerate(found.extra.items(), start=1):
        heat(picture, place, layers, name)
    return picture


DRAWINGS: dict[str, Callable[[Any], Picture]] = {
    "dispersion": draw_dispersion,
    "singular": draw_singular,
    "categories": draw_categories,
    "relation": draw_relation,
    "frequency": draw_frequency,
    "mixing": draw_mixing,
    "heads": draw_heads,
}
"""What draws each analysis."""


def heat(
    picture: Picture,
    place: int,
    layers: Sequence[np.ndarray],
    title: str,
    *,
    largest: float | None = None,
    marks: Sequence[Sequence[str]] = (),
) -> None:
    """Draw one cell per head: layers upward, heads across; layers may have different numbers of heads."""
    panel = picture.panels[place]
    table = np.full((len(layers), max((len(layer) for layer in layers), default=0)), np.nan)
    for number, layer in enumerate(layers):
        table[number, : len(layer)] = layer
    shown = panel.imshow(table, origin="lower", cmap="Blues", vmin=min(0.0, float(np.nanmin(table))), vmax=largest)
    for number, layer_marks in enumerate(marks):
        for head, mark in enumerate(layer_marks):
            panel.text(head, number, mark, ha="center", va="center", fontsize=8, color=COLOURS[0])
    panel.set_xticks(range(table.shape[1]), [str(head + 1) for head in range(table.shape[1])])
    panel.set_yticks(range(len(layers)), [str(layer + 1) for layer in range(len(layers))])
    panel.set_xlabel("head")
    panel.set_ylabel("layer")
    panel.set_title(title, fontsize=9)
    panel.tick_params(length=0)
    picture.figure.colorbar(shown, ax=panel, shrink=0.8)


def by_layer(
    picture: Picture,
    place: int,
    curves: Mapping[str, Sequence[float] | np.ndarray | None],
    title: str,
    markers: str = "o",
) -> None:
    """Draw one curve over the layers for each name; None keeps its colour for a curve that is not there."""
    panel = picture.panels[place]
    for number, (name, values) in enumerate(curves.items()):
        if values is not None:
            layers = np.arange(1, len(values) + 1)
            marker, colour = markers[number % len(markers)], COLOURS[number % len(COLOURS)]
            panel.plot(layers, values, label=plain_text(name), marker=marker, color=colour)
            panel.set_xticks(layers)
    panel.set_xlabel("layer")
    panel.set_title(title, fontsize=9)
    panel.set_ylim(bottom=0)
    if panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize=7, frameon=False)

"""The figure of the benchmark: how cost grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

AT_ONCE = 4
"""Sentences in a batch where cost is drawn against length and width."""

WAYS = {
    "plain": ("plain forward pass with softmax", "#444444", "-"),
    "low": ("norms at layer 2", "#1f77b4", "-"),
    "heads": ("norms and weights, all layers and heads", "#2ca02c", "-"),
    "slow": ("slow formula, all layers", "#d62728", "--"),
}


def draw(results: dict[str, Any], path: Path) -> None:
    """Three panels: sentence length, model width, corpus size."""
    picture = Figure(figsize=(13, 4), layout="constrained")
    FigureCanvasAgg(picture)
    by_length, by_width, by_file = picture.subplots(1, 3)
    for axes, name, key, label in (
        (by_length, "by_length", "length", "positions a sentence, both sides"),
        (by_width, "by_width", "width", "channels"),
    ):
        for way, (title, color, style) in WAYS.items():
            places = [row[key] for row in results[name]]
            axes.plot(
                places, [row[way] / AT_ONCE for row in results[name]], style, color=color, marker="o", label=title
            )
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel="CPU seconds a sentence")
        axes.set_xticks([row[key] for row in results[name]], [str(row[key]) for row in results[name]])
        axes.minorticks_off()
    by_length.legend(frameon=False, fontsize=8)
    rows = results["growing_file"]
    by_file.plot([row["pairs"] for row in rows], [row["megabytes"] for row in rows], marker="o", color="#1f77b4")
    by_file.set(xscale="log", xlabel="pairs in the file", ylabel="peak memory of the process, MB", ylim=(0, None))
    by_file.set_xticks([row["pairs"] for row in rows], [f"{row['pairs']:,}" for row in rows])
    by_file.minorticks_off()
    for axes in (by_length, by_width, by_file):
        axes.spines[["top", "right"]].set_visible(False)
    picture.savefig(path, dpi=150)

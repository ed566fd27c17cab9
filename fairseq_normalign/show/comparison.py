"""A comparison of alignment methods as text and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ..analysis.comparison import Comparison
from ..analysis.error_rates import BEST, ErrorRate, LayerRow, System
from ..errors import MissingExtra, json_text
from ..files import open_binary_output
from .figures import figure_format
from .text_tables import columns, latex, tsv

STYLES = ("table", "tsv", "json", "latex")

DIRECTIONS = {
    "forward": "source to target",
    "reverse": "target to source",
    "both": "both directions",
    "decided": "readings multiplied",
    "other": "other aligners",
}


def render_comparison(found: Comparison, style: str = "table", digits: int = 1, *, full: bool = True) -> str:
    """Return everything that was measured, in one of :data:`STYLES`; a table that is not ``full`` has the best few."""
    if style == "json":
        return json_text(asdict(found, dict_factory=_without_counts), indent=2) + "\n"
    if style == "tsv":
        return tsv(_long_rows(found))
    if style == "latex":
        return f"% {found.signature}\n{latex(_layer_rows(found, digits))}\n{latex(_system_rows(found, digits))}"
    best = f"{_best_title(found)}\n\n{columns(_best_rows(found, digits))}\n{MEANING}\n"
    if not full:
        return f"{best}\nsignature: {found.signature}\n"
    parts = [
        best,
        f"AER of every layer ({found.sentences} sentences{_seeds(found)})\n\n{columns(_layer_rows(found, digits))}",
        f"Systems, each at its best layer or head unless it says otherwise\n\n{columns(_system_rows(found, digits))}",
    ]
    if found.heads:
        title = "Mean norm of a head against its AER (below 0: heads that add more align better)"
        parts.append(f"{title}\n\n{columns(_head_rows(found))}")
    return "\n".join([*parts, f"signature: {found.signature}\n"])


MEANING = (
    "AER in percent, lower is better; p is how probable a difference to the first row as large as this would be "
    "if both were equally good."
)


def _best_title(found: Comparison) -> str:
    shown = min(BEST, len(found.systems))
    return f"The best {shown} of {len(found.systems)} systems ({found.sentences} sentences{_seeds(found)})"


def _best_rows(found: Comparison, digits: int) -> list[list[str]]:
    rows = [["", "AER", "95% interval", "P", "R", "p"]]
    for place, system in enumerate(sorted(found.systems, key=lambda system: system.figure.aer)[:BEST]):
        name, *numbers = _system_row(system, digits)
        direction = f", {DIRECTIONS[system.direction]}" if system.direction in ("forward", "reverse") else ""
        p_value = "" if system.p_value is None else f"{system.p_value:.3f}"
        rows.append([f"{name}{direction}", *numbers[:4], p_value if place else "-"])
    return rows


def _without_counts(fields: list[tuple[str, object]]) -> dict[str, object]:
    return {name: value for name, value in fields if name != "counts"}


def _seeds(found: Comparison) -> str:
    return f", mean of {found.seeds} checkpoints" if found.seeds > 1 else ""


def _percent(value: float, digits: int) -> str:
    return f"{100 * value:.{digits}f}"


def _with_spread(figure: ErrorRate, digits: int) -> str:
    spread = "" if figure.spread is None else f"±{_percent(figure.spread, digits)}"
    return f"{_percent(figure.aer, digits)}{spread}"


def _layer_rows(found: Comparison, digits: int) -> list[list[str]]:
    deepest = max(len(row.layers) for row in found.layers)
    rows = [["", *(f"layer {layer + 1}" for layer in range(deepest)), "mean", "best"]]
    for row in found.layers:
        if len(row.layers) == 1 < deepest:
            continue
        cells = [_with_spread(figure, digits) for figure in row.layers]
        rows.append([f"{row.method} {row.step}", *cells, _percent(row.mean, digits), f"layer {row.best + 1}"])
    return rows


def _system_rows(found: Comparison, digits: int) -> list[list[str]]:
    rows = [["", "AER", "95% interval", "P", "R", "links", "pairs/s"]]
    for direction, title in DIRECTIONS.items():
        systems = [system for system in found.systems if system.direction == direction]
        if systems and len({system.direction for system in found.systems}) > 1:
            rows.append([f"{title}:"])
        rows += [_system_row(system, digits) for system in systems]
    return rows


def _system_row(system: System, digits: int) -> list[str]:
    figure = system.figure
    return [
        f"{system.name}{_place(system)}",
        _with_spread(figure, digits),
        f"[{_percent(figure.low, digits)}, {_percent(figure.high, digits)}]",
        _percent(figure.precision, digits),
        _percent(figure.recall, digits),
        f"{figure.links:.0f}",
        "" if system.pairs_per_second is None else f"{system.pairs_per_second:.3g}",
    ]


def _place(system: System) -> str:
    """Return the layer and head it is read at, counted from 1; the seeds may differ."""
    if not system.layers or system.direction == "both":
        return ""
    heads = system.heads or [None] * len(system.layers)
    places = [
        str(layer + 1) if head is None else f"{layer + 1}.{head + 1}"
        for layer, head in zip(system.layers, heads, strict=True)
    ]
    return f" ({', '.join(dict.fromkeys(places))})"


def _head_rows(found: Comparison) -> list[list[str]]:
    rows = [["", "Spearman", "Pearson"]]
    return rows + [[f"{row.method} {row.step}", f"{row.spearman:.2f}", f"{row.pearson:.2f}"] for row in found.heads]


def _long_rows(found: Comparison) -> list[list[str]]:
    """Return one row per error rate, in percent: everything that the other styles show."""
    head = ["kind", "name", "direction", "method", "step", "layer", "head", "aer", "low", "high", "spread"]
    rows = [[*head, "precision", "recall", "links", "mean_norm", "pairs_per_second"]]
    for row in found.layers:
        for layer, figure in enumerate(row.layers):
            place = ["layer", "", "forward", row.method, row.step, str(layer + 1), ""]
            rows.append([*place, *_numbers(figure), f"{row.mean_norm[layer]:.6g}", ""])
    for heads in found.heads:
        for layer, (rates, norms) in enumerate(zip(heads.aer, heads.mean_norm, strict=True)):
            for number, (rate, norm) in enumerate(zip(rates, norms, strict=True)):
                place = ["head", "", "forward", heads.method, heads.step, str(layer + 1), str(number + 1)]
                rows.append([*place, _percent(rate, 4), *[""] * 6, f"{norm:.6g}", ""])
        for name in ("spearman", "pearson"):
            value = f"{getattr(heads, name):.4f}"
            rows.append([name, value, "forward", heads.method, heads.step, *[""] * 11])
    for system in found.systems:
        layers, numbers = (",".join(str(one + 1) for one in places) for places in (system.layers, system.heads))
        place = ["system", system.name, system.direction, system.method or "", system.step or "", layers, numbers]
        speed = "" if system.pairs_per_second is None else f"{system.pairs_per_second:.6g}"
        rows.append([*place, *_numbers(system.figure), "", speed])
    return rows


def _numbers(figure: ErrorRate) -> list[str]:
    return [
        *(_percent(value, 4) for value in (figure.aer, figure.low, figure.high)),
        "" if figure.spread is None else _percent(figure.spread, 4),
        *(_percent(value, 4) for value in (figure.precision, figure.recall)),
        f"{figure.links:g}",
    ]


def draw_layers(rows: Sequence[LayerRow], path: str | Path, title: str = "") -> None:
    """Draw the AER of each layer as a heatmap; the ending of ``path`` is the format."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Picture
    except ImportError:
        raise MissingExtra("matplotlib", "plots", "a figure") from None

    rows = [row for row in rows if len(row.layers) > 1] or list(rows)
    table = [[100 * figure.aer for figure in row.layers] for row in rows]
    deepest = max(map(len, table))
    picture = Picture(figsize=(1.8 + 0.75 * deepest, 1.2 + 0.42 * len(table)), layout="constrained")
    FigureCanvasAgg(picture)
    axes = picture.subplots()
    shown = axes.imshow(table, cmap="viridis", vmin=min(20, *map(min, table)), vmax=100, aspect="auto")
    for line, cells in enumerate(table):
        for column, rate in enumerate(cells):
            axes.text(column, line, f"{rate:.1f}", ha="center", va="center", color="white" if rate < 70 else "black")
    axes.set_xticks(range(deepest), [str(layer + 1) for layer in range(deepest)])
    axes.set_yticks(range(len(rows)), [f"{row.method} {row.step.upper()}" for row in rows])
    axes.set_xlabel("decoder layer")
    axes.set_title(title or "alignment error rate")
    axes.tick_params(length=0)
    picture.colorbar(shown, ax=axes, label="AER, lower is better")
    format = figure_format(path)
    with open_binary_output(path) as out:
        picture.savefig(out, format=format, dpi=150)

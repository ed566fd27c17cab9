"""The sweep as a table and a figure. Called by 3_show.sh."""

from __future__ import annotations

import argparse
import csv
import re
from dataclasses import dataclass
from pathlib import Path

from fairseq_normalign.hosts.fairseq.checkpoints import safe_load
from fairseq_normalign.hosts.loading import silenced
from fairseq_normalign.models.transformer_normalign import read_heads
from fairseq_normalign.show.plots import COLOURS, Picture
from fairseq_normalign.show.tables import columns

KINDS = ("encoder", "decoder", "cross")


@dataclass
class Run:
    name: str
    heads: dict[str, list[int]]
    """By kind of attention: those of each layer."""
    bleu: float
    aer: float
    """Of norms, at the best layer and step."""
    faster: float | None = None
    """CPU time to translate the test set with gates, over that without the heads."""

    @property
    def kept(self) -> int:
        return sum(map(sum, self.heads.values()))


def read_run(folder: Path, heads: dict[str, list[int]] | None = None) -> Run:
    if heads is None:
        state = safe_load(folder / "small.pt")
        arguments = state["args"] if state.get("args") is not None else state["cfg"]["model"]
        heads = read_heads(arguments.normalign_heads)
    with open(folder / "compare.tsv", encoding="utf-8") as handle:
        rows = [row for row in csv.DictReader(handle, delimiter="\t") if row["kind"] == "layer"]
    pruned = (folder / "2_pruned.log").read_text(encoding="utf-8")
    faster = folder / "faster.txt"
    return Run(
        name=folder.name,
        heads=heads,
        bleu=float(re.findall(r"BLEU4? = ([\d.]+)", pruned)[-1]),
        aer=min(float(row["aer"]) for row in rows if row["method"] == "norms"),
        faster=float(faster.read_text(encoding="utf-8")) if faster.exists() else None,
    )


def table_of(runs: list[Run]) -> str:
    rows = [["lambda", "heads", *KINDS, "BLEU", "AER", "pruned is faster by"]]
    for run in runs:
        each = [str(sum(run.heads[kind])) if kind in run.heads else "-" for kind in KINDS]
        faster = "-" if run.faster is None else f"{run.faster:.2f}"
        rows.append([run.name, str(run.kept), *each, f"{run.bleu:.1f}", f"{run.aer:.1f}", faster])
    return columns(rows)


def draw(runs: list[Run], path: str) -> None:
    """BLEU, AER, heads by kind, heads by layer of the decoder: the slides' Figures 7 to 10."""
    picture = Picture(2, 2)
    ordered = sorted(runs, key=lambda run: run.kept)
    kept = [run.kept for run in ordered]
    for place, (name, values) in enumerate((("BLEU", [r.bleu for r in ordered]), ("AER", [r.aer for r in ordered]))):
        picture.panels[place].plot(kept, values, marker="o", color=COLOURS[place])
        picture.panels[place].set_title(name, fontsize=9)
    for number, kind in enumerate(KINDS):
        values = [sum(run.heads.get(kind, [])) for run in ordered]
        picture.panels[2].plot(kept, values, marker="o", label=kind, color=COLOURS[number])
    for kind, line in (("decoder", "--"), ("cross", "-")):
        for layer in range(max(len(run.heads.get(kind, [])) for run in ordered)):
            values = [run.heads[kind][layer] for run in ordered]
            look = {"linestyle": line, "color": COLOURS[layer % len(COLOURS)], "marker": "."}
            picture.panels[3].plot(kept, values, label=f"{kind} {layer + 1}", **look)
    for panel, title in zip(picture.panels[2:], ("heads by attention", "heads by decoder layer"), strict=True):
        panel.set_title(title, fontsize=9)
        panel.legend(fontsize=7, frameon=False, handlelength=4)
        panel.yaxis.get_major_locator().set_params(integer=True)
    for panel in picture.panels:
        panel.set_xlabel("heads kept")
        panel.xaxis.get_major_locator().set_params(integer=True)
    picture.save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sweep", type=Path)
    parser.add_argument("lambdas", nargs="+")
    parser.add_argument("--heads", type=int, required=True, help="of a layer before pruning")
    parser.add_argument("--layers", type=int, nargs=2, required=True, metavar=("ENCODER", "DECODER"))
    parser.add_argument("--figure", required=True)
    args = parser.parse_args()
    everything = {kind: [args.heads] * args.layers[kind != "encoder"] for kind in KINDS}
    with silenced():
        before = read_run(args.sweep / "before", everything)
        runs = [read_run(args.sweep / name) for name in args.lambdas]
        draw(runs, args.figure)
    print(table_of([before, *runs]), end="")


if __name__ == "__main__":
    main()

"""Draws the pictures of the README and of the page of concepts, with the models of both directions.

    python docs/pictures.py --forward de-en.pt --backward en-de.pt --bpe-codes codes --out docs/images

Those in docs/images were drawn with two small Europarl models, which recipes/europarl_de_en trains (3+3 layers, 128
channels). The sentence is one of Europarl that they were not trained on. Without --forward the toy draws.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

import fairseq_normalign
from fairseq_normalign import toy
from fairseq_normalign.align.survey import read_pairs
from fairseq_normalign.links.pieces import Sentence
from fairseq_normalign.links.read_pair import ReadPair, soft_of
from fairseq_normalign.links.readings import MethodReading, Reading
from fairseq_normalign.show.figures import save_figure

SOURCE = "Deshalb hat die Kommission China wiederholt aufgefordert, diese Urteile zu revidieren."
TARGET = "The Commission has therefore repeatedly urged China to review these sentences."


def main() -> None:
    draw(arguments(__doc__, SOURCE, TARGET))


def arguments(about: str | None, source: str, target: str) -> argparse.Namespace:
    """Read the command line: models, a pair of sentences, and the folder of the pictures, which is made."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forward", default=toy.paths()[0])
    parser.add_argument("--backward", default=toy.paths()[1])
    parser.add_argument("--bpe-codes", default=toy.FOLDER / "codes")
    parser.add_argument("--source", default=source)
    parser.add_argument("--target", default=target)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "images")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning, module="torch")
    args.out.mkdir(parents=True, exist_ok=True)
    return args


def draw(args: argparse.Namespace) -> None:
    text = {"bpe_codes": args.bpe_codes, "tokenizer": "moses", "lowercase": True}
    both = fairseq_normalign.load(args.forward, args.backward, **text)
    decided = both.align(args.source, args.target)
    (read,) = read_pairs(both.aligner.forward, [(0, args.source, args.target)], ["weights", "norms"])
    top = read.readings["norms"].shape.layers - 1
    low, high = Reading("norms", 0, None, "awi"), Reading("norms", top, None, "awo")

    stock = Reading("weights", top, None, "awo")
    side_by_side(args.out / "steps.png", read, {"weights, top layer, AWO": stock, "norms, layer 1, AWI": low}, decided)
    weights = Reading("weights", 0, None, "awi")
    side_by_side(args.out / "norms.png", read, {"weights, layer 1, AWI": weights, "norms, layer 1, AWI": low})
    forward = fairseq_normalign.load(args.forward, **text).align(args.source, args.target)
    looks = {"after the word: layer 1, AWI": low, "before it: top layer, AWO": high, "both looks": forward}
    side_by_side(args.out / "looks.png", read, looks)
    backward = fairseq_normalign.load(args.backward, **text).align(args.target, args.source)
    directions = {"de-en, two looks": forward, "en-de, two looks": backward, "agreed": decided}
    side_by_side(args.out / "agreement.png", read, directions)


def side_by_side(path: Path, read: ReadPair, panels: dict[str, object], last: object = None) -> None:
    """Draw soft alignments under their names; an Alignment brings its own links, a reading the best of each row."""
    if last is not None:
        panels = {**panels, "two looks, both directions": last}
    words = [Sentence.of_words(side.by_word.words) for side in (read.source, read.target)]
    found = {name: panel_of(read, panel) for name, panel in panels.items()}
    save_figure(path, [ReadPair(0, words[0], words[1], found)], [Reading(name) for name in found])


def panel_of(read: ReadPair, panel: object) -> MethodReading:
    if isinstance(panel, Reading):
        soft = soft_of(read, panel)
        assert soft is not None
        return MethodReading(words=np.asarray(soft)[None])
    assert isinstance(panel, fairseq_normalign.Alignment)
    assert panel.soft is not None
    if (
        len(panel.target) != len(read.target.words) or panel.target[0].lower() != read.target.words[0].lower()
    ):  # the other direction: turned round
        return MethodReading(words=panel.soft.T[None], links=tuple((t, s) for s, t in panel.links))
    return MethodReading(words=panel.soft[None], links=tuple(panel.links))


if __name__ == "__main__":
    main()

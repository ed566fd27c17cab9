"""Time to load and to align with a published model, next to a folder of transformers with the same weights.

    python speed.py MODEL SOURCE TARGET FOLDER [PAIRS]

The folder of transformers is written from the model, which is of Marian's kind with one vocabulary. CPU seconds of one
thread; both take turns, so that a busy moment hits both. The text is repeated up to so many pairs (1,000).
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import time
from pathlib import Path

import torch
import transformers

import fairseq_normalign
from fairseq_normalign.hosts.marian.files import found_files

TURNS = 3
READINGS = "2:awi,6:awo^0.5"


def write_folder(path: Path, folder: Path) -> None:
    """The model's weights as those of MarianMTModel, whose positions are computed and not stored."""
    ours = fairseq_normalign.load(path).aligner.forward.host.models[0].module
    sizes = {**ours.config.to_dict(), "scale_embedding": True, "tie_word_embeddings": True}
    model = transformers.MarianMTModel(transformers.MarianConfig(**sizes))
    weights = {name: tensor for name, tensor in ours.state_dict().items() if "embed_positions" not in name}
    left_out = [name for name in model.load_state_dict(weights, strict=False)[0] if "embed_positions" not in name]
    if left_out:
        raise SystemExit(f"{path}: it has no {left_out[0]}; this compares models of Marian's kind")
    model.save_pretrained(folder)
    with found_files(path, ()) as found:
        pieces = [*found.source.pieces, "<pad>"]
        for name, side in (("source", found.source), ("target", found.target)):
            (folder / f"{name}.spm").write_bytes(side.splitter.serialized_model_proto())
    (folder / "vocab.json").write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MarianTokenizer"}))


path, source, target, folder = map(Path, sys.argv[1:5])
count = int(sys.argv[5]) if len(sys.argv) > 5 else 1000
torch.set_num_threads(1)
lines = itertools.cycle(zip(source.read_text().splitlines(), target.read_text().splitlines(), strict=True))
pairs = list(itertools.islice(lines, count))
if not (folder / "config.json").exists():
    folder.mkdir(parents=True, exist_ok=True)
    write_folder(path, folder)

spent: dict[tuple[str, str], list[float]] = {}
for turn in range(TURNS):
    for name, place in (("published", path), ("transformers", folder)):
        before = time.process_time()
        model = fairseq_normalign.load(place, readings=READINGS)
        loaded = time.process_time()
        share = pairs[turn * count // TURNS : (turn + 1) * count // TURNS]
        links = sum(len(found.links) for found in model.align_many(share))
        spent.setdefault((name, "load"), []).append(loaded - before)
        spent.setdefault((name, "align"), []).append(time.process_time() - loaded)
        print(f"{name}: {links} links of {len(share)} pairs", file=sys.stderr)
print("\tload, CPU seconds\talign, CPU seconds per 1,000 pairs")
for name in ("published", "transformers"):
    align = 1000 * sum(spent[name, "align"]) / count
    print(f"{name}\t{statistics.median(spent[name, 'load']):.2f}\t{align:.1f}")

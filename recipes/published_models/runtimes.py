"""Translations next to those of the programs that models are published for: ``python runtimes.py WORK GOLD [NAME]``.

Needs ``pip install pymarian ctranslate2``. WORK is the folder of the recipe. Firefox's English-Portuguese model is run
by Marian in float32, with whole numbers and with its shortlist (NAME: firefox); the Chinese-English one by CTranslate2
in float32 (NAME: argos).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import yaml

import fairseq_normalign
from fairseq_normalign.hosts.marian.formats import read_weights
from fairseq_normalign.hosts.transformers.text import sentence_of
from fairseq_normalign.text.encoding import Line

LINES = 200
BATCH = 20
BEAMS = (1, 5)
work, gold = map(Path, sys.argv[1:3])


def translated(host, lines: Sequence[str], beam: int) -> Iterator:
    """The best translation of each line."""
    for first in range(0, len(lines), BATCH):
        for best, *_ in host.translate(lines[first : first + BATCH], beam=beam):
            yield best.target


def marian(folder: Path, lines: Sequence[str], model: Path, *options: str) -> list[str]:
    """What Marian puts out for these lines."""
    vocabulary = str(folder / "vocab.enpt.spm")
    command = ["pymarian", "decode", "--models", str(model), "--vocabs", vocabulary, vocabulary, "--normalize", "1"]
    command += ["--cpu-threads", "1", "--mini-batch", str(BATCH), "--maxi-batch", "1", "--workspace", "512", *options]
    text = "".join(f"{line}\n" for line in lines)
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()


def compare_firefox() -> None:
    folder = work / "firefox" / "enpt"
    lines = (gold / "enpt-gold" / "test.en").read_text().splitlines()[:LINES]
    host = fairseq_normalign.load(folder).aligner.forward.host
    weights = read_weights(folder / "model.enpt.intgemm.alphas.bin")
    with tempfile.TemporaryDirectory() as name:
        plain, whole = Path(name, "float32.npz"), Path(name, "int8.bin")
        arrays = {k: np.ascontiguousarray(v) for k, v in weights.arrays.items() if not k.endswith("_QuantMultA")}
        config = np.frombuffer(yaml.safe_dump(weights.config).encode() + b"\0", np.int8)
        np.savez(plain, **arrays, **{"special:model.yml": config})
        convert = ["pymarian", "convert", "-f", plain, "-t", whole, "-g", "intgemm8"]
        subprocess.run(convert, check=True, capture_output=True)
        shortlist = ("--shortlist", str(folder / "lex.50.50.enpt.s2t.bin"), "false")
        rows = [(f"float32, beam {beam}", plain, beam, ()) for beam in BEAMS]
        rows += [("float32, shortlist", plain, 1, shortlist), ("int8, beam 1", whole, 1, ())]
        ours = {beam: [host.natural(line)[0] for line in translated(host, lines, beam)] for beam in BEAMS}
        for what, model, beam, more in rows:
            theirs = marian(folder, lines, model, "--beam-size", str(beam), *more)
            same = sum(a == b for a, b in zip(theirs, ours[beam], strict=True))
            print(f"Firefox en-pt, Marian {what}: {same} of {len(lines)} translations are equal", flush=True)


def compare_argos() -> None:
    import ctranslate2

    path = work / "zhen" / "model_data.argosmodel"
    text = (gold / "zhen-gold" / "test.zh").read_text()
    clauses = dict.fromkeys(part.strip() for part in re.split("(?<=[，。；])|\n", text) if len(part.split()) > 3)
    lines = sorted(clauses, key=lambda part: len(part.split()))[:LINES]
    host = fairseq_normalign.load(path).aligner.forward.host
    sources = [host.source(line) for line in lines]
    pieces = [host.source.tokenizer.pieces_of(line.indices)[:-1] for line in sources]
    with tempfile.TemporaryDirectory() as name:
        archive = zipfile.ZipFile(path)
        for member in archive.namelist():
            if member.split("/")[-2:-1] == ["model"] and not member.endswith("/"):
                (Path(name) / member.split("/")[-1]).write_bytes(archive.read(member))
        folder = name
        runtime = ctranslate2.Translator(folder, compute_type="float32", inter_threads=1, intra_threads=1)
        for beam in BEAMS:
            found = runtime.translate_batch(pieces, beam_size=beam, max_batch_size=BATCH, max_decoding_length=120)
            theirs = [result.hypotheses[0] for result in found]
            ours = [host.target.tokenizer.pieces_of(line.indices) for line in translated(host, lines, beam)]
            same = sum(a == b for a, b in zip(theirs, ours, strict=True))
            print(f"Argos zh-en, CTranslate2 float32, beam {beam}: {same} of {len(lines)} are equal", flush=True)
        scores = runtime.score_batch(pieces, theirs, max_batch_size=BATCH)
    targets = [
        Line([host.target.tokenizer.index(piece) for piece in line], sentence_of([], [], line, [], []))
        for line in theirs
    ]
    pairs = list(zip(sources, targets, strict=True))
    own = [score for first in range(0, len(pairs), BATCH) for score in host.scores(pairs[first : first + BATCH])]
    apart = max(abs(a - float(np.mean(b.log_probs))) for a, b in zip(own, scores, strict=True))
    print(f"Argos zh-en: mean log-probabilities differ by {apart:.1e} at most", flush=True)


for name, compare in {"firefox": compare_firefox, "argos": compare_argos}.items():
    if sys.argv[3:] in ([], [name]):
        compare()

"""What Marian itself attends to and puts out, by its Python package. Skipped without it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import fairseq_normalign
from fairseq_normalign.hosts.transformers.text import sentence_of
from fairseq_normalign.text.encoding import Line
from tests.hosts.marian.writers import marian_arrays, marian_config, write_npz
from tests.hosts.transformers.folders import lines

OPTIONS = "--beam-size 1 --alignment soft --n-best --word-scores --cpu-threads 1 --quiet --max-length 40"


@pytest.mark.skipif(importlib.util.find_spec("pymarian") is None, reason="needs pymarian")
@pytest.mark.parametrize("learned_positions", [False, True])
def test_attention_and_scores_are_those_of_marian(learned_positions, tiny, twin):
    """Marian's transformers do not read learned positions, even where a file has them."""
    path = twin("npz")
    if learned_positions:
        arrays = {**marian_arrays(tiny[1]), "Wpos": np.ones((40, 8), np.float32)}
        write_npz(path, arrays, marian_config(tiny[1], **{"transformer-train-position-embeddings": True}))
    vocabulary = path.with_name("tiny.vocab.yml")
    model = fairseq_normalign.load(path, method="weights", layer=tiny[1].config.decoder_layers, head=1, step="awo")
    forward, host = model.aligner.forward, model.aligner.forward.host
    module = host.models[0].module
    sources = [host.source.tokenizer.pieces_of(host.source(line).indices)[:-1] for line in lines(1, 10)]
    command = [sys.executable, "-m", "pymarian", "decode", "--models", path, "--vocabs", vocabulary, vocabulary]
    text = "".join(" ".join(line) + "\n" for line in sources)
    marian = subprocess.run([*command, *OPTIONS.split()], input=text, capture_output=True, text=True, check=True)
    for source, found in zip(sources, marian.stdout.splitlines(), strict=True):
        _, pieces, attention, scores, *_ = found.split("|||")
        target = [host.target.tokenizer.index(piece) for piece in pieces.split()]
        given = [host.source.tokenizer.index(piece) for piece in source] + [module.config.eos_token_id]
        lines_of_pieces = [Line(ids, sentence_of([], [], list(map(str, ids)), [], [])) for ids in (given, target)]
        (read,) = forward.align(host.batch([tuple(lines_of_pieces)]))
        weights = np.array(json.loads(f"[[{attention.strip().replace(' ', '],[')}]]"))[: len(target)]
        assert weights == pytest.approx(next(iter(read.steps.values()))[: len(target)], abs=1e-4)  # the first head
        with torch.no_grad():
            steps = torch.tensor([[module.config.decoder_start_token_id, *target[:-1]]])
            logits = module(input_ids=torch.tensor([given]), decoder_input_ids=steps).logits[0]
        chosen = logits.log_softmax(-1).numpy()[np.arange(len(target)), target]
        theirs = np.array(scores.removeprefix(" WordScores=").split(), float)[: len(target)]
        assert theirs == pytest.approx(chosen, abs=1e-4)

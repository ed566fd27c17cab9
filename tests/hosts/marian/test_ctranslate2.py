"""Folders made by CTranslate2's converter: translations and scores are those of its runtime. Skipped without it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairseq_normalign
from fairseq_normalign.hosts.transformers.text import sentence_of
from fairseq_normalign.text.encoding import Line
from tests.hosts.transformers.folders import MAKERS, lines, train_pieces

ctranslate2 = pytest.importorskip("ctranslate2")
LANGUAGES = {"m2m100": ("de", "en"), "nllb": ("deu_Latn", "eng_Latn")}
PIECES = ("source.spm", "target.spm", "sentencepiece.bpe.model", "spiece.model")


def every_piece(loader, model, tokenizer):
    pieces = tokenizer.convert_ids_to_tokens(range(model.config.vocab_size))
    return [f"made up {n}" if n > 3 and piece == tokenizer.unk_token else piece for n, piece in enumerate(pieces)]


@pytest.mark.parametrize("quantization", [None, "int8", "int16", "float16"])
@pytest.mark.parametrize("family", ["marian", "m2m100", "t5"])
def test_translations_and_scores_are_those_of_the_runtime(family, quantization, tmp_path, monkeypatch):
    source = MAKERS[family](tmp_path / "transformers" if (tmp_path / "transformers").mkdir() is None else None)
    if family == "t5":
        train_pieces(source, "spiece.model", lines(1))
    files = [name for name in PIECES if (source / name).exists()]
    folder = tmp_path / "ct2"
    loader = ctranslate2.converters.transformers.M2M100Loader  # with today's transformers it loses some pieces
    monkeypatch.setattr(loader, "get_vocabulary", every_piece)
    converter = ctranslate2.converters.TransformersConverter(str(source), copy_files=files)
    converter.convert(str(folder), quantization=quantization)

    languages = dict(zip(("source_lang", "target_lang"), LANGUAGES.get(family, (None, None)), strict=True))
    host = fairseq_normalign.load(folder, **languages).aligner.forward.host
    runtime = ctranslate2.Translator(str(folder), compute_type="float32", inter_threads=1, intra_threads=1)
    text = lines(1, 20)
    sources = [host.source(line) for line in text]
    adds_end = json.loads((folder / "config.json").read_text()).get("add_source_eos", False)
    pieces = [host.source.tokenizer.pieces_of(line.indices) for line in sources]
    pieces = [line[:-1] if adds_end else line for line in pieces]
    front = host.target.tokenizer.pieces_of(host.batch([(sources[0], sources[0])]).start[1:])
    prefix = [front] * len(pieces) if front else None
    found = runtime.translate_batch(pieces, beam_size=1, target_prefix=prefix, max_decoding_length=40)
    theirs = [result.hypotheses[0][len(front) :] for result in found]
    ours = [host.target.tokenizer.pieces_of(best[0].target.indices) for best in host.translate(text, beam=1)]
    assert [line[:30] for line in theirs] == [line[:30] for line in ours]

    given = [[*front, *line] for line in theirs]
    for line, target, result in zip(sources, theirs, runtime.score_batch(pieces, given), strict=True):
        indices = [host.target.tokenizer.index(piece) for piece in target]
        pair = line, Line(indices, sentence_of([], [], target, [], []))
        assert host.scores([pair])[0] == pytest.approx(np.mean(result.log_probs[len(front) :]), abs=1e-3)

"""A folder as the host protocol sees it: scores and translations against the library's own."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts import host_of
from fairseq_normalign.hosts.options import ModelOptions
from fairseq_normalign.hosts.transformers.host import load
from fairseq_normalign.text.options import TextOptions
from tests.hosts.transformers.folders import LANGUAGES, MAKERS, lines
from tests.hosts.transformers.test_text import loaded, own_tokenizer
from tests.hosts.transformers.tiny_families import transformers

SOURCES, TARGETS = lines(1)[:3], lines(2)[:3]


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"fsmt"}))
def test_scores_are_what_the_library_would_learn_from(folder, name):
    """With ``labels`` the library makes the decoder's input itself: start and language have to be as it has them."""
    host, tokenizer = loaded(folder, name), own_tokenizer(folder, name)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder(name)).eval()
    pairs = [(host.source(source), host.target(target)) for source, target in zip(SOURCES, TARGETS, strict=True)]
    found = host.scores(pairs)
    for score, source, target in zip(found, SOURCES, TARGETS, strict=True):
        prefix = "fofi dada: " if name == "t5" else ""
        labels = torch.tensor([tokenizer(text_target=target)["input_ids"]])
        logits = model(**tokenizer(prefix + source, return_tensors="pt"), labels=labels).logits[0].log_softmax(-1)
        each = logits.gather(1, labels[0].unsqueeze(1))[:, 0]
        front, back = len(host.target.tokenizer.front), len(host.target.tokenizer.back)
        real = each[front : len(each) - back + 1]  # the pieces and the first piece behind them, which is the end
        assert score == pytest.approx(float(real.mean()), abs=1e-5)


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_translations_are_those_of_the_library(folder, name):
    host, tokenizer = loaded(folder, name, "moses" if name == "fsmt" else None), own_tokenizer(folder, name)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder(name)).eval()
    options = {"num_beams": 3, "num_return_sequences": 2}
    if name in ("m2m100", "nllb", "mbart50"):
        options["forced_bos_token_id"] = host._start[-1]
    if name == "mbart":
        options["decoder_start_token_id"] = host._start[-1]
    for source in SOURCES[:2]:
        found = host.translate([source], beam=3, nbest=2)[0]
        prefix = "fofi dada: " if name == "t5" else ""
        inputs = tokenizer(prefix + source, return_tensors="pt")
        room = host.models[0].max_positions[1] - 1
        options["max_new_tokens"] = min(room, 2 * inputs["input_ids"].size(1) + 49 + len(host._start))
        rows = model.generate(**inputs, **options)[:, len(host._start) :].tolist()
        ended = [row[: row.index(host._end)] if host._end in row else row for row in rows]
        assert [beam.target.indices for beam in found] == [[i for i in row if i != host._pad] for row in ended]


def test_many_lines_are_translated_as_single_ones(folder):
    host = loaded(folder, "marian")
    together = host.translate(SOURCES, beam=2, nbest=2)
    assert [len(beams) for beams in together] == [2, 2, 2]
    for source, beams in zip(SOURCES, together, strict=True):
        alone = host.translate([source], beam=2, nbest=2)[0]
        assert [beam.target.indices[:20] for beam in beams] == [beam.target.indices[:20] for beam in alone]


def test_a_translation_is_scored_as_a_forced_target(folder):
    host = loaded(folder, "marian")
    best = host.translate(SOURCES[:1], beam=2)[0][0]
    assert best.score == pytest.approx(host.scores([(host.source(SOURCES[0]), best.target)])[0], abs=1e-6)


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_the_words_of_a_translation_cover_its_pieces(folder, name):
    for tokenizer in (None, "moses"):
        target = loaded(folder, name, tokenizer).translate(SOURCES[:1], beam=1)[0][0].target
        sentence = target.sentence
        assert len(sentence.pieces) == len(target.indices)
        covered = {position for span in sentence.by_word.spans for position in range(*span)}
        assert covered.isdisjoint(sentence.by_word.specials)
        assert sorted([*covered, *sentence.by_word.specials]) == list(range(len(sentence.pieces)))
        assert target.given_words == sentence.words


def test_one_checkpoint_for_both_directions_is_loaded_once(folder):
    there = ModelOptions(str(folder("m2m100")), source_lang="de", target_lang="en")
    one = load(there, TextOptions())
    other = load(there.reversed(), TextOptions(), forward=one)
    assert one.models[0] is other.models[0]
    assert other.languages == ("en", "de")
    assert one.source("da").indices != other.source("da").indices


def test_inventories_know_special_pieces(folder):
    source, target = loaded(folder, "fsmt").inventories()
    assert source.symbols[4] != target.symbols[4]
    assert source.symbols[2] == target.symbols[2] == "</s>"
    assert 2 in source.special
    assert 3 not in source.special


def test_an_ensemble_reads_but_does_not_translate(folder):
    path = str(folder("marian"))
    host = load(ModelOptions(f"{path}:{path}"), TextOptions())
    assert len(host.models) == 2
    with pytest.raises(NormalignError, match="single model"):
        host.translate(["da"])


def test_the_host_is_found_by_the_path(folder, tmp_path):
    (tmp_path / "checkpoint").touch()
    assert host_of(str(folder("marian"))) == "transformers"
    assert host_of(str(tmp_path / "checkpoint")) == "fairseq"
    assert host_of("a.pt:b.pt") == host_of("missing.pt") == host_of("/no/such/thing") == "fairseq"
    assert host_of("facebook/nllb-200-distilled-600M") == host_of("t5-small") == "transformers"


def test_fairseq_is_not_imported(folder):
    source, target = LANGUAGES["m2m100"]
    code = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("fairseq", "omegaconf"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from fairseq_normalign.hosts import load_host
from fairseq_normalign.hosts.options import ModelOptions
from fairseq_normalign.text.options import TextOptions
host = load_host(ModelOptions({str(folder("m2m100"))!r}, source_lang={source!r}, target_lang={target!r}), TextOptions())
batch = host.batch([(host.source("da fe"), host.target("mi"))])
host.models[0].read_layers(batch, [0], lambda layer, record: print(tuple(record.weights.shape)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("(1, 2, ")

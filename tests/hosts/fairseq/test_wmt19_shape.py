"""WMT19's shape: four models, raw text, moses as fairseq calls it, codes of fastBPE; other schemes of pieces."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import fairseq_normalign
from fairseq_normalign.cli import main
from fairseq_normalign.text.subwords import MosesTokenizer, SubwordNmt
from tests.conftest import lines_of
from tests.hosts.fairseq.published_shapes import Shape, generate, preprocess, train

CODES = "e r</w> 90\nt h 71\nth e</w> 60\nl o 41\nlo w 17\nlow er</w> 9\na n 5\nan d</w> 2\n"
WORDS = ["the", "lower", "and", "low", "then", "it's", "well-known", "&", "other"]


@pytest.fixture(scope="module")
def wmt19(tmp_path_factory) -> Shape:
    folder: Path = tmp_path_factory.mktemp("wmt19")
    (folder / "bpecodes").write_text(CODES, encoding="utf-8")
    split, chance = SubwordNmt(folder / "bpecodes"), random.Random(3)
    for name, size in (("train", 60), ("valid", 4), ("test", 20)):
        raw = [" ".join(chance.choice(WORDS) for _ in range(chance.randint(2, 7))) + "." for _ in range(size)]
        for language, lines in (("de", raw), ("en", [" ".join(line.split()[::-1]) for line in raw])):
            tokenize = MosesTokenizer(language, "fairseq-moses")
            (folder / f"raw.{name}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
            pieces = [" ".join(split(tokenize(line))) for line in lines]
            (folder / f"{name}.{language}").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    data = folder / "bin"
    prefixes = [word for name in ("train", "valid", "test") for word in (f"--{name}pref", folder / name)]
    preprocess("-s", "de", "-t", "en", "--destdir", data, "--joined-dictionary", *prefixes)
    way = ["--task", "translation", "--arch", "transformer_wmt_en_de_big", "-s", "de", "-t", "en"]
    way += ["--share-all-embeddings", "--max-update", 8]
    models = [train(data, folder / f"out{seed}", *way, "--seed", seed) for seed in range(1, 5)]
    return Shape(data, ":".join(map(str, models)), "translation", "de", "en", post_process="subword_nmt")  # type: ignore[arg-type]


def test_raw_text_gives_the_links_of_the_pieces(wmt19, tmp_path):
    folder = wmt19.data.parent
    scored = generate(
        wmt19,
        "translation_normalign",
        *("--score-reference", "--post-process", "subword_nmt", "--print-alignment", "hard"),
        *("--normalign-layer", 1, "--normalign-step", "awi"),
    )
    files = ["--source", folder / "raw.test.de", "--target", folder / "raw.test.en", "-o", tmp_path / "links"]
    text = ["--tokenizer", "fairseq-moses", "--bpe-codes", folder / "bpecodes", "--layer", 1, "--step", "awi"]
    command = ["align", "--cpu", "--path", wmt19.checkpoint, "--data", wmt19.data, *files, *text]
    assert main(list(map(str, command))) == 0
    lines = (tmp_path / "links").read_text(encoding="utf-8").split("\n")[:-1]
    assert lines == [lines_of(scored, "A")[number][0] for number in range(20)]
    model = fairseq_normalign.load(
        str(wmt19.checkpoint),
        data=wmt19.data,
        bpe_codes=(folder / "bpecodes", folder / "bpecodes"),
        tokenizer="fairseq-moses",
        layer=1,
        step="awi",
        decision="argmax",
    )
    raw = [(folder / f"raw.test.{language}").read_text(encoding="utf-8").split("\n")[0] for language in ("de", "en")]
    aligned = model.align(*raw)
    assert aligned.pharaoh() == lines[0]
    assert " ".join(aligned.target) == lines_of(scored, "T")[0][0]


def test_ensembles_give_the_hypotheses_of_the_stock_task(wmt19):
    options = ("--post-process", "subword_nmt")
    ours = generate(wmt19, "translation_normalign", *options, "--print-alignment", "hard")
    stock = generate(wmt19, "translation", *options)
    assert len(lines_of(ours, "A")) == 20
    for number, line in lines_of(stock, "H").items():
        assert lines_of(ours, "H")[number] == line


def test_pieces_of_two_schemes_are_read_each_by_its_own(tmp_path):
    lines = {"de": "▁da s ▁ha us", "en": "the hou@@ se"}
    for language, line in lines.items():
        (tmp_path / f"train.{language}").write_text((line + "\n") * 8, encoding="utf-8")
    data = tmp_path / "bin"
    preprocess(
        "-s", "de", "-t", "en", "--destdir", data, "--trainpref", tmp_path / "train", "--validpref", tmp_path / "train"
    )
    way = ["--task", "translation", "--arch", "transformer", "-s", "de", "-t", "en", "--max-update", 2]
    checkpoint = train(data, tmp_path / "out", *way)
    found = fairseq_normalign.load(checkpoint, data=data).align(lines["de"], lines["en"])
    assert found.source == ("das", "haus")
    assert found.target == ("the", "house")


def test_a_checkpoint_in_one_shard_is_found(wmt19, tmp_path):
    import shutil

    first = str(wmt19.checkpoint).split(":")[0]
    shutil.copy(first, tmp_path / "checkpoint_last-shard0.pt")
    pair = [
        (wmt19.data.parent / f"test.{language}").read_text(encoding="utf-8").split("\n")[0] for language in ("de", "en")
    ]
    one, other = (
        fairseq_normalign.load(path, data=wmt19.data).align(*pair) for path in (first, tmp_path / "checkpoint_last.pt")
    )
    assert one.pharaoh() == other.pharaoh()
    shutil.copy(first, tmp_path / "checkpoint_last-shard1.pt")
    with pytest.raises(fairseq_normalign.NormalignError, match="is in 2 parts"):
        fairseq_normalign.load(tmp_path / "checkpoint_last.pt", data=wmt19.data)


def test_numbers_of_gpt2_are_never_taken_for_words(tmp_path, capsys):
    for language in ("de", "en"):
        for name in ("train", "test"):
            (tmp_path / f"{name}.{language}").write_text("262 1169 14\n" * 8, encoding="utf-8")
    data = tmp_path / "bin"
    prefixes = ["--trainpref", tmp_path / "train", "--validpref", tmp_path / "test", "--testpref", tmp_path / "test"]
    preprocess("-s", "de", "-t", "en", "--destdir", data, *prefixes)
    way = ["--task", "translation", "--arch", "transformer", "-s", "de", "-t", "en", "--max-update", 2]
    shape = Shape(data, train(data, tmp_path / "out", *way), "translation", "de", "en")
    files = ["--source", tmp_path / "test.de", "--target", tmp_path / "test.en", "-o", tmp_path / "links"]
    command = list(map(str, ["align", "--cpu", "--path", shape.checkpoint, "--data", data, *files]))
    assert main(command) == 2
    assert "GPT-2" in capsys.readouterr().err
    assert main([*command, "--level", "piece"]) == 0
    with pytest.raises(fairseq_normalign.NormalignError, match="GPT-2"):
        generate(shape, "translation_normalign", "--print-alignment", "hard", "--normalign-level", "word")

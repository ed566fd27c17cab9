"""normalign view, end to end from dumps and files."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from fairseq_normalign.cli import main
from fairseq_normalign.links.dump import DumpWriter
from fairseq_normalign.links.pieces import segment

SENTENCES = [
    ("das ist ein klein@@ es haus .", "this is a small hou@@ se ."),
    ("wir glaub@@ en das nicht .", "we do not be@@ lieve it ."),
    ("ja .", "yes ."),
]
GOLD = "0-0 1-1 2-2 3-3 4-4 5-5\n0-0 1p3 2-4 3-2 4-5\n0-0 1-1\n"


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(3)
    for method in ("weights", "norms"):
        with DumpWriter(tmp_path / method, method=method) as writer:
            for number in (2, 0, 1):
                source, target = ([*text.split()] for text in SENTENCES[number])
                source.append("</s>")
                writer.add(
                    number,
                    source_pieces=source,
                    target_pieces=target,
                    source=segment(source, "subword_nmt", specials={"</s>"}),
                    target=segment(target, "subword_nmt"),
                    layers=rng.random((3, len(target) + 1, len(source))).astype(np.float32),
                )
    (tmp_path / "gold").write_text(GOLD, encoding="utf-8")
    for side, name in enumerate("st"):
        words = "".join(pair[side].replace("@@ ", "") + "\n" for pair in SENTENCES)
        (tmp_path / name).write_text(words, encoding="utf-8")
    (tmp_path / "links").write_text("0-0\n1-1\n0-0 1-1\n", encoding="utf-8")
    return tmp_path


def test_a_grid_of_each_method_for_the_sentences_asked_for(folder, capsys):
    arguments = [str(folder / "weights"), str(folder / "norms"), "--gold", str(folder / "gold"), "--sentences", "3,1"]
    assert main(["view", *arguments, "--layer", "2"]) == 0
    shown = capsys.readouterr().out
    titles = [line for line in shown.splitlines() if line.startswith("sentence")]
    assert titles == [
        "sentence 1 · weights, layer 2, AWI",
        "sentence 1 · norms, layer 2, AWI",
        "sentence 3 · weights, layer 2, AWI",
        "sentence 3 · norms, layer 2, AWI",
    ]
    assert "\033" not in shown


def test_without_a_choice_the_first_sentence_is_shown_and_that_is_said(folder, capsys):
    assert main(["view", str(folder / "norms")]) == 0
    out, err = capsys.readouterr()
    assert out.count("sentence ") == 1
    assert err == "normalign view: the first sentence only; --sentences 1,4-7 chooses\n"


def test_links_of_files(folder, capsys):
    texts = ["--source", str(folder / "s"), "--target", str(folder / "t")]
    assert main(["view", *texts, "--links", f"other={folder / 'links'}", "--sentences", "3"]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == ["yes ■", "  .   ■", "■ link"]


def test_links_of_raw_text_count_the_words_of_the_tokenizer(folder, capsys):
    for name in "st":
        (folder / f"raw.{name}").write_text("Ja, ja.\n", encoding="utf-8")
    (folder / "one").write_text("0-0 3-3\n", encoding="utf-8")
    texts = ["--source", str(folder / "raw.s"), "--target", str(folder / "raw.t"), "--links", f"x={folder / 'one'}"]
    assert main(["view", *texts]) == 2
    assert "out of range" in capsys.readouterr().err
    assert main(["view", *texts, "--tokenizer", "moses", "--lowercase"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows[-5:-1]] == ["Ja", ",", "ja", "."]  # as they are written


def test_figures(folder):
    pytest.importorskip("matplotlib")
    arguments = [str(folder / "norms"), "--gold", str(folder / "gold"), "--layer", "all", "--sentences", "1-3"]
    assert main(["view", *arguments, "-o", str(folder / "f.png")]) == 0
    assert sorted(path.name for path in folder.glob("*.png")) == ["f-1.png", "f-2.png", "f-3.png"]
    assert main(["view", *arguments, "-o", str(folder / "f.pdf")]) == 0
    assert (folder / "f.pdf").read_bytes().count(b"/Type /Page ") == 3


def test_figure_page_and_report_in_one_run(folder):
    pytest.importorskip("matplotlib")
    outputs = ["-o", str(folder / "f.png"), "--html", str(folder / "p.html"), "--report", str(folder / "r")]
    assert main(["view", str(folder / "norms"), "--gold", str(folder / "gold"), *outputs, "--bootstrap", "5"]) == 0
    assert (folder / "f.png").exists()
    assert (folder / "r" / "index.html").exists()
    assert '"id":2' in (folder / "p.html").read_text(encoding="utf-8")


def test_the_page_holds_every_sentence(folder, capsys):
    dumps = [str(folder / "weights"), f"mine={folder / 'norms'}"]
    others = ["--gold", str(folder / "gold"), "--links", f"other={folder / 'links'}"]
    assert main(["view", *dumps, *others, "--html", str(folder / "p.html"), "--title", "T"]) == 0
    assert "3 sentences" in capsys.readouterr().err
    text = (folder / "p.html").read_text(encoding="utf-8")
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert [method["name"] for method in data["methods"]] == ["weights", "mine", "other"]
    assert [sentence["id"] for sentence in data["sentences"]] == [0, 1, 2]
    assert data["title"] == "T"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/nowhere"], "{}/nowhere: not a dump of soft alignments"),
        (["{}/gold"], "not a dump of soft alignments"),
        (["{}/norms", "--sentences", "4"], "there is no sentence 4; there are 3"),
        (["{}/norms", "--layer", "4"], "'4' is neither 'all' nor a layer from 1 to 3"),
        (["{}/norms", "--head", "1"], "its heads were not kept"),
        (["{}/norms", "--method", "x"], "no method 'x' here; there are norms"),
        (["{}/norms", "--gold", "{}/gold", "--report", "{}/r", "--baseline", "x"], "no method 'x' here"),
        (["{}/norms", "--soft-file", "{}/links"], "--soft-file and dump exclude each other"),
        (["{}/norms", "{}/norms", "x={}/norms", "{}/norms"], "two dumps are called"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(folder, capsys, arguments, message):
    before = sorted(folder.iterdir())
    assert main(["view", *(argument.format(folder) for argument in arguments)]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("normalign view: error: ")
    assert message.format(folder) in error
    assert sorted(folder.iterdir()) == before


def test_a_report_holds_tables_figures_and_examples(folder, capsys):
    pytest.importorskip("matplotlib")
    dumps = [str(folder / "weights"), str(folder / "norms")]
    others = ["--gold", str(folder / "gold"), "--links", f"a<b={folder / 'links'}", "--title", "R & D <x>"]
    assert main(["view", *dumps, *others, "--each", "1", "--all-sentences", "--report", str(folder / "r")]) == 0
    names = {path.name for path in (folder / "r").iterdir()}
    tables = {"table.txt", "table.tsv", "table.json", "table.tex"}
    assert names == {"index.html", "examples.html", "sentences.html", "figures"} | tables
    index = (folder / "r" / "index.html").read_text(encoding="utf-8")
    assert "<h1>R &amp; D &lt;x&gt;</h1>" in index
    assert "a&lt;b" in index
    assert "<x>" not in index
    rows = {system["name"]: system for system in json.loads((folder / "r" / "table.json").read_text())["systems"]}
    capsys.readouterr()
    assert main(["score", str(folder / "gold"), str(folder / "links"), "--gold-base", "0", "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)["systems"][0]
    assert rows["a<b"]["figure"]["aer"] == pytest.approx(scored["aer"] / 100)
    examples = (folder / "r" / "examples.html").read_text(encoding="utf-8")
    notes = json.loads(examples.split('id="data">')[1].split("</script>")[0])["sentences"]
    kinds = {note for sentence in notes for note in sentence["n"]}
    against = "by norms against weights"
    assert {"best", "typical", "worst", f"most improved {against}"} <= kinds
    assert kinds - {"best", "typical", "worst", f"most improved {against}"} <= {f"most worsened {against}"}
    assert sorted(path.name for path in (folder / "r" / "figures").iterdir()) == ["examples.pdf", "layers.pdf"]
    assert index.count("<svg") == 2 * len(notes)  # pictures that follow light and dark, with text of readable size
    assert "<img" not in index


def test_view_of_files_loads_neither_torch_nor_matplotlib(folder):
    code = (
        "import sys; from fairseq_normalign.cli import main; "
        f"main(['view', {str(folder / 'norms')!r}, '--html', {str(folder / 'p.html')!r}]); "
        "sys.exit(bool({'torch', 'fairseq', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

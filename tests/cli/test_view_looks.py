"""Both looks, their product and both directions as view and report draw them, against what align writes."""

from __future__ import annotations

import json
import re

import pytest

from fairseq_normalign import toy
from fairseq_normalign.cli import main

READINGS = ["--readings", "1.2:awi,3:awo", "--reverse-readings", "1.1:awi,3:awo"]
LOOKS = ["AWI look (norms 1.2)", "AWO look (norms 3)", "two looks"]


def page_data(path):
    return json.loads(path.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])


@pytest.fixture(scope="module")
def gold(tiny_pair, tmp_path_factory):
    """The links of two looks of both directions as gold: their own AER is 0."""
    path = tmp_path_factory.mktemp("gold") / "gold"
    assert main(["align", *tiny_pair.arguments(), *tiny_pair.reverse(), *READINGS, "-o", str(path)]) == 0
    return path


def as_links(lines):
    return [sorted([int(s), int(t)] for s, t in (link.split("-") for link in line.split())) for line in lines]


def test_the_page_holds_both_looks_their_product_and_both_directions(tiny_pair, gold, tmp_path):
    one = tmp_path / "one"
    assert main(["align", *tiny_pair.arguments(), *READINGS[:2], "-o", str(one)]) == 0
    arguments = [*tiny_pair.arguments(), *tiny_pair.reverse(), *READINGS]
    assert main(["view", *arguments, "--html", str(tmp_path / "p.html")]) == 0
    data = page_data(tmp_path / "p.html")
    names = [method["name"] for method in data["methods"]]
    assert names == ["weights", "norms", *LOOKS, "the other direction", "both directions"]
    for name, file in (("two looks", one), ("both directions", gold)):
        expected = as_links(file.read_text().splitlines())
        assert [sentence["k"][name] for sentence in data["sentences"]] == expected


def test_pictures_show_the_looks_side_by_side(tiny_pair, capsys):
    assert main(["view", *tiny_pair.arguments(), *READINGS[:2], "--sentences", "2"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line.startswith("sentence")] == [f"sentence 2 · {name}" for name in LOOKS]


def test_the_looks_are_chosen_by_the_text_and_that_is_said(tiny_pair, capsys):
    assert main(["view", *tiny_pair.arguments(), *tiny_pair.reverse(), "--sentences", "1"]) == 0
    out, err = capsys.readouterr()
    assert "using the default norms:1:awi,norms:3:awo^0.5" in err
    assert [line.split(" · ")[1] for line in out.splitlines() if line.startswith("sentence")][-1] == "both directions"


def test_words_are_shown_as_they_are_written_though_the_model_reads_lower_case(tmp_path, capsys):
    model = [f"--path={toy.paths()[0]}", f"--bpe-codes={toy.FOLDER / 'codes'}", "--tokenizer=moses", "--lowercase"]
    text = ["--source-text", "Wir warten.", "--target-text", "We wait."]
    assert main(["view", *model, *text, "--html", str(tmp_path / "p.html")]) == 0
    sentence = page_data(tmp_path / "p.html")["sentences"][0]
    assert (sentence["s"]["w"], sentence["t"]["w"]) == (["Wir", "warten", "."], ["We", "wait", "."])
    capsys.readouterr()
    assert main(["view", *model, *text, "--method", "norms"]) == 0
    assert [row.split()[0] for row in capsys.readouterr().out.splitlines()[-4:-1]] == ["We", "wait", "."]


def test_a_report_scores_what_was_decided_as_align_and_score_do(tiny_pair, gold, tmp_path):
    pytest.importorskip("matplotlib")
    arguments = [*tiny_pair.arguments(), *tiny_pair.reverse(), *READINGS, "--gold", str(gold), "--bootstrap", "10"]
    assert main(["view", *arguments, "--each", "1", "--report", str(tmp_path / "r")]) == 0
    index = (tmp_path / "r" / "index.html").read_text(encoding="utf-8")
    assert "AER both directions: " in index
    assert ", : " not in index
    table = index.split("AER of every layer")[1].split("</table>")[0]
    cells = [float(cell) for cell in re.findall(r"<td>(?:<b>)?([\d.]+)", table)]
    assert re.findall(r"<b>([\d.]+)</b>", table)[0] == str(min(cells))
    table = json.loads((tmp_path / "r" / "table.json").read_text())
    rows = {system["name"]: system for system in table["systems"]}
    assert rows["both directions"]["figure"]["aer"] == 0
    assert rows["both directions"]["direction"] == "decided"
    assert rows["two looks"]["figure"]["aer"] > 0
    notes = [note for sentence in page_data(tmp_path / "r" / "examples.html")["sentences"] for note in sentence["n"]]
    assert "most improved by both directions against norms" in notes

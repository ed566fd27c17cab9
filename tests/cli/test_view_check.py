"""What normalign check found, shown by view and report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairseq_normalign.cli import main

LINES = [
    {
        "line": 1,
        "score": 1.5,
        "source": ["das", "Haus"],
        "target": ["the", "house"],
        "links": [[0, 0], [1, 1]],
        "without_source": [],
        "without_target": [],
        "target_gains": [2.0, 3.0],
    },
    {"line": 2, "score": None, "skipped": "empty"},
    {
        "line": 3,
        "score": -4.0,
        "source": ["er", "<ging>"],
        "target": ["a", "blue", "sky"],
        "links": [[0, 0]],
        "without_source": [1, 2],
        "without_target": [1],
    },
]


@pytest.fixture
def checked(tmp_path) -> Path:
    return written(tmp_path / "scores.jsonl", LINES)


def written(path: Path, entries: list) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def data_of(page: Path) -> dict:
    return json.loads(page.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])


def test_a_page_of_the_check_alone(checked, tmp_path):
    assert main(["view", "--checked", str(checked), "--html", str(tmp_path / "p.html")]) == 0
    data = data_of(tmp_path / "p.html")
    assert data["check"]
    assert [one["id"] for one in data["sentences"]] == [0, 2]  # the second pair was skipped
    assert data["sentences"][0]["c"] == {"v": 1.5, "s": [], "t": [], "tg": [2.0, 3.0]}
    assert data["sentences"][1]["c"] == {"v": -4.0, "s": [1], "t": [1, 2]}
    assert data["sentences"][1]["k"] == {"links": [[0, 0]]}


def test_the_worst_pairs_in_the_terminal(checked, capsys):
    assert main(["view", "--checked", str(checked), "--worst", "1"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "sentence 3 · links"
    assert shown[-3:] == [
        "score of the check: -4.00",
        "words without a source: 2:blue 3:sky",
        "words without a target: 2:<ging>",
    ]


def test_flags_beside_other_alignments(checked, tmp_path):
    for name, lines in (("s", "das Haus\n\ner <ging>\n"), ("t", "the house\n\na blue sky\n"), ("l", "0-0\n\n1-2\n")):
        (tmp_path / name).write_text(lines, encoding="utf-8")
    texts = [f"--source={tmp_path / 's'}", f"--target={tmp_path / 't'}", f"--links=mine={tmp_path / 'l'}"]
    page = tmp_path / "p.html"
    assert main(["view", *texts, "--checked", str(checked), "--html", str(page)]) == 0
    assert ["c" in one for one in data_of(page)["sentences"]] == [True, False, True]
    assert main(["view", *texts, "--checked", str(checked), "--worst", "1", "--html", str(page)]) == 0
    assert [one["id"] for one in data_of(page)["sentences"]] == [2]


def test_a_report_without_gold_is_about_the_check(checked, tmp_path, capsys):
    assert main(["view", "--checked", str(checked), "--report", str(tmp_path / "r"), "--title", "A & B"]) == 0
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == ["check.html", "index.html"]
    index = (tmp_path / "r" / "index.html").read_text(encoding="utf-8")
    assert "<h1>A &amp; B</h1>" in index
    assert "2 of 5 target words have no source (40.0%); 1 of 4 source words have no target (25.0%)." in index
    assert '<mark title="without a target">&lt;ging&gt;&#8288;<sup>∅</sup></mark>' in index
    assert index.index("Score -4.00") < index.index("Score 1.50")
    assert index.count('<rect class="bar"') == 24
    assert [one["id"] for one in data_of(tmp_path / "r" / "check.html")["sentences"]] == [2, 0]


def test_a_report_with_gold_has_a_section_about_the_check(checked, tmp_path):
    pytest.importorskip("matplotlib")
    entries = [LINES[0], {**LINES[2], "line": 2}]
    written(checked, entries)
    soft, gold = tmp_path / "soft", tmp_path / "gold"
    soft.write_text("0.9,0.1 0.2,0.8\n0.5,0.5 0.9,0.1 0.1,0.9\n")
    gold.write_text("0-0 1-1\n0-0\n")
    for name, side in (("s", "source"), ("t", "target")):
        (tmp_path / name).write_text("".join(" ".join(one[side]) + "\n" for one in entries))
    texts = [f"--source={tmp_path / 's'}", f"--target={tmp_path / 't'}", f"--soft-file=norms={soft}", f"--gold={gold}"]
    assert main(["view", *texts, "--checked", str(checked), "--gold-base=0", "--report", str(tmp_path / "r")]) == 0
    index = (tmp_path / "r" / "index.html").read_text(encoding="utf-8")
    assert "<h2>Systems</h2>" in index
    assert "<h2>Check of the translations</h2>" in index
    assert 'href="check.html#sentence=2"' in index
    assert (tmp_path / "r" / "check.html").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("line\tscore", ":1: 'line\\tscore' is not a line of JSON, as check writes it with words"),
        ('{"line": 1, "score": 1}', ":1: 'source' has to be a list of words, as check writes them with words"),
        ('{"line": 0}', ":1: 'line' has to be the number of the pair, larger than 0"),
        (json.dumps({**LINES[0], "score": "high"}), ":1: 'score' has to be a number"),
        (
            json.dumps({**LINES[0], "without_source": [2]}),
            ":1: 'without_source' has to be a list of positions of words, from 0 to 1",
        ),
        (
            json.dumps({**LINES[0], "target_gains": [1]}),
            ":1: 'target_gains' has to be a list of numbers, one for each of 2 words",
        ),
        (
            json.dumps({**LINES[0], "links": [[0, 2]]}),
            ":1: 'links' has to be a list of links between 2 and 2 words, from 0, not '[[0, 2]]'",
        ),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, capsys, line, message):
    (tmp_path / "c").write_text(line + "\n")
    assert main(["view", "--checked", str(tmp_path / "c"), "--html", str(tmp_path / "p")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"{tmp_path / 'c'}{message}" in error
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--checked", "{}", "--source", "{}.s", "--target", "{}.s", "--sentences", "1"],
            "sentence 1 has other words there",
        ),
        (["--checked", "{}", "--sentences", "2"], "there is no sentence 2; there are 2"),
    ],
)
def test_mistakes(checked, capsys, arguments, message):
    Path(f"{checked}.s").write_text("der Hund\n")
    assert main(["view", *(one.format(checked) for one in arguments), "--html", f"{checked}.html"]) == 2
    assert message in capsys.readouterr().err
    assert not Path(f"{checked}.html").exists()


def test_a_page_does_not_replace_the_check_it_shows(checked, capsys):
    before = checked.read_bytes()
    assert main(["view", "--checked", str(checked), "--html", str(checked)]) == 2
    assert "would replace it" in capsys.readouterr().err
    assert checked.read_bytes() == before

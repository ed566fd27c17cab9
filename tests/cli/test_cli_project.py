"""normalign project and normalign lexicon as commands, on real files."""

from __future__ import annotations

import gzip
import json

import pytest

from fairseq_normalign.cli import main

SOURCE = (
    'Wir <b>sehen</b> das <a href="x">Haus von <i>Anna</i></a> .\nDrücken Sie {0} , um <b>fortzufahren</b> .<br/>\n'
)
BARE = "Wir sehen das Haus von Anna .\nDrücken Sie , um fortzufahren .\n"
TARGET = "We see Anna 's house .\nTo continue , press .\n"
LINKS = "0-0 1-1 2-3 3-4 4-3 5-2 6-5\n0-3 3-0 4-1 5-4\n"
MARKED = 'We <b>see</b> <a href="x"><i>Anna</i> \'s house</a> .\nTo <b>continue</b> , press {0} .<br/>\n'


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"s": SOURCE, "bare": BARE, "t": TARGET, "l": LINKS}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(line: str) -> int:
    return main(line.split())


def test_markup(files, capsys):
    assert run("project --markup --source s --target t --links l -o out") == 0
    assert (files / "out").read_text() == MARKED
    assert capsys.readouterr().err == "normalign project: 10 tags\n"


@pytest.mark.parametrize("separator", [" ||| ", "\t"])
def test_markup_of_a_packed_bitext(files, separator):
    pairs = zip(SOURCE.splitlines(), TARGET.splitlines(), strict=True)
    text = "".join(f"{source}{separator}{target}\n" for source, target in pairs)
    (files / "both.gz").write_bytes(gzip.compress(text.encode()))
    assert run("project --markup --bitext both.gz --links l -o out") == 0
    assert (files / "out").read_text() == MARKED


def test_strip_gives_what_is_aligned(files, capsys):
    assert run("project --strip --source s") == 0
    assert capsys.readouterr().out == BARE


def test_links_as_json_lines_with_confidence(files):
    (files / "scores").write_text("1 .5 1 1 1 .25 1\n1 1 1 1\n")
    assert run("convert l --to jsonl --source bare --target t --link-scores scores -o l.jsonl") == 0
    first = json.loads((files / "l.jsonl").read_text().splitlines()[0])
    assert first["links"][1] == {"source": 1, "target": 1, "confidence": 0.5}
    assert [first["source"][a:b] for a, b in first["source_words"]] == BARE.splitlines()[0].split()
    label = {"text": BARE.splitlines()[0], "spans": [{"start": 23, "end": 27, "label": "PER"}]}
    (files / "labels").write_text(json.dumps(label) + '\n{"text": "Drücken Sie , um fortzufahren .", "spans": []}\n')
    assert run("project --labels labels --target t --links l.jsonl -o out") == 0
    found = json.loads((files / "out").read_text().splitlines()[0])
    assert found["spans"] == [{"start": 7, "end": 11, "label": "PER", "confidence": 0.25, "source": [23, 27]}]
    assert run("convert l.jsonl --to pharaoh -o back") == 0
    assert (files / "back").read_text() == LINKS


def test_labels_in_columns_and_the_report(files, capsys):
    columns = "Wir O|sehen O|das O|Haus O|von O|Anna B-PER|. O||Drücken B-X|Sie B-Y|, O|um O|fortzufahren O|. O|"
    (files / "c").write_text(columns.replace("|", "\n"))
    assert run("project --labels c --target t --links l -o out --report notes") == 0
    assert (files / "out").read_text() == "We\tO\nsee\tO\nAnna\tB-PER\n's\tO\nhouse\tO\n.\tO\n\n" + (
        "To\tO\ncontinue\tO\n,\tO\npress\tB-X\n.\tO\n\n"
    )
    assert (files / "notes").read_text().splitlines()[1:] == ["2\tlost\tY Sie\tnone of its words has a link"]
    assert capsys.readouterr().err == "normalign project: 3 labels: 1 lost\n"


def test_natural_text_with_unicode_words(files):
    (files / "s").write_text("Das <b>Haus</b>, sagte „<i>Anna</i>“.\n", encoding="utf-8")
    (files / "t").write_text("“Anna,” she said, “the house.”\n", encoding="utf-8")
    # Das Haus , sagte „ Anna “ .   /   “ Anna , ” she said , “ the house . ”
    (files / "l").write_text("0-8 1-9 3-5 4-0 5-1 6-3 7-10\n")
    assert run("project --markup --source s --target t --links l --words unicode -o out") == 0
    assert (files / "out").read_text() == "“<i>Anna</i>,” she said, “the <b>house</b>.”\n"


def test_words_of_the_tokenizer(files):
    """As align counts them: Herr Müller . / Mr Müller ."""
    (files / "s").write_text("<i>Herr Müller.</i> Ja.\n", encoding="utf-8")
    (files / "t").write_text("Yes. Mr Müller.\n", encoding="utf-8")
    (files / "l").write_text("0-2 1-3 2-4 3-0 4-1\n")
    for options in ("--tokenizer moses", "--words moses", "--tokenizer fairseq-moses"):
        assert run(f"project --markup --source s --target t --links l {options} -o out") == 0
        assert (files / "out").read_text() == "Yes. <i>Mr Müller.</i>\n"


def test_the_main_part_is_the_default(files):
    (files / "s").write_text("<b>a b</b> c\n")
    (files / "t").write_text("A A2 C B\n")
    (files / "l").write_text("0-0 0-1 1-3 2-2\n")
    for options, expected in (("", "<b>A A2</b> C B\n"), ("--gaps close", "<b>A A2 C B</b>\n")):
        assert run(f"project --markup --source s --target t --links l -o out {options}") == 0
        assert (files / "out").read_text() == expected


def test_evaluate(files, capsys):
    (files / "gold").write_text("1-1 2-2 3-4 4-5 5-4 6-3 7-6\n1-4 4-1 5-2 6-5\n")
    assert run("project --evaluate gold --source bare --target t --links l l") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0][:6] == ["links", "spans", "exact", "P", "R", "F1"]
    assert rows[1][1:7] == ["34", "100.0", "100.0", "100.0", "100.0", "0"]
    assert rows[1] == rows[2]


def test_lexicon(files, capsys):
    assert run("lexicon --source bare --target t --links l --lowercase --letters") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0][:3] == ["source", "target", "count"]
    assert [f"{row[0]} {row[1]} {row[2]}" for row in rows[1:]] == [
        "anna anna 1", "das 's 1", "drücken press 1", "fortzufahren continue 1", "haus house 1", "sehen see 1",
        "um to 1", "von 's 1", "wir we 1",
    ]  # fmt: skip
    assert rows[2][3:5] == ["1.000000", "0.500000"]


def test_the_garbage_collector_works_again_after_a_run(tmp_path):
    import gc

    for name, line in (("s", "<b>a</b> b"), ("t", "x y"), ("l", "0-1 1-0")):
        (tmp_path / name).write_text(f"{line}\n")
    given = [f"--source={tmp_path / 's'}", f"--target={tmp_path / 't'}", f"--links={tmp_path / 'l'}"]
    assert main(["project", "--markup", *given, "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text() == "x <b>y</b>\n"
    assert gc.isenabled()

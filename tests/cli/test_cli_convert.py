import itertools

import pytest

from fairseq_normalign.cli import main

TALP = "1-1 2p2\n\n2-1 3-3\n"
FORMS = {
    "talp": TALP,
    "naacl": "0001 1 1 S\n0001 2 2 P\n0003 2 1 S\n0003 3 3 S\n",
    "rwth": "SENT: 1\nS 1 1\nP 2 2\nSENT: 2\nSENT: 3\nS 2 1\nS 3 3\n",
}
SURE_FORMS = {"pharaoh": "0-0 1-1\n\n1-0 2-2\n", "fairseq": "A-0\t0-0 1-1\nA-1\t\nA-2\t1-0 2-2\n"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def convert(capsys, text, *arguments):
    with open("input", "w", encoding="utf-8", newline="") as handle:
        handle.write(text)
    code = main(["convert", "input", *arguments])
    out, err = capsys.readouterr()
    assert (code == 0) == (err == "")
    return out if code == 0 else err.removeprefix("normalign convert: error: ").strip()


@pytest.mark.parametrize(("start", "end"), [*itertools.product(FORMS, [*FORMS, *SURE_FORMS])])
def test_between_any_two(folder, capsys, start, end):
    expected = {**FORMS, **SURE_FORMS}[end]
    assert convert(capsys, FORMS[start], "--to", end, "--from-base", "1", "--possible", "keep") == expected


@pytest.mark.parametrize(("start", "end"), [*itertools.product(SURE_FORMS, [*FORMS, *SURE_FORMS])])
def test_from_formats_without_marks(folder, capsys, start, end):
    expected = {**FORMS, **SURE_FORMS}[end].replace("2p2", "2-2").replace("2 2 P", "2 2 S").replace("P 2 2", "S 2 2")
    assert convert(capsys, SURE_FORMS[start], "--to", end) == expected


def test_possible_links_are_asked_about(folder, capsys):
    message = convert(capsys, TALP, "--to", "pharaoh", "--from-base", "1", "-o", "out")
    assert "sentence 1: link 1-1 is only possible" in message
    assert [path.name for path in folder.iterdir()] == ["input"]
    assert convert(capsys, TALP, "--to", "pharaoh", "--from-base", "1", "--possible", "drop") == "0-0\n\n1-0 2-2\n"


def test_base_is_asked_for(folder, capsys):
    assert "say --from-base 0 or --from-base 1" in convert(capsys, TALP, "--to", "pharaoh")


def test_turning_and_ids(folder, capsys):
    text = "7 1 2 S\n9 2 1 S\n"
    assert convert(capsys, text, "--to", "pharaoh", "--in-order") == "0-1\n1-0\n"
    assert convert(capsys, text, "--to", "pharaoh", "--in-order", "--reverse-output") == "1-0\n0-1\n"
    assert convert(capsys, text, "--to", "pharaoh", "--reverse-input") == "\n" * 6 + "1-0\n\n0-1\n"
    assert convert(capsys, "0-0\n", "--to", "naacl", "--first-id", "18") == "0018 1 1 S\n"


def test_text_tells_how_many_sentences_there_are(folder, capsys):
    (folder / "source").write_text("a b\n" * 4, encoding="utf-8")
    assert convert(capsys, "1 1 2 S\n", "--to", "pharaoh", "--source", "source") == "0-1\n\n\n\n"
    arguments = ("--to", "pharaoh", "--source", "source", "--allow-missing")
    assert convert(capsys, "A-1\t0-0\n", *arguments) == "\n0-0\n\n\n"
    assert "input has 2 sentences, source has 4" in convert(capsys, "0-0\n0-0\n", "--to", "talp", "--source", "source")

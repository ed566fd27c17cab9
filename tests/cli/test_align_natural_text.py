"""align: one file with both sides, JSON lines, the words that links count, decisions of other aligners."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from fairseq_normalign.cli import main
from fairseq_normalign.links.formats.json_lines import from_json


def align(*arguments: object) -> int:
    return main(["align", *map(str, arguments)])


@pytest.fixture(scope="module")
def bitext(tiny_pair, tmp_path_factory) -> Path:
    """The text of the tiny pair in one file, with both separators, and a pair that is empty on one side."""
    texts = [(tiny_pair.folder / f"text.{side}").read_text().splitlines() for side in ("de", "en")]
    path = tmp_path_factory.mktemp("bitext") / "both"
    lines = [f"{s} ||| {t}" if n % 2 else f"{s}\t{t}" for n, (s, t) in enumerate(zip(*texts, strict=True))]
    path.write_text("\n".join([*lines, " ||| w1"]) + "\n")
    return path


@pytest.fixture(scope="module")
def model(tiny_pair) -> list[object]:
    return ["--path", tiny_pair.path(), "--data", tiny_pair.folder, "--cpu", "--readings", "1:awi"]


def test_one_file_with_both_sides_is_aligned_as_two(tiny_pair, model, bitext, tmp_path, monkeypatch, capsys):
    assert align(*tiny_pair.arguments(), "--readings", "1:awi", "-o", tmp_path / "two") == 0
    assert align(*model, "--bitext", bitext, "-o", tmp_path / "one") == 0
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text() + "\n"
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(bitext.read_bytes())))
    assert align(*model, "--bitext", "-") == 0
    assert capsys.readouterr().out == (tmp_path / "one").read_text()


def test_json_lines_hold_texts_places_and_the_links(model, bitext, tmp_path):
    files = ["-o", tmp_path / "links", "--scores", tmp_path / "scores", "--write-words", tmp_path / "words"]
    assert align(*model, "--bitext", bitext, *files) == 0
    assert align(*model, "--bitext", bitext, "--json", "-o", tmp_path / "json") == 0
    sides = [(tmp_path / f"words.{side}").read_text().split("\n") for side in ("source", "target")]
    links, scores, lines = ((tmp_path / name).read_text().split("\n") for name in ("links", "scores", "json"))
    assert len(lines) == len(links) == 32
    for number, line in enumerate(lines[:-1]):
        pair = from_json(line, "here")
        assert " ".join(f"{s}-{t}" for s, t, _ in pair.links) == links[number]
        known = [pair.confidences[s, t] for s, t, _ in pair.links]
        assert known == pytest.approx(list(map(float, scores[number].split())), abs=1e-4)
        for text, places, words in zip(
            (pair.source, pair.target), (pair.source_words, pair.target_words), sides, strict=True
        ):
            written = [text[start:end].replace("@@ ", "") for start, end in places]
            assert [word.removesuffix("@@") for word in written] == words[number].split()


@pytest.mark.parametrize("decision", ["mutual", "itermax", "top-k:2", "threshold:0.2"])
def test_decisions_in_the_command_and_in_python(tiny_pair, decision, tmp_path):
    from fairseq_normalign import load

    assert align(*tiny_pair.arguments(), *tiny_pair.reverse(), "--readings", "1:awi", "--reverse-readings", "1:awi",
                 "--decide", decision, "-o", tmp_path / "out") == 0  # fmt: skip
    model = load(
        tiny_pair.path(),
        tiny_pair.path("en-de"),
        data=tiny_pair.folder,
        reverse_data=tiny_pair.folder,
        readings="1:awi",
        decision=decision,
    )
    texts = [(tiny_pair.folder / f"text.{side}").read_text().splitlines() for side in ("de", "en")]
    found = [pair.pharaoh() for pair in model.align_many(zip(*texts, strict=True))]
    assert found == (tmp_path / "out").read_text().splitlines()
    assert any(found)


def test_python_knows_the_place_of_every_word(tiny_pair):
    from fairseq_normalign import load

    pair = load(tiny_pair.path(), data=tiny_pair.folder).align(" w1  w5@@ w2", "w3\tw4 ")
    assert [pair.source_text[start:end] for start, end in pair.source_spans] == ["w1", "w5@@ w2"]
    assert pair.target_spans == ((0, 2), (3, 5))
    assert pair.source == ("w1", "w5w2")
    read = from_json(pair.json(), "here")
    assert [(s, t) for s, t, _ in read.links] == pair.links

"""The same text options in every verb that reads a bitext with a model, and the same result from one file or two."""

from __future__ import annotations

import json

import pytest

from fairseq_normalign.cli import main


@pytest.fixture(scope="module")
def one_file(tiny_pair, tmp_path_factory):
    """The text as one file, and gold links of it."""
    folder = tmp_path_factory.mktemp("one")
    sides = [(tiny_pair.folder / f"text.{side}").read_text().splitlines() for side in ("de", "en")]
    lines = "".join(f"{source} ||| {target}\n" for source, target in zip(*sides, strict=True))
    (folder / "text").write_text(lines)
    (folder / "gold").write_text("0-0\n" * len(sides[0]))
    return folder


VERBS = {
    "check": ["--readings", "1:awi", "-o"],
    "layers": ["--json", "-o"],
    "compare": ["--gold", "{}/gold", "--gold-base", "0", "--style", "tsv", "--bootstrap", "5", "-o"],
    "view": ["--readings", "1:awi", "--html"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_one_file_or_two(tiny_pair, one_file, tmp_path, verb):
    options = [option.format(one_file) for option in VERBS[verb]]
    both = tiny_pair.arguments()
    at = both.index("--source")
    single = [*both[:at], "--bitext", str(one_file / "text"), *both[at + 4 :]]
    for name, text in (("two", both), ("one", single)):
        assert main([verb, *text, *options, str(tmp_path / name)]) == 0
    assert _comparable(tmp_path / "one") == _comparable(tmp_path / "two")


def _comparable(path):
    """A table of compare holds how long it took."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[:4] for line in lines]


def test_view_finds_words_in_natural_text(tmp_path, capsys):
    (tmp_path / "text").write_text("Ja, gut.\tYes, fine.\n")
    (tmp_path / "links").write_text("0-0 2-2 3-3\n")
    page = tmp_path / "page.html"
    given = ["view", "--bitext", str(tmp_path / "text"), f"--links=x={tmp_path / 'links'}", "--html", str(page)]
    assert main([*given, "--words", "unicode"]) == 0
    found = json.loads(page.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])
    assert found["sentences"][0]["s"]["w"] == ["Ja", ",", "gut", "."]
    assert main(given) == 2
    assert "out of range" in capsys.readouterr().err

"""What does not raise an error but spoils alignments is said, with what to add."""

from __future__ import annotations

import shutil

import pytest
from tiny_pair import TinyPair, _save

from fairseq_normalign.cli import main


@pytest.fixture(scope="module")
def lower(tmp_path_factory):
    """A model of lower-case, tokenized text."""
    from fairseq.data import Dictionary

    folder = tmp_path_factory.mktemp("lower")
    words = Dictionary()
    for word in "das haus ist sehr klein the house very small is . ,".split():
        words.add_symbol(word)
    for language in ("de", "en"):
        words.save(str(folder / f"dict.{language}.txt"))
    _save(folder / "de-en.pt", words, "de", "en", 0)
    _save(folder / "en-de.pt", words, "en", "de", 1)
    return TinyPair(folder, 3)


def write(folder, source, target):
    for name, line in (("de", source), ("en", target)):
        (folder / f"text.{name}").write_text(f"{line}\n" * 3, encoding="utf-8")


def warnings_of(model, capsys, *more):
    assert main(["align", *model.arguments(), *more]) == 0
    return [line for line in capsys.readouterr().err.splitlines() if "have capital" in line or "punctuation" in line]


def test_cased_and_glued_text(lower, capsys):
    write(lower.folder, "Das Haus ist klein.", "The house is small.")
    cased = warnings_of(lower, capsys)
    assert [line.split("; ")[1] for line in cased] == [
        "if it was trained on lower-case text, add --lowercase",
        "if the text is not tokenized, add --tokenizer moses",
    ] * 2
    assert warnings_of(lower, capsys, "--lowercase", "--tokenizer", "moses") == []
    write(lower.folder, "das haus ist klein .", "the house is small .")
    assert warnings_of(lower, capsys) == []


def test_a_second_model_of_the_same_direction_is_refused(lower, capsys, tmp_path):
    write(lower.folder, "das haus ist klein .", "the house is small .")
    shutil.copy(lower.path(), tmp_path / "again.pt")
    reverse = ["--reverse-path", str(tmp_path / "again.pt"), "--reverse-data", str(lower.folder)]
    assert main(["align", *lower.arguments(), *reverse]) == 2
    assert "the models translate de-en and de-en" in capsys.readouterr().err
    assert main(["align", *lower.arguments(), *reverse, "--source-lang", "de", "--target-lang", "en"]) == 2
    assert "again.pt: translates de-en, not en-de" in capsys.readouterr().err


def test_a_text_the_wrong_way_round(lower, capsys, monkeypatch):
    write(lower.folder, "das haus ist klein .", "the house is small .")
    from fairseq_normalign.hosts.fairseq.host import FairseqModels

    def scores(self, pairs):
        """As a model that translates from English would."""
        return [-1.0 if "the" in source.sentence.words else -5.0 for source, _ in pairs]

    monkeypatch.setattr(FairseqModels, "scores", scores)
    assert main(["align", *lower.arguments()]) == 0
    said = capsys.readouterr().err
    assert "more probable with its sides exchanged (-1.0 against -5.0 nats per piece)" in said
    assert "the wrong way round?" in said


def test_a_second_model_that_translates_the_same_way(lower, capsys, monkeypatch):
    write(lower.folder, "das haus ist klein .", "the house is small .")
    from fairseq_normalign.hosts.fairseq.host import FairseqModels

    def scores(self, pairs):
        """As two models that translate from German would."""
        return [-1.0 if "das" in source.sentence.words else -5.0 for source, _ in pairs]

    monkeypatch.setattr(FairseqModels, "scores", scores)
    reverse = ["--reverse-path", str(lower.folder / "en-de.pt"), "--reverse-data", str(lower.folder)]
    assert main(["align", *lower.arguments(), *reverse]) == 0
    said = capsys.readouterr().err
    assert "more probable in the direction of the first (-1.0 against -5.0 nats per piece)" in said
    assert "is --reverse-path a model of the other direction?" in said
    assert "sides exchanged" not in said


@pytest.mark.parametrize("verb", ["check", "layers"])
def test_other_verbs_warn_of_the_text_too(lower, capsys, verb):
    write(lower.folder, "Das Haus ist klein.", "The house is small.")
    assert main([verb, *lower.arguments()]) == 0
    said = capsys.readouterr().err
    assert f"normalign {verb}: warning: " in said
    assert "add --lowercase" in said
    assert "add --tokenizer moses" in said

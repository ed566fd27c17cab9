"""Gathering, gold, tokens, cleaning, expansion: the steps that are ours, one by one."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from .conftest import Steps, write_corpus

DE, EN = "Das ist schön .\nJa !\n", "That is nice .\nYes !\n"
TALP = "1-1 2-2 3p3 4-4\n1-1 2-2\n"
SENT = "SENT: 0\nS 1 1\nS 2 2\nP 3 3\nS 4 4\n\nSENT: 1\nS 1 1\nS 2 2\n"


def write_rwth(folder: Path, links: str, name: str) -> None:
    """As RWTH gives it out: Latin-1, a blank line at the end."""
    folder.mkdir(parents=True)
    (folder / "de").write_bytes((DE + "\n").encode("latin-1"))
    (folder / "en").write_bytes((EN + "\n").encode("latin-1"))
    (folder / name).write_text(links, encoding="ascii")


def gather_gold(run_python: Steps, to: Path, place: Path):
    return run_python("gather", "--to", to, "--gold", to.parent / "elsewhere", place)


@pytest.mark.parametrize(
    ("links", "name"), [(TALP + "\n", "alignmentDeEn.talp"), (TALP, "alignmentDeEn.talp"), (SENT, "alignmentDeEn")]
)
def test_gold_as_rwth_has_it(run_python: Steps, tmp_path: Path, links: str, name: str) -> None:
    write_rwth(tmp_path / "gold" / "DeEn", links, name)
    result = gather_gold(run_python, tmp_path / "raw", tmp_path / "gold")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "raw" / "gold.de").read_text(encoding="utf-8") == DE
    assert (tmp_path / "raw" / "gold.talp").read_text(encoding="utf-8") == TALP


def test_gold_in_its_archive(run_python: Steps, tmp_path: Path) -> None:
    write_rwth(tmp_path / "DeEn", TALP, "alignmentDeEn.talp")
    (tmp_path / "gold").mkdir()
    with tarfile.open(tmp_path / "gold" / "DeEnGoldAlignment.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "DeEn", "DeEn")
    assert gather_gold(run_python, tmp_path / "raw", tmp_path / "gold").returncode == 0
    assert (tmp_path / "raw" / "gold.talp").read_text(encoding="utf-8") == TALP


def test_without_gold_the_form_is_named(run_python: Steps, tmp_path: Path) -> None:
    result = gather_gold(run_python, tmp_path / "raw", tmp_path / "gold")
    assert result.returncode == 2
    assert "goldAlignment" in result.stderr
    assert result.stderr.count("\n") == 1


def archive(path: Path, members: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_archives_and_sgm_become_splits_in_order(run_python: Steps, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus")
    first = archive(
        tmp_path / "a.tgz", {"training/x.de": "eins\nzwei\u2028drei\n", "training/x.en": "one\ntwo three\n"}
    )
    second = archive(tmp_path / "b.tgz", {"y.de": "vier\nfünf\n", "y.en": "four\nfive\n"})
    sgm = '<doc>\n<seg id="1">Müller &amp; Sohn</seg>\n<seg id="2"> Ja. </seg></doc>\n'
    dev = archive(tmp_path / "dev.tgz", {"dev/n-src.de.sgm": sgm, "dev/n-ref.en.sgm": sgm.replace("Ja", "Yes")})
    result = run_python(
        *("gather", "--to", tmp_path / "raw", "--gold", tmp_path / "corpus" / "deen-gold", "--limit", 3),
        *("--part", f"train={first}:x.de,x.en", "--part", f"train={second}:y.de,y.en"),
        *("--part", f"valid={dev}:n-src.de.sgm,n-ref.en.sgm"),
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "raw" / "train.de").read_text(encoding="utf-8") == "eins\nzwei drei\nvier\n"
    assert (tmp_path / "raw" / "train.en").read_text(encoding="utf-8") == "one\ntwo three\nfour\n"
    assert (tmp_path / "raw" / "valid.de").read_text(encoding="utf-8") == "Müller & Sohn\nJa.\n"


@pytest.mark.parametrize(
    ("german", "english", "said"),
    [("a\nb\n", "a\n", "source side has more"), ("a\n", "a\nb\n", "target side has more")],
)
def test_sides_of_different_length(run_python: Steps, tmp_path: Path, german: str, english: str, said: str) -> None:
    write_corpus(tmp_path / "corpus")
    packed = archive(tmp_path / "a.tgz", {"x.de": german, "x.en": english})
    gold = tmp_path / "corpus" / "deen-gold"
    result = run_python("gather", "--to", tmp_path / "raw", "--gold", gold, "--part", f"train={packed}:x.de,x.en")
    assert result.returncode == 2
    assert said in result.stderr
    assert not (tmp_path / "raw" / "train.de").exists()


def test_a_broken_archive_is_one_line(run_python: Steps, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus")
    (tmp_path / "a.tgz").write_bytes(b"no archive")
    gold = tmp_path / "corpus" / "deen-gold"
    part = f"train={tmp_path / 'a.tgz'}:x.de,x.en"
    result = run_python("gather", "--to", tmp_path / "raw", "--gold", gold, "--part", part)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1


def test_held_out_pairs_are_the_last_ones(run_python: Steps, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus")
    text = "".join(f"{n}\n" for n in range(25))
    packed = archive(tmp_path / "a.tgz", {"x.de": text, "x.en": text})
    gold = tmp_path / "corpus" / "deen-gold"
    part = f"train={packed}:x.de,x.en"
    run_python("gather", "--to", tmp_path / "raw", "--gold", gold, "--part", part, "--hold-out", 4)
    assert (tmp_path / "raw" / "train.en").read_text(encoding="utf-8").split() == [str(n) for n in range(21)]
    assert (tmp_path / "raw" / "valid.en").read_text(encoding="utf-8").split() == ["21", "22", "23", "24"]


def test_tokens_are_like_the_gold_s(run_python: Steps, tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("„Er“ sagte: Blut- und Plasma (H-0252/96) & CO<2>.\n", encoding="utf-8")
    assert run_python("tokenize", tmp_path / "raw", tmp_path / "tok", "--language", "de").returncode == 0
    expected = '" Er " sagte : Blut- und Plasma ( H-0252 / 96 ) & CO < 2 > .\n'
    assert (tmp_path / "tok").read_text(encoding="utf-8") == expected


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_tokenization_goes_on(run_python: Steps, tmp_path: Path, jobs: int) -> None:
    (tmp_path / "raw").write_text("Eins, zwei.\nDrei.\nVier!\n", encoding="utf-8")
    (tmp_path / "tok.part").write_text("EINS .\ndre", encoding="utf-8")
    assert (
        run_python(
            "tokenize", tmp_path / "raw", tmp_path / "tok", "--language", "de", "--lowercase", "--jobs", jobs
        ).returncode
        == 0
    )
    assert (tmp_path / "tok").read_text(encoding="utf-8") == "EINS .\ndrei .\nvier !\n"
    assert not (tmp_path / "tok.part").exists()


def test_cleaning_keeps_pairs_parallel_and_test_sentences_out(run_python: Steps, tmp_path: Path) -> None:
    pairs = [
        ("das ist gut .", "this is good ."),
        ("", "nothing"),
        ("das ist gut .", "this is good ."),
        ("Ein Test !", "a sentence"),
        ("ein Satz", "THE test"),
        ("kurz", "a very long sentence that says much more"),
        ("wort " * 9, "word " * 9),
        ("ja", "yes"),
    ]
    for position, language in enumerate(("de", "en")):
        (tmp_path / f"in.{language}").write_text("".join(pair[position] + "\n" for pair in pairs), encoding="utf-8")
    (tmp_path / "test.de").write_text("ein test!\n", encoding="utf-8")
    (tmp_path / "test.en").write_text("the test\n", encoding="utf-8")
    result = run_python(*("clean", tmp_path / "in", tmp_path / "out", "--max-words", 8, "--without", tmp_path / "test"))
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out.de").read_text(encoding="utf-8") == "das ist gut .\nja\n"
    assert (tmp_path / "out.en").read_text(encoding="utf-8") == "this is good .\nyes\n"
    counts = {"2 kept", "2 in a test set", "1 empty", "1 repeated", "1 lopsided", "1 too long"}
    assert set(result.stdout.strip().split(", ")) == counts


def test_cleaning_that_leaves_nothing(run_python: Steps, tmp_path: Path) -> None:
    for language in ("de", "en"):
        (tmp_path / f"in.{language}").write_text("\n", encoding="utf-8")
    result = run_python("clean", tmp_path / "in", tmp_path / "out")
    assert result.returncode == 2
    assert "no pair is left" in result.stderr
    assert not (tmp_path / "out.de").exists()


def test_links_of_words_become_links_of_pieces(run_python: Steps, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a@@ b c\nx\n", encoding="utf-8")
    (tmp_path / "t").write_text("d e@@ f\ny\n", encoding="utf-8")
    (tmp_path / "links").write_text("0-1 1-0\n\n", encoding="utf-8")
    command = ("expand", tmp_path / "links", "--pieces", tmp_path / "s", tmp_path / "t", "-o", tmp_path / "out")
    assert run_python(*command).returncode == 0
    assert (tmp_path / "out").read_text(encoding="utf-8") == "0-1 0-2 1-1 1-2 2-0\n\n"
    assert run_python(*command, "--turn").returncode == 0
    assert (tmp_path / "out").read_text(encoding="utf-8") == "1-0 2-0 1-1 2-1 0-2\n\n"
    (tmp_path / "links").write_text("0-1 1-2\n\n", encoding="utf-8")
    result = run_python(*command)
    assert result.returncode == 2
    assert "links:1:" in result.stderr


def test_translations_in_order_and_none_missing(run_python: Steps, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("H-1\t-0.1\tThe end .\nH-0\t-0.2\tA man 's house .\n", encoding="utf-8")
    out = tmp_path / "out"
    assert run_python("hypotheses", tmp_path / "log", "-o", out, "--detokenize", "en", "--count", 2).returncode == 0
    assert out.read_text(encoding="utf-8") == "A man's house.\nThe end.\n"
    result = run_python("hypotheses", tmp_path / "log", "-o", out, "--count", 3)
    assert result.returncode == 2
    assert "1 of 3 are missing" in result.stderr

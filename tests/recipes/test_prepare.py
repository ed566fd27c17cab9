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


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("links", "name"), [(TALP + "\n", "alignmentDeEn.talp"), (TALP, "alignmentDeEn.talp"), (SENT, "alignmentDeEn")]
)
def test_gold_as_rwth_has_it(run_python: Steps, tmp_path: Path, links: str, name: str, packed: bool) -> None:
    write_rwth(tmp_path / "gold" / "DeEn", links, name)
    if packed:
        (tmp_path / "packed").mkdir()
        with tarfile.open(tmp_path / "packed" / "DeEnGoldAlignment.tar.gz", "w:gz") as tar:
            tar.add(tmp_path / "gold" / "DeEn", "DeEn")
    places = [tmp_path / "elsewhere", tmp_path / ("packed" if packed else "gold")]
    result = run_python("gather", "--to", tmp_path / "raw", "--gold", *places)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "raw" / "gold.de").read_text(encoding="utf-8") == DE
    assert (tmp_path / "raw" / "gold.talp").read_text(encoding="utf-8") == TALP


def test_without_gold_the_form_is_named(run_python: Steps, tmp_path: Path) -> None:
    result = run_python("gather", "--to", tmp_path / "raw", "--gold", tmp_path / "gold")
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


@pytest.fixture
def gather(run_python: Steps, tmp_path: Path):
    """gather(...): with the tiny gold, into raw/."""
    gold = write_corpus(tmp_path / "corpus") / "deen-gold"
    return lambda *more: run_python("gather", "--to", tmp_path / "raw", "--gold", gold, *more)


def raw(tmp_path: Path, name: str) -> str:
    return (tmp_path / "raw" / name).read_text(encoding="utf-8")


def test_archives_and_sgm_become_splits_in_order(gather, tmp_path: Path) -> None:
    first = {"training/x.de": "eins\nzwei\u2028drei\n", "training/x.en": "one\ntwo three\n"}
    second = {"y.de": "vier\nfünf\n", "y.en": "four\nfive\n"}
    sgm = '<doc>\n<seg id="1">Müller &amp; Sohn</seg>\n<seg id="2"> Ja. </seg></doc>\n'
    dev = {"dev/n-src.de.sgm": sgm, "dev/n-ref.en.sgm": sgm.replace("Ja", "Yes")}
    parts = [
        f"train={archive(tmp_path / 'a.tgz', first)}:x.de,x.en",
        f"train={archive(tmp_path / 'b.tgz', second)}:y.de,y.en",
        f"valid={archive(tmp_path / 'dev.tgz', dev)}:n-src.de.sgm,n-ref.en.sgm",
    ]
    result = gather("--limit", 3, *(word for part in parts for word in ("--part", part)))
    assert result.returncode == 0, result.stderr
    assert raw(tmp_path, "train.de") == "eins\nzwei drei\nvier\n"
    assert raw(tmp_path, "train.en") == "one\ntwo three\nfour\n"
    assert raw(tmp_path, "valid.de") == "Müller & Sohn\nJa.\n"


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"x.de": "a\nb\n", "x.en": "a\n"}, "source side has more"),
        ({"x.de": "a\n", "x.en": "a\nb\n"}, "target side has more"),
        (None, "cannot be unpacked"),
    ],
)
def test_archives_that_do_not_fit_are_one_line(gather, tmp_path: Path, members, said: str) -> None:
    packed = archive(tmp_path / "a.tgz", members or {})
    if members is None:
        packed.write_bytes(b"no archive")
    result = gather("--part", f"train={packed}:x.de,x.en")
    assert result.returncode == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "raw" / "train.de").exists()


def test_held_out_pairs_are_the_last_ones(gather, tmp_path: Path) -> None:
    text = "".join(f"{n}\n" for n in range(25))
    packed = archive(tmp_path / "a.tgz", {"x.de": text, "x.en": text})
    gather("--part", f"train={packed}:x.de,x.en", "--hold-out", 4)
    assert raw(tmp_path, "train.en").split() == [str(n) for n in range(21)]
    assert raw(tmp_path, "valid.en").split() == ["21", "22", "23", "24"]


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

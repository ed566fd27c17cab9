"""normalign analyze on a tiny translator."""

from __future__ import annotations

import json

import pytest

from fairseq_normalign.cli import main


@pytest.fixture(scope="module")
def command(bitext, binarized, plain_checkpoint):
    text = ["--source", str(bitext / "test.de"), "--target", str(bitext / "test.en")]
    return ["--path", str(plain_checkpoint), "--data", str(binarized), *text, "--cpu"]


WHAT = ("dispersion", "singular", "categories", "relation", "frequency", "mixing", "heads")


@pytest.mark.parametrize(
    ("what", "kind"), [*((what, "cross") for what in WHAT), ("mixing", "encoder"), ("heads", "decoder")]
)
def test_every_analysis(what, kind, command, tmp_path, capsys):
    out, figure = tmp_path / "out.json", tmp_path / "out.png"
    code = main(["analyze", what, *command, "--attention", kind, "--json", "-o", str(out), "--figure", str(figure)])
    assert (code, capsys.readouterr().err) == (0, "")
    found = json.loads(out.read_text())
    assert found["signature"].startswith(f"{what}|attention:{kind}")
    for table in found["tables"]:
        assert table["rows"]
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_text_in_one_file_gives_the_same_tables(command, bitext, tmp_path, capsys):
    sides = [(bitext / f"test.{language}").read_text(encoding="utf-8").splitlines() for language in ("de", "en")]
    (tmp_path / "both").write_text("".join(f"{one} ||| {other}\n" for one, other in zip(*sides, strict=True)))
    printed = []
    for text in (command[4:8], ["--bitext", str(tmp_path / "both")]):
        assert main(["analyze", "dispersion", *command[:4], *text, "--cpu"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_relevance_and_error_of_heads(command, bitext, tmp_path, capsys):
    gold = tmp_path / "gold"
    lengths = [len(line.replace("@@ ", "").split()) for line in (bitext / "test.de").read_text().splitlines()]
    gold.write_text("".join(" ".join(f"{i + 1}-{n - i}" for i in range(n)) + "\n" for n in lengths))
    options = ["--gold", str(gold), *"--gold-format pharaoh --gold-base 1 --relevance 5 --json".split()]
    assert main(["analyze", "heads", *command, *options]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert len(rows) == 6
    for layer in (1, 2, 3):
        assert sum(row["relevance"] for row in rows if row["layer"] == layer) == pytest.approx(1, abs=1e-4)
    assert all(0 <= row["AER norms awi"] <= 100 for row in rows)


def test_own_categories_and_counts(command, tmp_path, capsys):
    counts = tmp_path / "counts"
    counts.write_text("d1 9\nd2 5\n")
    assert main(["analyze", "categories", *command, "--category", "ones=d1|d2", "--limit", "5"]) == 0
    assert "ones" in capsys.readouterr().out
    for source in ("text", "dictionary", str(counts)):
        assert main(["analyze", "frequency", *command, "--counts", source, "--limit", "5", "--style", "tsv"]) == 0
        assert capsys.readouterr().out.startswith("# rank of frequency\n")

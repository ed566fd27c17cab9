from __future__ import annotations

import json

import numpy as np
import pytest

from fairseq_normalign.cli import main
from fairseq_normalign.links.decide import decide
from fairseq_normalign.links.gold import read_gold, read_links
from fairseq_normalign.links.score import score
from tests.cli.tiny_pair import write_text


def run(*arguments: object) -> int:
    return main([*map(str, arguments)])


@pytest.fixture(scope="module")
def gold(tiny_pair, tmp_path_factory):
    """What layer 2 says of the first words, so that some layer is good; with a 0 in it, so that its base shows."""
    folder = tmp_path_factory.mktemp("gold")
    assert run("align", *tiny_pair.arguments(), "--layer", 2, "--step", "awo", "-o", folder / "links") == 0
    return folder / "links"


def test_figures_are_those_of_align_and_score(tiny_pair, gold, tmp_path):
    out = tmp_path / "out.json"
    assert run("compare", *tiny_pair.arguments(), "--gold", gold, "--gold-base", 0, "--no-reverse-gold",
               "--json", "-o", out, "--figure", tmp_path / "layers.png") == 0  # fmt: skip
    found = json.loads(out.read_text())
    rows = {(row["method"], row["step"]): row for row in found["layers"]}
    assert set(rows) == {(method, step) for method in ("norms", "weights") for step in ("awo", "awi")}
    assert rows["norms", "awo"]["best"] == 1
    assert rows["norms", "awo"]["layers"][1]["aer"] == 0
    golds = read_gold(gold, base=0, reverse=False)
    for layer in (1, 3):
        assert run("align", *tiny_pair.arguments(), "--layer", layer, "-o", tmp_path / "links") == 0
        expected = score(golds, read_links(tmp_path / "links", base=0, reverse=False))
        assert rows["norms", "awi"]["layers"][layer - 1]["aer"] == pytest.approx(expected.aer)
    assert (tmp_path / "layers.png").read_bytes().startswith(b"\x89PNG")
    assert all(len(row["aer"]) == 3 and len(row["aer"][0]) == 2 for row in found["heads"])


def test_agreement_of_two_directions_scores_as_align_and_score_do(tiny_pair, gold, tmp_path):
    """The gold is layer 2 of awo; of the other direction the best layer is whatever it is, and the table names it."""
    both = [*tiny_pair.arguments(), *tiny_pair.reverse()]
    assert run("compare", *both, "--gold", gold, "--gold-base", 0, "--no-reverse-gold", "--methods", "norms",
               "--symmetrize", "agreed-union", "--json", "-o", tmp_path / "out.json") == 0  # fmt: skip
    systems = json.loads((tmp_path / "out.json").read_text())["systems"]
    found = next(system for system in systems if system["direction"] == "both")
    back = min((s for s in systems if s["direction"] == "reverse"), key=lambda system: system["figure"]["aer"])
    assert found["name"] == f"norms awo/{back['step']} agreed-union"
    softs = []
    for arguments, layer, step in ((tiny_pair.arguments(), 2, "awo"),
                                      (tiny_pair.turned(), back["layers"][0] + 1, back["step"])):  # fmt: skip
        assert run("align", *arguments, "--layer", layer, "--step", step, "-o", tmp_path / "links",
                   "--soft", tmp_path / "soft") == 0  # fmt: skip
        softs.append((tmp_path / "soft").read_text().splitlines())
    links = [
        decide(matrix(one), "agreed-union", backward=matrix(other), floor=0.1)[0]
        for one, other in zip(*softs, strict=True)
    ]
    assert found["figure"]["aer"] == pytest.approx(score(read_gold(gold, base=0, reverse=False), links).aer)


def matrix(line: str) -> np.ndarray:
    return np.array([[float(value) for value in row.split(",")] for row in line.split()])


def test_seeds_reverse_and_added_rows(tiny_pair, gold, capsys):
    arguments = tiny_pair.arguments()
    arguments.insert(2, str(tiny_pair.path()))
    reverse = tiny_pair.reverse()
    reverse.insert(2, str(tiny_pair.path("en-de")))
    assert run("compare", *arguments, *reverse, "--gold", gold, "--gold-base", 0, "--no-reverse-gold",
               "--add", f"same={gold}", "--symmetrize", "union,agreed-grow-diag", "--limit", 20,
               "--all-rows") == 0  # fmt: skip
    table = capsys.readouterr().out
    assert "mean of 2 checkpoints" in table
    assert "±0.0" in table
    assert "target to source:" in table
    assert "union" in table
    assert "agreed-grow-diag" in table
    row = next(line for line in table.splitlines() if line.startswith("same"))
    assert row.split()[1] == "0.0"


def test_the_best_five_come_with_a_test_against_the_best(tiny_pair, gold, tmp_path, capsys):
    """The p-values are those of normalign score --paired for the same links."""
    fewer = tmp_path / "fewer"
    fewer.write_text("".join(line.split(" ", 1)[-1] for line in gold.read_text().splitlines(keepends=True)))
    options = ["--gold", gold, "--gold-base", 0, "--no-reverse-gold", "--add", f"same={gold}", "--add"]
    options += [f"fewer={fewer}", "--methods", "weights"]
    assert run("compare", *tiny_pair.arguments(), *options) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].startswith("The best 5 of ")
    rows = {line.split()[0]: line.split() for line in table[3:8]}
    assert next(iter(rows)) == "same"
    assert rows["same"][-1] == "-"
    assert len(table) < 14
    assert run("score", gold, gold, fewer, "--gold-base", 0, "--hyp-base", 0, "--no-reverse-gold", "--no-reverse-hyp",
               "--paired", "--trials", 1000, "--json") == 0  # fmt: skip
    scored = json.loads(capsys.readouterr().out)["systems"][1]
    expected = next(value for name, value in flat(scored) if name == "p_randomization")
    assert rows["fewer"][-1] == f"{expected:.3f}"


def flat(record):
    for name, value in record.items():
        yield from flat(value) if isinstance(value, dict) else [(name, value)]


def test_gold_of_other_words_is_refused(tiny_pair, gold, tmp_path, capsys):
    other = tmp_path / "gold"
    other.write_text(gold.read_text().replace("0-", "99-", 1))
    assert run("compare", *tiny_pair.arguments(), "--gold", other, "--gold-base", 0, "--no-reverse-gold") == 2
    assert "is the text tokenized as the gold's?" in capsys.readouterr().err
    other.write_text("0-0\n")
    assert run("compare", *tiny_pair.arguments(), "--gold", other, "--gold-base", 0, "--no-reverse-gold") == 2
    assert "1 sentences, but" in capsys.readouterr().err


def test_links_of_fewer_sentences_are_refused(tiny_pair, gold, tmp_path, capsys):
    short = tmp_path / "short"
    short.write_text("0-0 1-1\n0-0\n")
    options = ["--gold", gold, "--gold-base", 0, "--no-reverse-gold", "--limit", 3, "--add", f"x={short}"]
    assert run("compare", *tiny_pair.arguments(), *options) == 2
    assert "short: 2 sentences, the gold has 3" in capsys.readouterr().err


def test_layers_ranks_heads_draws_them_and_writes_the_form_of_other_toolkits(tiny_pair, tmp_path, capsys):
    write_text(tiny_pair.folder, 120, "many")
    text = tiny_pair.folder / "many.de", tiny_pair.folder / "many.en"
    assert run("layers", *tiny_pair.arguments(*text), "--json", "--figure", tmp_path / "support.svg") == 0
    found = json.loads(capsys.readouterr().out)["forward"]
    assert found["pairs"] == 120
    ranked = found["ranked"]
    assert {(row["layer"], row["head"], row["step"]) for row in ranked} == {
        (layer, head, step) for layer in (1, 2, 3) for head in (None, 1, 2) for step in ("awi", "awo")
    }
    supports = [row["support"] for row in ranked]
    assert supports == sorted(supports, reverse=True)
    assert (tmp_path / "support.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert run("layers", *tiny_pair.arguments(*text), "--style", "tsv") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(ranked)
    code = run("layers", *tiny_pair.arguments(*text), "--style", "heads")  # a random model may have no such head
    captured = capsys.readouterr()
    assert json.loads(captured.out)["alignment_heads"] if code == 0 else "no single head is supported" in captured.err


def test_compare_has_rows_of_two_looks(tiny_pair, gold, tmp_path):
    out = tmp_path / "out.json"
    options = ["--gold", gold, "--gold-base", 0, "--no-reverse-gold", "--methods", "norms", "--json", "-o", out]
    assert run("compare", *tiny_pair.arguments(), *tiny_pair.reverse(), *options) == 0
    systems = {(one["direction"], one["name"]): one for one in json.loads(out.read_text())["systems"]}
    both = systems["both", "two looks agreed-grow-diag"]
    assert run("align", *tiny_pair.arguments(), *tiny_pair.reverse(), "-o", tmp_path / "links") == 0
    links = read_links(tmp_path / "links", base=0, reverse=False)
    assert both["figure"]["aer"] == pytest.approx(score(read_gold(gold, base=0, reverse=False), links).aer)
    assert ("forward", "two looks norms:1:awi,norms:3:awo^0.5") in systems


def test_factors_score_as_compare_does(tiny_pair, gold, capsys):
    """Combinations that compare has too, and every combination once."""
    options = ["--gold", gold, "--gold-base", 0, "--no-reverse-gold", "--json"]
    assert run("compare", *tiny_pair.arguments(), *tiny_pair.reverse(), *options) == 0
    systems = {(one["direction"], one["name"]): one["figure"] for one in json.loads(capsys.readouterr().out)["systems"]}
    assert run("compare", "--factors", *tiny_pair.arguments(), *tiny_pair.reverse(), *options) == 0
    tables = {table["name"]: table for table in json.loads(capsys.readouterr().out)["tables"]}
    long = tables["every combination"]
    assert long["columns"][5:] == ["readings", "aer", "low", "high"]
    found = {tuple(row[:5]): row[5:] for row in long["rows"]}
    assert len(found) == len(long["rows"]) == 3 * 2 * 3 * 2 * 3
    for method in ("weights", "norms"):
        for step in ("awo", "awi"):
            for place in ("layer", "head"):
                for direction in ("forward", "reverse") if place == "layer" else ("forward",):
                    expected = systems[direction, f"{method} {step} best {place}"]
                    _, *figures = found[step, method, place, "argmax", direction]
                    assert figures == pytest.approx([100 * expected[key] for key in ("aer", "low", "high")])
    expert = "norms:1:awi,norms:3:awo^0.5"
    for direction, name in (("forward", f"two looks {expert}"), ("both", "two looks agreed-grow-diag")):
        read, aer, *_ = found["two", "norms", "chosen", "agreement", direction]
        assert expert in read
        assert aer == pytest.approx(100 * systems[direction, name]["aer"])
    steps = [row[1:3] for row in tables["what each step brings"]["rows"]]
    assert [aer for aer, _ in steps[1:]] == pytest.approx(
        [steps[k][0] + steps[k + 1][1] for k in range(len(steps) - 1)]
    )


def test_factors_of_one_direction_as_markdown(tiny_pair, gold, capsys):
    options = ["--gold", gold, "--gold-base", 0, "--no-reverse-gold", "--factors"]
    assert run("compare", *tiny_pair.arguments(), *options, "--style", "markdown") == 0
    text = capsys.readouterr().out
    assert "| look | method | read at | one direction, argmax | one direction, agreement |\n| --- |" in text
    assert "the second direction" not in text
    assert "| weights instead of norms |" in text

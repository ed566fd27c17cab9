from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from tiny_pair import LONGEST

from fairseq_normalign.cli import main

REPOSITORY = Path(__file__).resolve().parents[2]
TWO = ("--readings", "1:awi,3:awo^0.5")


def check(*arguments: object) -> int:
    return main(["check", *map(str, arguments)])


def table(path: Path) -> list[dict[str, str]]:
    header, *lines = [line.split("\t") for line in path.read_text().split("\n")[:-1]]
    return [dict(zip(header, line, strict=True)) for line in lines]


@pytest.fixture(scope="module")
def checked(tiny_pair, tmp_path_factory) -> Path:
    """Both directions with everything, as a table."""
    out = tmp_path_factory.mktemp("checked") / "out"
    assert check(*tiny_pair.arguments(), *tiny_pair.reverse(), *TWO, "--full", "--by-word", "-o", out) == 0
    return out


def test_every_number_is_that_of_the_pair_alone(tiny_pair, checked):
    import numpy as np

    from fairseq_normalign import load

    data = {"data": tiny_pair.folder, "reverse_data": tiny_pair.folder}
    model = load(tiny_pair.path(), tiny_pair.path("en-de"), **data, readings=TWO[1])
    texts = [(tiny_pair.folder / f"text.{side}").read_text().splitlines() for side in ("de", "en")]
    rows = table(checked)
    assert [row["line"] for row in rows] == [str(number + 1) for number in range(30)]
    for row, source, target in list(zip(rows, *texts, strict=True))[:8]:
        alone = model.align(source, target, score=True)
        assert float(row["logprob"]) == pytest.approx(alone.score, abs=1e-4)
        best = np.concatenate([alone.soft.max(axis=1), alone.soft.max(axis=0)])
        assert float(row["agreement"]) == pytest.approx(best.mean(), abs=1e-4)
        linked = {target for _, target in alone.links}
        assert float(row["target_unlinked"]) == pytest.approx(1 - len(linked) / len(alone.target), abs=1e-5)
        assert 0 <= float(row["source_share_min"]) <= float(row["source_share"]) <= 1


def test_the_share_of_the_source_is_that_of_rollout(tiny_pair, checked, tmp_path):
    from fairseq_normalign import load

    model = load(tiny_pair.path(), data=tiny_pair.folder, method="rollout", layer=3, step="awo", level="piece")
    texts = [(tiny_pair.folder / f"text.{side}").read_text().splitlines() for side in ("de", "en")]
    row, source, target = next(
        one for one in zip(table(checked), *texts, strict=True) if "@@" not in one[2]
    )  # every word is one piece
    read = model.aligner.align([(source, target)], read=True)[0].read
    shares = next(iter(read.steps.values()))[:-1].sum(axis=1)
    assert float(row["source_share"]) == pytest.approx(shares.mean(), abs=1e-4)
    assert float(row["source_share_min"]) == pytest.approx(shares.min(), abs=1e-4)


def test_one_direction_and_json(tiny_pair, checked, tmp_path):
    out = tmp_path / "one"
    assert check(*tiny_pair.arguments(), *TWO, "--json", "--by-word", "-o", out) == 0
    entries = [json.loads(line) for line in out.read_text().splitlines()]
    for row, entry in zip(table(checked), entries, strict=True):
        assert entry["logprob"] == pytest.approx(float(row["logprob"]), abs=1e-4)
        assert not {"reverse_logprob", "source_share"} & set(entry)
        assert len(entry["target_gains"]) == len(entry["target"])
        named = [f"{place + 1}:{entry['target'][place]}" for place in entry["without_source"]]
        assert " ".join(named) == row["words_without_source"]


def test_pairs_without_numbers_and_standard_input(tiny_pair, tmp_path, capsys, monkeypatch):
    target = tmp_path / "t"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"w1 w2\n\n" + b"w1 " * LONGEST + b"\n")))
    target.write_text("w1\nw2\nw3\n")
    assert check(*tiny_pair.arguments("-", target), *TWO) == 0
    captured = capsys.readouterr()
    lines = [line.split("\t") for line in captured.out.split("\n")[:-1]]
    assert [bool(line[1]) for line in lines] == [True, True, False, False]
    assert "2 of 3 pairs have no numbers: 1 empty on one side, 1 longer" in captured.err


def test_an_empty_bitext_has_a_header(tiny_pair, tmp_path):
    for name in "st":
        (tmp_path / name).write_text("")
    assert check(*tiny_pair.arguments(tmp_path / "s", tmp_path / "t"), *TWO, "-o", tmp_path / "out") == 0
    assert (tmp_path / "out").read_text().startswith("line\tscore\tagreement\t")
    assert table(tmp_path / "out") == []


@pytest.mark.parametrize("keep", ["40%", None])
@pytest.mark.parametrize("style", [[], ["--json"]])
def test_the_good_pairs_are_kept(tiny_pair, tmp_path, capsys, checked, keep, style):
    out, kept = tmp_path / "out", tmp_path / "kept"
    scores = [float(row["score"]) for row in table(checked)]
    least = sorted(scores, reverse=True)[11]
    arguments = [*tiny_pair.arguments(), *tiny_pair.reverse(), *TWO, *style, "-o", out, "--keep-to", kept]
    assert check(*arguments, f"--keep={keep or least - 1e-4}") == 0
    assert "kept 12 of 30 pairs" in capsys.readouterr().err
    for side, name in (("de", "source"), ("en", "target")):
        lines = (tiny_pair.folder / f"text.{side}").read_text().splitlines()
        wanted = [line for line, score in zip(lines, scores, strict=True) if score >= least]
        assert Path(f"{kept}.{name}").read_text().splitlines() == wanted

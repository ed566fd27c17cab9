from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_pair import LONGEST

from fairseq_normalign import jobs
from fairseq_normalign.cli import main
from fairseq_normalign.links.decide import decide
from fairseq_normalign.links.dump import Dump
from fairseq_normalign.links.symmetrize import symmetrize

REPOSITORY = Path(__file__).resolve().parents[2]


def align(*arguments: object) -> int:
    return main(["align", *map(str, arguments)])


def links(path: Path) -> list[list[tuple[int, int]]]:
    lines = path.read_text().split("\n")[:-1]
    return [[tuple(map(int, link.split("-"))) for link in line.split()] for line in lines]


ONE = ("--readings", "1:awi")
"""One reading, decided by argmax."""


def soft_rows(path: Path) -> list[np.ndarray]:
    """[target words, source words] of every pair."""
    lines = path.read_text().split("\n")[:-1]
    return [np.array([[float(value) for value in row.split(",")] for row in line.split()]) for line in lines]


@pytest.fixture(scope="module")
def aligned(tiny_pair, tmp_path_factory) -> Path:
    """An unbroken run: out, out.scores, out.soft."""
    out = tmp_path_factory.mktemp("aligned") / "out"
    assert align(*tiny_pair.arguments(), *ONE, "-o", out, "--scores", f"{out}.scores", "--soft", f"{out}.soft") == 0
    return out


def test_a_batch_aligns_as_each_pair_alone(tiny_pair, aligned):
    from fairseq_normalign import load

    model = load(tiny_pair.path(), data=tiny_pair.folder, readings="1:awi")
    texts = [(tiny_pair.folder / f"text.{side}").read_text().splitlines() for side in ("de", "en")]
    soft = soft_rows(Path(f"{aligned}.soft"))
    for number, (source, target) in enumerate(zip(*texts, strict=True)):
        alone = model.align(source, target)
        assert links(aligned)[number] == alone.links
        np.testing.assert_allclose(soft[number], alone.soft / alone.soft.sum(axis=1, keepdims=True), atol=2e-6)


def test_every_target_word_is_linked_and_its_score_is_its_share(aligned):
    scores = Path(f"{aligned}.scores").read_text().split("\n")
    soft = soft_rows(Path(f"{aligned}.soft"))
    for number, found in enumerate(links(aligned)):
        rows = soft[number].tolist()
        assert sorted(t for _, t in found) == list(range(len(rows)))
        for (s, t), score in zip(found, map(float, scores[number].split()), strict=True):
            assert score == pytest.approx(rows[t][s], abs=1e-4)
            assert rows[t][s] == max(rows[t])


def test_batches_of_any_size_and_methods(tiny_pair, aligned, tmp_path):
    assert align(*tiny_pair.arguments(), *ONE, "--max-tokens", 1, "-o", tmp_path / "one") == 0
    assert links(tmp_path / "one") == links(aligned)
    assert (
        align(*tiny_pair.arguments(), "--method", "weights", "--layer", 3, "--step", "awo", "-o", tmp_path / "w") == 0
    )
    assert links(tmp_path / "w") != links(aligned)


def test_lines_that_cannot_be_aligned_stay_in_their_place(tiny_pair, tmp_path, capsys):
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_text("w1 w2\n\nw1\n" + "w1 " * LONGEST + "\nw3 w4\n")
    target.write_text("w1\nw2\n  \nw1\nw2\n")
    assert align(*tiny_pair.arguments(source, target), "-o", tmp_path / "out") == 0
    assert [bool(line) for line in links(tmp_path / "out")] == [True, False, False, False, True]
    assert "3 of 5 pairs have an empty line: 2 empty on one side, 1 longer" in capsys.readouterr().err


def test_standard_input_and_output(tiny_pair, aligned, capsys, monkeypatch):
    text = (tiny_pair.folder / "text.de").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert align(*tiny_pair.arguments("-"), *ONE, "-o", "-") == 0
    captured = capsys.readouterr()
    assert captured.out == aligned.read_text()
    assert captured.err == ""


def test_packed_texts(tiny_pair, aligned, tmp_path):
    for language in ("de", "en"):
        (tmp_path / f"{language}.gz").write_bytes(gzip.compress((tiny_pair.folder / f"text.{language}").read_bytes()))
    assert align(*tiny_pair.arguments(tmp_path / "de.gz", tmp_path / "en.gz"), *ONE, "-o", tmp_path / "out") == 0
    assert (tmp_path / "out").read_bytes() == aligned.read_bytes()


def test_progress_is_shown_when_asked_for(tiny_pair, tmp_path, capsys):
    assert align(*tiny_pair.arguments(), "-o", tmp_path / "out", "--progress") == 0
    assert "30/30" in capsys.readouterr().err


def test_both_directions(tiny_pair, aligned, tmp_path):
    back, both = tmp_path / "back", tmp_path / "both"
    assert align(*tiny_pair.turned(), *ONE, "-o", back) == 0
    assert align(*tiny_pair.arguments(), *tiny_pair.reverse(), *ONE, "--symmetrize", "grow-diag-final", "-o", both) == 0
    for one, other, found in zip(links(aligned), links(back), links(both), strict=True):
        assert found == symmetrize(one, [(s, t) for t, s in other], "grow-diag-final")


@pytest.mark.parametrize("null", ["best", "unaligned"])
def test_both_directions_by_what_they_agree_on(tiny_pair, tmp_path, null):
    reading = ["--null", null, "--method", "weights", "--layer", "3"]
    shares, left_out = [], 0
    for arguments in (tiny_pair.arguments(), tiny_pair.turned()):
        out, soft = tmp_path / "out", tmp_path / "soft"
        assert align(*arguments, *reading, "-o", out, "--soft", soft) == 0
        shares.append(soft_rows(soft))
        for rows, found in zip(shares[-1], links(out), strict=True):
            unaligned = sorted(set(range(len(rows))) - {target for _, target in found})
            rows[unaligned] = 0  # what one direction leaves unaligned, stays so
            left_out += len(unaligned)
    assert (left_out > 0) == (null == "unaligned")
    both, scores = tmp_path / "both", tmp_path / "scores"
    assert align(*tiny_pair.arguments(), *tiny_pair.reverse(), *reading, "-o", both, "--scores", scores) == 0
    values = [[float(value) for value in line.split()] for line in scores.read_text().splitlines()]
    for ahead, back, found, sure in zip(*shares, links(both), values, strict=True):
        expected, agreed = decide(ahead, "agreed-grow-diag", backward=back, floor=0.1)
        assert found == expected
        assert sure == pytest.approx([agreed[target, source] for source, target in found], abs=1e-3)


def test_dump_holds_every_layer(tiny_pair, aligned, tmp_path):
    assert align(*tiny_pair.arguments(), *ONE, "-o", tmp_path / "out", "--dump", tmp_path / "dump") == 0
    assert links(tmp_path / "out") == links(aligned)
    dump = Dump(tmp_path / "dump")
    assert len(dump) == tiny_pair.lines
    assert dump[0].layers.shape[0] == 3


def test_unequal_files_leave_nothing(tiny_pair, tmp_path, capsys):
    (tmp_path / "s").write_text("w1\nw2\n")
    (tmp_path / "t").write_text("w1\n")
    assert align(*tiny_pair.arguments(tmp_path / "s", tmp_path / "t"), "-o", tmp_path / "out") == 2
    assert f"{tmp_path / 's'}:2: no line of" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s", "t"]


def windows_done(monkeypatch, stop: int | None = None) -> list[int]:
    """Record the windows that are aligned from now on; interrupt the one with the number ``stop``."""
    from fairseq_normalign.align import aligner as job

    aligned: list[int] = []
    work = job.align_window

    def align_window(models, window, *arguments, **options):
        if window.number == stop:
            raise KeyboardInterrupt
        aligned.append(window.number)
        return work(models, window, *arguments, **options)

    monkeypatch.setattr(job, "align_window", align_window)
    return aligned


@pytest.mark.parametrize("outputs", [["--scores", "SCORES"], ["--dump", "DUMP"]])
def test_the_same_command_continues_after_an_interruption(tiny_pair, tmp_path, monkeypatch, capsys, outputs):
    monkeypatch.setattr(jobs, "WINDOW", 4)

    def arguments(folder: Path) -> list[object]:
        folder.mkdir(exist_ok=True)
        return [*tiny_pair.arguments(), "-o", folder / "out", outputs[0], folder / outputs[1]]

    def files(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert align(*arguments(tmp_path / "whole")) == 0
    with monkeypatch.context() as patch:
        assert windows_done(patch, stop=3) == []
        assert align(*arguments(tmp_path / "part")) == 130
    said = capsys.readouterr().err
    assert f"what is done is kept in {tmp_path / 'part' / 'out.parts'}; the same command continues" in said
    assert sorted(path.name for path in (tmp_path / "part").iterdir()) == ["out.parts"]
    aligned = windows_done(monkeypatch)
    assert align(*arguments(tmp_path / "part")) == 0
    assert aligned == [3, 4, 5, 6, 7]
    assert files(tmp_path / "part") == files(tmp_path / "whole")


@pytest.mark.parametrize("change", ["text", "option", "dictionary", "output", "nothing"])
def test_whatever_changes_the_result_is_computed_anew(tiny_pair, tmp_path, monkeypatch, change):
    monkeypatch.setattr(jobs, "WINDOW", 4)
    (tmp_path / "data").mkdir()
    for name in ("text.de", "text.en", "dict.de.txt", "dict.en.txt"):
        (tmp_path / "data" / name).write_bytes((tiny_pair.folder / name).read_bytes())
    given = tiny_pair.arguments(tmp_path / "data" / "text.de", tmp_path / "data" / "text.en")
    arguments = [*given, "--data", tmp_path / "data", "-o", tmp_path / "out", "--readings", "default"]
    with monkeypatch.context() as patch:
        windows_done(patch, stop=3)
        assert align(*arguments) == 130
    if change == "text":
        text = (tmp_path / "data" / "text.de").read_text()
        (tmp_path / "data" / "text.de").write_text("w1 " + text)
    elif change == "option":
        arguments += ["--null", "unaligned"]
    elif change == "dictionary":
        lines = (tmp_path / "data" / "dict.de.txt").read_text().splitlines()
        (tmp_path / "data" / "dict.de.txt").write_text("".join(f"{line.split()[0]} 7\n" for line in lines))
    elif change == "output":
        arguments += ["--scores", tmp_path / "scores"]
    aligned = windows_done(monkeypatch)
    assert align(*arguments) == 0
    expected = {"nothing": [3, 4, 5, 6, 7], "text": [0, 3, 4, 5, 6, 7]}
    assert aligned == expected.get(change, list(range(8)))


TWO = "1:awi,3:awo^0.5"


def test_two_looks_are_multiplied_before_links_are_decided(tiny_pair, tmp_path):
    shares = []
    for readings in TWO.replace("^0.5", "").split(","):
        soft = tmp_path / "soft"
        assert align(*tiny_pair.arguments(), "--readings", readings, "-o", tmp_path / "out", "--soft", soft) == 0
        shares.append(soft_rows(soft))
    out = tmp_path / "two"
    assert align(*tiny_pair.arguments(), "--readings", TWO, "-o", out, "--soft", tmp_path / "soft") == 0
    for after, before, both, found in zip(*shares, soft_rows(tmp_path / "soft"), links(out), strict=True):
        product = (after + 0.01) * (before + 0.01) ** 0.5
        product /= product.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(both, product, atol=5e-6)
        assert found == decide(product, "grow-diag", floor=0.2)[0]


def test_a_short_text_gets_the_fixed_two_looks_and_a_choice_can_be_given_back(tiny_pair, tmp_path, capsys):
    assert align(*tiny_pair.arguments(), "-o", tmp_path / "auto") == 0
    assert "too few pairs (30) to choose readings" in capsys.readouterr().err
    assert align(*tiny_pair.arguments(), "--readings", "default", "-o", tmp_path / "fixed") == 0
    assert (tmp_path / "auto").read_bytes() == (tmp_path / "fixed").read_bytes()
    assert main(["layers", *tiny_pair.arguments(), "--save", str(tmp_path / "choice.json")]) == 0
    assert "read norms:1:awi,norms:3:awo^0.5" in capsys.readouterr().out
    assert align(*tiny_pair.arguments(), "--choice", tmp_path / "choice.json", "-o", tmp_path / "given") == 0
    assert (tmp_path / "given").read_bytes() == (tmp_path / "fixed").read_bytes()


def test_votes_raise_what_another_aligner_linked(tiny_pair, tmp_path, capsys):
    both = [*tiny_pair.arguments(), *tiny_pair.reverse(), *ONE, "--floor", "0"]
    assert align(*both, "-o", tmp_path / "plain") == 0
    diagonal = tmp_path / "diagonal"
    sizes = [
        [len(line.replace("@@ ", "").split()) for line in (tiny_pair.folder / f"text.{side}").read_text().splitlines()]
        for side in ("de", "en")
    ]
    lines = [" ".join(f"{n}-{n}" for n in range(min(pair))) for pair in zip(*sizes, strict=True)]
    diagonal.write_text("".join(f"{line}\n" for line in lines))
    assert align(*both, "--vote", diagonal, "--vote-weight", "1e6", "-o", tmp_path / "voted") == 0
    for found, line in zip(links(tmp_path / "voted"), lines, strict=True):
        assert {f"{s}-{t}" for s, t in found} >= set(line.split())
    assert (tmp_path / "plain").read_bytes() != (tmp_path / "voted").read_bytes()
    assert align(*both, "--vote", diagonal, "--vote-weight", "0", "-o", tmp_path / "none") == 2
    assert "the weight of a vote is a number above 0, not 0" in capsys.readouterr().err
    diagonal.write_text("0-0\n")
    assert align(*both, "--vote", diagonal, "-o", tmp_path / "short") == 2
    assert not (tmp_path / "short").exists()

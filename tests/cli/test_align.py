from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_pair import LONGEST, write_text

from fairseq_normalign.align import bitext
from fairseq_normalign.cli import main
from fairseq_normalign.links.decide import decide
from fairseq_normalign.links.dump import Dump
from fairseq_normalign.links.symmetrize import symmetrize
from fairseq_normalign.resumable import ResumableFiles

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--symmetrize", "union"], "--reverse-path"),
        (["--layer", "9"], "no decoder layer 9"),
        (["--method", "magic"], "no method 'magic'"),
        (["--resume"], "-o FILE"),
        (["--scores", "-"], "only the links"),
        (["-o", "/nowhere/out"], "no directory"),
        (["--bpe-codes", "a", "b", "c"], "BPE codes: one file for both sides"),
    ],
)
def test_mistakes_are_one_line(tiny_pair, capsys, arguments, message):
    assert align(*tiny_pair.arguments(), *arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_unequal_files_leave_nothing(tiny_pair, tmp_path, capsys):
    (tmp_path / "s").write_text("w1\nw2\n")
    (tmp_path / "t").write_text("w1\n")
    assert align(*tiny_pair.arguments(tmp_path / "s", tmp_path / "t"), "-o", tmp_path / "out") == 2
    assert f"{tmp_path / 's'}:2: no line of" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s", "t"]


def test_bad_bytes_leave_nothing(tiny_pair, tmp_path, capsys):
    (tmp_path / "s").write_bytes(b"w1\n\xff\n")
    (tmp_path / "t").write_text("w1\nw2\n")
    assert align(*tiny_pair.arguments(tmp_path / "s", tmp_path / "t"), "-o", tmp_path / "out") == 2
    assert "s:2: byte 0xff" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.part").exists()


class TestResume:
    """Windows of 4 pairs; a run that is interrupted after the third."""

    @pytest.fixture(autouse=True)
    def small_windows(self, monkeypatch):
        monkeypatch.setattr(bitext, "WINDOW", 4)

    @pytest.fixture
    def whole(self, tiny_pair, tmp_path) -> Path:
        out = tmp_path / "whole"
        assert align(*tiny_pair.arguments(), "-o", out, "--scores", f"{out}.scores") == 0
        return out

    def interrupt(self, monkeypatch, *arguments) -> int:
        append = ResumableFiles.append

        def append_thrice(files, *given):
            if files.journal.steps == 3:
                raise KeyboardInterrupt
            append(files, *given)

        with monkeypatch.context() as patch:
            patch.setattr(ResumableFiles, "append", append_thrice)
            return align(*arguments)

    def test_goes_on_to_the_same_file(self, tiny_pair, tmp_path, monkeypatch, whole, capsys):
        out = tmp_path / "out"
        arguments = [*tiny_pair.arguments(), "-o", out, "--scores", f"{out}.scores"]
        assert self.interrupt(monkeypatch, *arguments) == 130
        assert "--resume goes on" in capsys.readouterr().err
        assert not out.exists()
        assert len(links(tmp_path / "out.part")) == 12
        assert align(*arguments, "--resume") == 0
        assert out.read_bytes() == whole.read_bytes()
        assert Path(f"{out}.scores").read_bytes() == Path(f"{whole}.scores").read_bytes()
        assert not list(tmp_path.glob("*.part*"))

    def test_refuses_other_options_and_other_text(self, tiny_pair, tmp_path, monkeypatch, capsys):
        out = tmp_path / "out"
        source = tmp_path / "s"
        source.write_bytes((tiny_pair.folder / "text.de").read_bytes())
        arguments = [*tiny_pair.arguments(source), "-o", out]
        assert self.interrupt(monkeypatch, *arguments) == 130
        assert align(*arguments, "--resume", "--layer", 2) == 2
        assert "--layer was None, is 2" in capsys.readouterr().err
        source.write_text(source.read_text().replace("w", "w1 w", 1))
        assert align(*arguments, "--resume") == 2
        assert "the first 12 lines are not those of the interrupted run" in capsys.readouterr().err
        assert (tmp_path / "out.part").exists()

    @pytest.mark.parametrize("lines", [0, 4, 8, 40])
    def test_refuses_a_text_of_another_length(self, tiny_pair, tmp_path, monkeypatch, capsys, lines):
        texts = [tmp_path / "s", tmp_path / "t"]
        for path, language in zip(texts, ("de", "en"), strict=True):
            path.write_bytes((tiny_pair.folder / f"text.{language}").read_bytes())
        arguments = [*tiny_pair.arguments(*texts), "-o", tmp_path / "out"]
        assert self.interrupt(monkeypatch, *arguments) == 130
        for path in texts:
            path.write_text("".join((path.read_text().splitlines(keepends=True) * 2)[:lines]))
        assert align(*arguments, "--resume") == 2
        assert f"the number of lines was 30, is {lines}" in capsys.readouterr().err
        assert not (tmp_path / "out").exists()

    def test_refuses_a_shorter_text_on_standard_input(self, tiny_pair, tmp_path, monkeypatch, capsys):
        text = (tiny_pair.folder / "text.de").read_bytes().splitlines(keepends=True)
        target = tmp_path / "t"
        target.write_bytes((tiny_pair.folder / "text.en").read_bytes())
        arguments = [*tiny_pair.arguments("-", target), "-o", tmp_path / "out"]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"".join(text))))
        assert self.interrupt(monkeypatch, *arguments) == 130
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"".join(text[:8]))))
        target.write_text("".join(target.read_text().splitlines(keepends=True)[:8]))
        assert align(*arguments, "--resume") == 2
        assert "there are fewer lines than those of the interrupted run" in capsys.readouterr().err

    def test_refuses_other_dictionaries(self, tiny_pair, tmp_path, monkeypatch, capsys):
        data = tmp_path / "data"
        data.mkdir()
        for language in ("de", "en"):
            (data / f"dict.{language}.txt").write_bytes((tiny_pair.folder / f"dict.{language}.txt").read_bytes())
        arguments = [*tiny_pair.arguments(), "--data", data, "-o", tmp_path / "out"]
        assert self.interrupt(monkeypatch, *arguments) == 130
        first, second, *rest = (data / "dict.de.txt").read_text().splitlines(keepends=True)
        (data / "dict.de.txt").write_text("".join([second, first, *rest]))
        assert align(*arguments, "--resume") == 2
        assert "cannot go on: the dictionaries was" in capsys.readouterr().err

    def test_asks_before_it_throws_work_away(self, tiny_pair, tmp_path, monkeypatch, whole, capsys):
        out = tmp_path / "out"
        assert self.interrupt(monkeypatch, *tiny_pair.arguments(), "-o", out) == 130
        capsys.readouterr()
        assert align(*tiny_pair.arguments(), "-o", out) == 2
        said = capsys.readouterr().err
        assert (
            "out.part: 12 pairs of an unfinished run are kept here; --resume goes on with it, --restart throws" in said
        )
        assert len(links(tmp_path / "out.part")) == 12
        assert align(*tiny_pair.arguments(), "-o", out, "--resume", "--restart") == 2
        assert align(*tiny_pair.arguments(), "-o", out, "--restart") == 0
        assert out.read_bytes() == whole.read_bytes()


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(tiny_pair, tmp_path):
    write_text(tmp_path, 2500, "many")
    arguments = [*tiny_pair.arguments(tmp_path / "many.de", tmp_path / "many.en"), "--readings", "auto"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "fairseq_normalign.cli"]
    for name, start in (("one", ["-m", "fairseq_normalign.cli"]), ("two", launcher)):
        out = tmp_path / name
        command = [sys.executable, *start, "align", *arguments, "-o", str(out), "--scores", f"{out}.scores"]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=600)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one.scores").read_bytes() == (tmp_path / "two.scores").read_bytes()
    assert len(links(tmp_path / "two")) == 2500


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


def test_votes_raise_what_another_aligner_linked(tiny_pair, tmp_path):
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
    diagonal.write_text("0-0\n")
    assert align(*both, "--vote", diagonal, "-o", tmp_path / "short") == 2
    assert not (tmp_path / "short").exists()

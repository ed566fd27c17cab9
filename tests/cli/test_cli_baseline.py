import json
import subprocess
import sys

import pytest

from fairseq_normalign.cli import main
from tests.conftest import write_program

DIAGONAL = """
for line in open("text"):
    source, target = (len(side.split()) for side in line.split("|||"))
    print(" ".join(f"{n}-{n}" for n in range(min(source, target))))
"""


@pytest.fixture
def bitext(tmp_path):
    (tmp_path / "s").write_text("Das Haus\n\nJa\n", encoding="utf-8")
    (tmp_path / "t").write_text("The house\nempty\nYes\n", encoding="utf-8")
    (tmp_path / "bin").mkdir()
    write_program(tmp_path / "bin" / "fast_align", DIAGONAL)
    return tmp_path


def arguments(directory, *more):
    files = ["--source", str(directory / "s"), "--target", str(directory / "t"), "--programs", str(directory / "bin")]
    return ["baseline", "fast_align", *files, "-o", str(directory / "out"), *more]


def test_both_directions_symmetrized_and_recorded(bitext, capsys):
    more = ["--symmetrize", "union", "--symmetrize", "intersection", "--train", str(bitext / "s"), str(bitext / "t")]
    assert main(arguments(bitext, *more)) == 0
    for name in ("forward", "backward", "union", "intersection"):
        assert (bitext / f"out.{name}").read_text() == "0-0 1-1\n\n0-0\n"
        assert f"out.{name}\n" in capsys.readouterr().out or name != "forward"
    record = json.loads((bitext / "out.json").read_text())
    assert record["programs"]["fast_align"].startswith("sha256:")
    assert (record["sentences"], record["not_given_to_the_aligner"]) == (3, 1)
    assert record["symmetrized"] == ["union", "intersection"]


def test_a_failure_leaves_no_file(bitext, capsys):
    (bitext / "t").write_text("The house\n", encoding="utf-8")
    assert main(arguments(bitext)) == 2
    assert "must be parallel" in capsys.readouterr().err
    assert not list(bitext.glob("out*"))


def test_the_verb_loads_no_torch():
    code = "import sys, fairseq_normalign.cli.baseline; sys.exit('torch' in sys.modules or 'fairseq' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Statistical aligners, with stand-ins for their programs that align word n with word n."""

import importlib.util
from pathlib import Path

import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.baselines import align, read_word_pairs
from tests.conftest import write_program

FAST_ALIGN = """
lines = open(sys.argv[2], encoding="utf-8", newline="\\n").read().split("\\n")[:-1]
for line in lines:
    source, target = (len(side.split()) for side in line.split("|||"))
    print(" ".join(f"{n}-{n}" for n in range(min(source, target))) if "-r" not in sys.argv else "0-0")
"""

EFLOMAL = """
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
lines = open(options["-i"], encoding="utf-8", newline="\\n").read().split("\\n")[:-1]
open(options["-f"], "w").write("".join("0-0 \\n" for _ in lines))
open(options["-r"], "w").write("".join("\\n" for _ in lines))
"""

MKCLS = "open(sys.argv[4][2:], 'w').write('')"

GIZA = """
import os
assert os.environ["USER"], "GIZA++ crashes without"
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
words = {side: dict(line.split()[:2] for line in open(options[side])) for side in ("-S", "-T")}
lines = open(options["-C"]).read().split("\\n")[:-1]
for part in (1, 0):
    with open(options["-o"] + f".A3.final.part00{part}", "w") as out:
        for n in range(part, len(lines) // 3, 2):
            first = [words["-S"][w] for w in lines[3 * n + 1].split()]
            second = [words["-T"][w] for w in lines[3 * n + 2].split()]
            print(f"# Sentence pair ({n + 1}) source length {len(first)} target length {len(second)}", file=out)
            print(" ".join(second), file=out)
            beyond = "".join(f" {m + 1}" for m in range(len(first), len(second)))
            links = [f"{w} ({{ {m + 1} }})" if m < len(second) else f"{w} ({{ }})" for m, w in enumerate(first)]
            print(f"NULL ({{{beyond} }}) " + " ".join(links) + " ", file=out)
"""

PAIRS = [(["das", "Haus"], ["the", "house"]), ([], ["empty"]), (["ja"], ["yes", "indeed"]), (["leer"], [])]


def program(directory: Path, name: str, code: str) -> Path:
    return write_program(directory / name, f"import sys\n{code}")


def test_pairs_with_an_empty_side_stay_without_links(tmp_path):
    program(tmp_path, "fast_align", FAST_ALIGN)
    found = align("fast_align", PAIRS, [(["mehr"], ["more"]), ([], [])], programs=tmp_path)
    assert found.forward == [[(0, 0), (1, 1)], [], [(0, 0)], []]
    assert found.backward == [[(0, 0)], [], [(0, 0)], []]
    assert found.left_out == 2
    assert found.commands == [
        ["fast_align", "-i", "text", "-d", "-o", "-v"],
        ["fast_align", "-i", "text", "-d", "-o", "-v", "-r"],
    ]
    assert found.programs[0].version.startswith("sha256:")


def test_nothing_to_align_runs_nothing(tmp_path):
    program(tmp_path, "fast_align", "sys.exit(1)")
    assert align("fast_align", [([], [])], programs=tmp_path).forward == [[]]
    assert align("fast_align", [], programs=tmp_path).forward == []


def test_odd_words_stay_single_words(tmp_path):
    """White space inside a word, and fast_align's separator as a word, must not shift the links."""
    program(tmp_path, "fast_align", FAST_ALIGN)
    pair = (["a\u00a0b", "|||", "c\u2028d"], ["x\u0085y", "|||", "z"])
    assert align("fast_align", [pair], programs=tmp_path).forward == [[(0, 0), (1, 1), (2, 2)]]


def test_eflomal_runs_once_for_both_directions(tmp_path):
    program(tmp_path, "eflomal-align", EFLOMAL)
    found = align("eflomal", PAIRS, programs=tmp_path)
    assert (found.forward, found.backward) == ([[(0, 0)], [], [(0, 0)], []], [[], [], [], []])
    assert len(found.commands) == 1


def test_giza_in_both_directions_from_files_in_parts(tmp_path, monkeypatch):
    monkeypatch.delenv("USER", raising=False)
    program(tmp_path, "mgiza", GIZA)
    program(tmp_path, "mkcls", MKCLS)
    long = (["w"] * 101, ["v"])
    found = align("giza", [*PAIRS, long, (["eins"], ["one"])], programs=tmp_path)
    expected = [[(0, 0), (1, 1)], [], [(0, 0)], [], [], [(0, 0)]]
    assert (found.forward, found.backward) == (expected, expected)
    assert found.left_out == 3
    assert [command[0] for command in found.commands] == ["mkcls", "mkcls", "mgiza", "mgiza"]


@pytest.mark.parametrize(
    ("aligner", "message"),
    [
        ("eflomal", r"eflomal-align in .*; pip install 'fairseq-normalign\[aligners\]'"),
        ("fast_align", r"fast_align in .*; build it from https://github.com/clab/fast_align"),
        ("giza", r"mgiza or GIZA\+\+ in .*; build GIZA\+\+ and mkcls"),
    ],
)
def test_a_missing_program_says_how_to_get_it(tmp_path, aligner, message):
    with pytest.raises(NormalignError, match=message):
        align(aligner, PAIRS, programs=tmp_path)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('first', file=sys.stderr); sys.exit('no memory')", r"fast_align failed \(exit code 1\): no memory"),
        ("print('0-0')", "aligned only 1 of 2"),
        ("print('0-0\\nnonsense')", r"the output of fast_align:2: 'nonsense' is neither i-j"),
        ("print('0-0\\n7-0')", "outside of the sentence 'ja'"),
    ],
)
def test_a_program_that_goes_wrong_is_one_line(tmp_path, code, message):
    program(tmp_path, "fast_align", code)
    with pytest.raises(NormalignError, match=message) as caught:
        align("fast_align", PAIRS, programs=tmp_path)
    assert "\n" not in str(caught.value)


def test_files_of_different_length(tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("x\n")
    with pytest.raises(NormalignError, match=r"s:2: no line of .*t to go with it"):
        read_word_pairs(tmp_path / "s", tmp_path / "t")


@pytest.mark.skipif(importlib.util.find_spec("eflomal") is None, reason="eflomal is not installed")
def test_eflomal_itself_learns_a_dictionary():
    pairs = [([f"s{n}", f"s{(n * 7 + 3) % 20}"], [f"t{n}", f"t{(n * 7 + 3) % 20}"]) for n in range(20)] * 10
    found = align("eflomal", [*pairs[:20], ([], ["x"])], pairs)
    right = sum((n, n) in links for links in found.forward for n in range(2))
    assert right >= 36  # of 40; it samples
    assert found.forward[20] == []
    assert found.programs[0].version[0].isdigit()

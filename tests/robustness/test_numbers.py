"""NaN and infinity are reported, never written; and the links depend on the sentence and on nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_normalign import load
from fairseq_normalign.cli import main
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.dump import Dump, DumpWriter
from fairseq_normalign.links.pieces import Segmentation
from fairseq_normalign.methods import METHODS, method_class
from tests.cli.tiny_pair import make_tiny_pair, write_text
from tests.conftest import run

from .room import FAIRSEQ_OPTIONS

EVERY_METHOD = sorted(METHODS)
QUICK = ("norms", "weights")
ALL_BUT_QUICK_ARE_SLOW = [
    method if method in QUICK else pytest.param(method, marks=pytest.mark.slow) for method in EVERY_METHOD
]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return make_tiny_pair(tmp_path_factory.mktemp("numbers"))


HUGE = 3e38
"""A finite number that overflows; NaN itself is refused when a model is loaded."""
BAD_WORD = 7
"""The third sentence has it."""
SOURCE, TARGET = "w1 w2\nw3\nw4 w7 w2\nw1\n", "w1\nw2 w3\nw4 w2\nw2\n"


def spoilt(models, folder: Path, name: str, row: int = 0) -> Path:
    """A checkpoint whose parameter overflows once; a row of the embedding spoils the sentences with that word."""
    state = torch.load(models.path(), weights_only=False)
    state["model"][name].view(state["model"][name].size(0), -1)[row, 0] = HUGE
    torch.save(state, folder / "spoilt.pt")
    return folder / "spoilt.pt"


@pytest.fixture
def bad_word(models, tmp_path) -> Path:
    return spoilt(models, tmp_path, "encoder.embed_tokens.weight", 4 + BAD_WORD)


def arguments(models, checkpoint, folder: Path, source: str, target: str) -> list[str]:
    (folder / "s").write_text(source)
    (folder / "t").write_text(target)
    given = ["--path", checkpoint, "--data", models.folder, "--cpu", "--source", folder / "s", "--target", folder / "t"]
    return list(map(str, given))


def said(capsys) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if "what is done is kept" not in line]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_align_names_layer_and_sentence(models, bad_word, tmp_path, capsys, method):
    layerwise = method_class(method).layerwise
    given = [*arguments(models, bad_word, tmp_path, SOURCE, TARGET), *(["--layer", "2"] if layerwise else [])]
    assert main(["align", *given, "--method", method, "-o", str(tmp_path / "out")]) == 2
    place = "decoder layer 2" if layerwise else method
    assert f"sentence 3: NaN or infinity in {place}" in said(capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "command",
    [
        *("layers", "analyze dispersion", "analyze heads", "view --sentences 1-4", "view --html -"),
        *(f"compare --gold GOLD --methods {method}" for method in QUICK),
        pytest.param(f"compare --gold GOLD --methods {','.join(EVERY_METHOD)}", marks=pytest.mark.slow),
    ],
)
def test_other_verbs_name_layer_and_sentence(models, bad_word, tmp_path, capsys, command):
    given = arguments(models, bad_word, tmp_path, SOURCE, TARGET)
    (tmp_path / "gold").write_text("0-0\n" * 4)
    assert main([*command.replace("GOLD", str(tmp_path / "gold")).split(), *given]) == 2
    captured = capsys.readouterr()
    assert "sentence 3: NaN or infinity in" in captured.err
    assert "layer 1" in captured.err or command.startswith("compare")
    assert "NaN" not in captured.out


@pytest.mark.parametrize("name", ["encoder_attn.v_proj.weight", "encoder_attn.out_proj.weight"])
def test_a_parameter_of_a_layer_is_that_layers(models, tmp_path, capsys, name):
    """Below the spoilt layer everything is sound, and aligned; at it nothing is."""
    given = arguments(models, spoilt(models, tmp_path, f"decoder.layers.1.{name}"), tmp_path, SOURCE, TARGET)
    assert main(["align", *given, "--layer", "1", "-o", str(tmp_path / "low")]) == 0
    assert main(["align", *given[2:], "--path", str(models.path()), "--layer", "1", "-o", str(tmp_path / "sound")]) == 0
    assert (tmp_path / "low").read_bytes() == (tmp_path / "sound").read_bytes()
    capsys.readouterr()
    assert main(["align", *given, "--layer", "2", "-o", str(tmp_path / "out")]) == 2
    assert re.search(r"sentence [1-4]: NaN or infinity in decoder layer 2", said(capsys))


@pytest.mark.parametrize("options", ["", "--score-reference", "--normalign-method weights --normalign-layer 3"])
def test_generate_never_prints_it(models, bad_word, tmp_path, options):
    for side, text in (("de", SOURCE), ("en", TARGET)):
        (tmp_path / f"test.de-en.{side}").write_text(text)
        (tmp_path / f"dict.{side}.txt").write_bytes((models.folder / f"dict.{side}.txt").read_bytes())
    given = [tmp_path, "--path", bad_word, "--dataset-impl", "raw", "--batch-size", 1, *FAIRSEQ_OPTIONS]
    result = run("fairseq-generate", *given, *options.split())
    assert result.returncode == 2
    assert "sentence 2: NaN or infinity in decoder layer" in result.stderr.splitlines()[-1]  # fairseq's ids: from 0
    assert "A-2\t" not in result.stdout


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_dump_with_it_is_refused(tmp_path, value):
    one = Segmentation(("a",), ((0, 1),), ())
    layers = np.ones((1, 2, 1), dtype=np.float32)
    layers[0, 1, 0] = value
    with DumpWriter(tmp_path / "dump", method="norms") as writer:
        writer.add(0, source_pieces=["a"], target_pieces=["a"], source=one, target=one, layers=layers)
    with pytest.raises(NormalignError, match=r"index\.jsonl:1: .*NaN or infinity"):
        Dump(tmp_path / "dump")[0]


# -- what results may not depend on -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> tuple[list[str], list[str]]:
    folder = tmp_path_factory.mktemp("text")
    write_text(folder, 12)
    return tuple((folder / f"text.{side}").read_text().splitlines() for side in ("de", "en"))  # type: ignore[return-value]


def align(models, folder: Path, source: list[str], target: list[str], *options: object) -> tuple[list[str], list[str]]:
    """-> lines of links, lines of soft alignments."""
    given = arguments(models, models.path(), folder, "\n".join(source) + "\n", "\n".join(target) + "\n")
    out = folder / "out"
    assert main(["align", *given, "-o", str(out), "--soft", f"{out}.soft", *map(str, options)]) == 0
    return out.read_text().splitlines(), Path(f"{out}.soft").read_text().splitlines()


def numbers(line: str) -> list[float]:
    return [float(value) for row in line.split(" ") for value in row.split(",")]


def assert_same(found, expected, tolerance: float = 5e-6) -> None:
    assert found[0] == expected[0]
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(numbers(one), numbers(other), atol=tolerance)


@pytest.mark.parametrize("method", ALL_BUT_QUICK_ARE_SLOW)
def test_size_of_batches_and_padding(models, text, tmp_path, method):
    """Alone, with others of its length, and padded beside longer ones: the same links."""
    # differences of probabilities: a row may be tiny, and dividing by its sum makes rounding large
    tolerance = 5e-6 if method_class(method).layerwise else 1e-3
    whole = align(models, tmp_path, *text, "--method", method)
    for tokens in (1, 50):
        found = align(models, tmp_path, *text, "--method", method, "--max-tokens", tokens)
        assert_same(found, whole, tolerance)


def test_order_of_sentences(models, text, tmp_path):
    whole = align(models, tmp_path, *text)
    order = np.random.default_rng(1).permutation(len(text[0]))
    turned = align(models, tmp_path, *([side[n] for n in order] for side in text))
    assert_same(turned, tuple([lines[n] for n in order] for lines in whole))


def test_number_of_threads(models, text, tmp_path):
    before = torch.get_num_threads()
    try:
        found = [align(models, tmp_path, *text, "--threads", count) for count in (1, 2, 4)]
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_a_second_run_is_the_first_to_the_last_bit(models, text, tmp_path):
    assert align(models, tmp_path, *text) == align(models, tmp_path, *text)


@pytest.mark.parametrize("method", QUICK)
@pytest.mark.parametrize("precision", ["auto", "bfloat16", "int8", "float16"])
def test_half_precision_gives_the_links_of_single_precision(models, text, precision, method):
    """Of a random model, whose rows are nearly flat, some argmax may tip; they are counted, and are few."""
    exact, half = (
        load(models.path(), data=models.folder, precision=one, method=method, layer=1).align_many(
            zip(*text, strict=True)
        )
        for one in ("float32", precision)
    )
    links, gaps = 0, [0.0]
    for one, other in zip(exact, half, strict=True):
        links += len(one.links)
        for _, word in set(one.links) - set(other.links):
            first, second = [*np.sort(one.soft[word])[::-1], 0.0][:2]
            gaps.append((first - second) / first)
    assert links > 50
    assert len(gaps) - 1 <= 0.02 * links
    assert max(gaps) < 0.05  # where a link differs, single precision itself was nearly undecided

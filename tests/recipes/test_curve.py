"""AER over updates, of checkpoints that training kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sacremoses import MosesTokenizer

from fairseq_normalign import toy

from . import conftest  # noqa: F401  (puts the recipes' steps on the path)

recipe_steps = pytest.importorskip("recipe_steps.__main__")


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """The toy's two models, kept after 10 updates; the forward model also after 20."""
    for name, updates in (("de-en", 10), ("de-en", 20), ("en-de", 10)):
        (tmp_path / name).mkdir(exist_ok=True)
        shutil.copyfile(toy.FOLDER / f"{name}.pt", tmp_path / name / f"checkpoint_1_{updates}.pt")
    models = ["--models", str(tmp_path / "de-en"), str(tmp_path / "en-de")]
    return [*models, *toy_text(tmp_path), "-o", str(tmp_path / "curve.tsv")]


def toy_text(folder: Path) -> list[str]:
    """The toy's text in Moses tokens, in text.de and text.en, as arguments of a step that measures with gold."""
    texts = [folder / f"text.{language}" for language in ("de", "en")]
    for path in texts:
        tokenizer = MosesTokenizer(lang=path.suffix[1:])
        lines = (toy.FOLDER / path.name).read_text(encoding="utf-8").lower().splitlines()
        tokens = [tokenizer.tokenize(line, return_str=True, escape=False) for line in lines]
        path.write_text("\n".join(tokens) + "\n", encoding="utf-8")
    given = ["--data", toy.FOLDER, "--languages", "de", "en", "--text", *texts, "--gold", toy.FOLDER / "gold.talp"]
    return [*map(str, given), "--bpe-codes", str(toy.FOLDER / "codes")]


def test_two_looks_are_better_than_one_and_both_directions_best(arguments, tmp_path):
    figure = tmp_path / "curve.png"
    assert recipe_steps.main(["curve", *arguments, "--figure", str(figure)]) == 0
    head, *lines = [line.split("\t") for line in (tmp_path / "curve.tsv").read_text(encoding="utf-8").splitlines()]
    assert head[:4] == ["updates", "row", "readings", "aer"]
    assert [line[:2] for line in lines] == [["10", row] for row in ("AWI", "AWO", "two looks", "both directions")]
    awi, awo, looks, both = (float(line[3]) for line in lines)
    assert both < looks < min(awi, awo)
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_models_without_common_updates_are_refused(arguments, tmp_path, capsys):
    (tmp_path / "en-de" / "checkpoint_1_10.pt").unlink()
    assert recipe_steps.main(["curve", *arguments]) == 2
    assert "no checkpoints of the same number of updates" in capsys.readouterr().err
    assert not (tmp_path / "curve.tsv").exists()


def rows(tmp_path: Path) -> list[list[str]]:
    return [line.split("\t") for line in (tmp_path / "curve.tsv").read_text(encoding="utf-8").splitlines()[1:]]


def test_given_readings_are_read_in_one_direction_and_in_both(arguments, tmp_path):
    given = ["--readings", "norms:1.1:awi", "--floor", "0.2", "--figure", str(tmp_path / "curve.png")]
    assert recipe_steps.main(["curve", *arguments, *given]) == 0
    assert [line[1:3] for line in rows(tmp_path)] == [
        ["one direction", "norms:1.1:awi"],
        ["both directions", "norms:1.1:awi"],
    ]


def test_the_last_checkpoints_can_be_averaged(arguments, tmp_path):
    shutil.copyfile(toy.FOLDER / "en-de.pt", tmp_path / "en-de" / "checkpoint_1_20.pt")
    assert recipe_steps.main(["curve", *arguments]) == 0
    plain = rows(tmp_path)
    assert recipe_steps.main(["curve", *arguments, "--average", "2"]) == 0
    assert rows(tmp_path) == plain, "both checkpoints are the same, so their mean is"
    assert {line[0] for line in plain} == {"10", "20"}


def test_points_can_be_far_apart(arguments, tmp_path, capsys):
    shutil.copyfile(toy.FOLDER / "en-de.pt", tmp_path / "en-de" / "checkpoint_1_20.pt")
    assert recipe_steps.main(["curve", *arguments, "--every", "20", "--readings", "norms:1.1:awi"]) == 0
    assert {line[0] for line in rows(tmp_path)} == {"20"}
    assert recipe_steps.main(["curve", *arguments, "--every", "7"]) == 2
    assert "no checkpoint was kept at a multiple of 7 updates" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--every", "--average"])
def test_numbers_count_from_one(arguments, option, capsys):
    with pytest.raises(SystemExit) as ended:
        recipe_steps.main(["curve", *arguments, option, "0"])
    assert ended.value.code == 2
    assert option in capsys.readouterr().err


def test_a_mean_is_of_the_last_checkpoints_whichever_points_are_shown():
    from recipe_steps.curve import last_kept

    kept = [(updates, (Path(f"a{updates}"), Path(f"b{updates}"))) for updates in (5, 10, 15, 20)]
    found = last_kept(kept, 3, 10)
    assert [updates for updates, _ in found] == [10, 20]
    assert [[files[0].name for files in one] for _, one in found] == [["a5", "a10"], ["a10", "a15", "a20"]]

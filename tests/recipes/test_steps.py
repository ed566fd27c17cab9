"""The numbered steps as a user runs them, on a tiny corpus."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import RECIPES, Steps, environment, write_corpus

TINY = {
    "PRESET": "cpu",
    "MERGES": 60,
    "LAYERS": 2,
    "WIDTH": 16,
    "FEED_FORWARD": 32,
    "HEADS": 2,
    "BEAM": 2,
    "MAX_UPDATE": 12,
    "SAVE_UPDATES": 4,
    "WARMUP": 4,
    "MAX_TOKENS": 400,
    "BATCH_TOKENS": 400,
}
STEPS = sorted(path.name for path in (RECIPES / "wmt16_de_en").glob("[1-9]_*.sh"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("recipe") / "corpus")


def one_line(result: subprocess.CompletedProcess) -> str:
    assert result.returncode == 2, result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def test_both_recipes_have_the_same_nine_steps() -> None:
    assert len(STEPS) == 9
    assert sorted(path.name for path in (RECIPES / "europarl_de_en").glob("[1-9]_*.sh")) == STEPS


@pytest.mark.parametrize("script", sorted(str(path) for path in RECIPES.glob("*/*.sh")))
def test_scripts_parse(script: str) -> None:
    assert subprocess.run(["bash", "-n", script], capture_output=True, check=False).stderr == b""


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("3_tokenize", "run 2_gather.sh first"),
        ("4_clean", "run 3_tokenize.sh first"),
        ("5_pieces", "run 4_clean.sh first"),
        ("6_binarize", "run 5_pieces.sh first"),
        ("7_train", "run 6_binarize.sh first"),
        ("8_translate", "run 7_train.sh first"),
        ("9_compare", "run 7_train.sh first"),
    ],
)
def test_a_step_before_its_turn_says_which_comes_first(run_step: Steps, step: str, said: str) -> None:
    assert said in one_line(run_step(f"wmt16_de_en/{step}.sh", **TINY))


@pytest.mark.parametrize(
    ("script", "variables", "said"),
    [
        ("wmt16_de_en/1_download.sh", {"CORPUS": "/nowhere"}, "CORPUS=/nowhere is not a directory"),
        ("wmt16_de_en/1_download.sh", {"PRESET": "huge"}, "choose paper or cpu"),
        ("wmt16_de_en/1_download.sh", {"MIRROR": "http://127.0.0.1:9"}, "refused"),
        ("europarl_de_en/1_download.sh", {"MIRROR": "http://127.0.0.1:9"}, "refused"),
        ("guided/1_teach.sh", {"BASE": "/nowhere"}, "BASE=/nowhere"),
    ],
)
def test_wrong_variables_are_one_line(run_step: Steps, script: str, variables: dict, said: str) -> None:
    assert said in one_line(run_step(script, **variables))


def test_a_missing_program_is_one_line(tmp_path: Path) -> None:
    """Only Python and the shell's own programs on PATH."""
    known = environment(tmp_path, WORK=tmp_path / "work", GPUS=0, **TINY)
    (tmp_path / "work" / "binary").mkdir(parents=True)
    (tmp_path / "work" / "binary" / "complete").touch()
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "python").symlink_to(sys.executable)
    known["PATH"] = f"{tmp_path / 'programs'}:/usr/bin:/bin"
    script = str(RECIPES / "wmt16_de_en" / "7_train.sh")
    result = subprocess.run(["bash", script], env=known, capture_output=True, text=True, check=False)
    assert "'fairseq-train' is missing" in one_line(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "more"),
    [("wmt16_de_en", {}), ("europarl_de_en", {"SEEDS": "1 2", "JOINT": 0, "ADD": ""})],
)
def test_a_recipe_from_start_to_end_and_again(run_step: Steps, corpus: Path, tmp_path: Path, recipe: str, more) -> None:
    options = {**TINY, **more, "CORPUS": corpus}
    first = run_step(f"{recipe}/run.sh", **options)
    assert first.returncode == 0, first.stdout + first.stderr
    work = tmp_path / "work"
    assert "norms awi" in first.stdout
    assert "BLEU" in first.stdout
    for made in ("compare.de-en.txt", "compare.en-de.txt", "compare.de-en.png", "alignment.png", "alignments.html"):
        assert (work / "results" / made).stat().st_size > 100
    before = {path: path.stat().st_mtime_ns for path in work.rglob("*.pt")}
    again = run_step(f"{recipe}/run.sh", **options)
    assert again.returncode == 0, again.stderr
    assert again.stdout.count("there already") >= 6
    assert {path: path.stat().st_mtime_ns for path in work.rglob("*.pt")} == before


def test_paths_are_those_of_where_the_command_is_typed(corpus: Path, tmp_path: Path) -> None:
    known = environment(tmp_path, **TINY, CORPUS=os.path.relpath(corpus, tmp_path), WORK="work", PIECES_BY="magic")
    command = ["bash", os.path.relpath(RECIPES / "wmt16_de_en" / "run.sh", tmp_path)]
    result = subprocess.run(command, cwd=tmp_path, env=known, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 2
    assert "PIECES_BY=magic; choose bpe or sentencepiece" in result.stderr  # the fifth step; the first four are done
    assert (tmp_path / "work" / "clean" / "train.de").stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize("joint", [1, 0])
def test_training_goes_on_from_models_that_are_there(run_step: Steps, corpus: Path, tmp_path: Path, joint: int) -> None:
    """With their pieces and their dictionaries, though the text is not what these were made from."""
    first, second, models = tmp_path / "first", tmp_path / "second", tmp_path / "models"
    options = {**TINY, "CORPUS": corpus, "JOINT": joint}
    for step in STEPS[:7]:
        assert run_step(f"wmt16_de_en/{step}", **options, WORK=first).returncode == 0
    models.mkdir()
    for made in [*(first / "pieces").glob("codes*"), *(first / "binary").glob("dict.*.txt")]:
        shutil.copy(made, models)
    for direction in ("de-en", "en-de"):
        shutil.copy(first / "models" / direction / "seed1" / "checkpoint_best.pt", models / f"{direction}.pt")
    smaller = {**options, "LIMIT": 60, "MERGES": 20, "START": models}
    for step in STEPS[:7]:
        result = run_step(f"wmt16_de_en/{step}", **smaller, WORK=second)
        assert result.returncode == 0, result.stderr
    for made in models.glob("[cd][oi][dc]*"):
        folder = "pieces" if made.name.startswith("codes") else "binary"
        assert (second / folder / made.name).read_bytes() == made.read_bytes()
    log = (second / "7_train.de-en.seed1.log").read_text(encoding="utf-8")
    assert f"loading pretrained model from {models / 'de-en.pt'}" in log
    (models / "de-en.pt").unlink()
    missing = run_step("wmt16_de_en/7_train.sh", **{**smaller, "MAX_UPDATE": 13}, DIRECTIONS="de-en", WORK=second)
    assert "there is no de-en.pt; it needs the codes" in one_line(missing)


@pytest.mark.slow
def test_the_demo_from_start_to_end_and_again(run_step: Steps, tmp_path: Path) -> None:
    small = {"TRAIN": 300, "VALID": 20, "TEST": 20, "MERGES": 200, "UPDATES": 20, "WIDTH": 16, "FEED_FORWARD": 32}
    first = run_step("demo/run.sh", **small)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "\nSeen: lowest AER of de-en" in first.stdout
    assert re.search(r"^ *A-7\t\d+-\d+", first.stdout, flags=re.MULTILINE)
    results = tmp_path / "work" / "results"
    for made in ("report/index.html", "layers.de-en.png", "layers.en-de.png", "sentence-8.png"):
        assert (results / made).stat().st_size > 1000
    again = run_step("demo/run.sh", **small)
    assert again.returncode == 0, again.stderr
    assert again.stdout.count("there already") == 6
    assert re.sub(r" +\d+ s$", " there already", first.stdout, flags=re.MULTILINE) == re.sub(
        " +there", " there", again.stdout
    )


@pytest.mark.slow
def test_guided_from_start_to_end(run_step: Steps, corpus: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    for step in STEPS[:7]:
        result = run_step(f"wmt16_de_en/{step}", **TINY, CORPUS=corpus, WORK=base)
        assert result.returncode == 0, result.stdout + result.stderr
    own = {"BASE": base, "MAX_UPDATE": 8, "SAVE_UPDATES": 4, "MAX_TOKENS": 400, "PAIRS": 60, "GUIDED_NULL": 0.5}
    result = run_step("guided/run.sh", **own)
    assert result.returncode == 0, result.stdout + result.stderr
    for system in ("looks", "guided"):
        for way in ("agreed-grow-diag", "grow-diag", "de-en"):
            assert f"{system}.{way}.links " in result.stdout
    log = (tmp_path / "work" / "3_train.de-en.log").read_text(encoding="utf-8")
    assert "loading pretrained model" in log
    assert "skipping alignment" not in log
    again = run_step("guided/run.sh", **own, EARLIER=tmp_path / "work", WORK=tmp_path / "second")
    assert again.returncode == 0, again.stdout + again.stderr
    assert (tmp_path / "second" / "text" / "train.links").read_text() != (
        tmp_path / "work" / "text" / "train.links"
    ).read_text()
    missing = run_step("guided/1_teach.sh", BASE=base, EARLIER=tmp_path / "none", WORK=tmp_path / "third")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "run 3_train.sh there" in missing.stderr


@pytest.mark.slow
def test_an_interrupted_training_goes_on(run_step: Steps, corpus: Path, tmp_path: Path) -> None:
    options = {**TINY, "CORPUS": corpus, "DIRECTIONS": "de-en"}
    for step in STEPS[:6]:
        assert run_step(f"wmt16_de_en/{step}", **options).returncode == 0
    longer = {**options, "MAX_UPDATE": 100_000}
    known = environment(tmp_path, WORK=tmp_path / "work", GPUS=0, **longer)
    script = str(RECIPES / "wmt16_de_en" / "7_train.sh")
    training = subprocess.Popen(
        ["bash", script],
        env=known,
        start_new_session=True,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job of a shell ignores it
    )
    last = tmp_path / "work" / "models" / "de-en" / "seed1" / "checkpoint_last.pt"
    for _ in range(600):
        if last.exists() and last.stat().st_size:
            break
        time.sleep(0.5)
    os.killpg(training.pid, signal.SIGINT)
    _, said = training.communicate(timeout=60)
    assert training.returncode != 0
    assert b"interrupted; run the step again to go on" in said
    assert last.exists()
    log = (tmp_path / "work" / "7_train.de-en.seed1.log").read_text(encoding="utf-8")
    reached = max(int(number) for number in re.findall(r"@ (\d+) updates", log))
    again = run_step("wmt16_de_en/7_train.sh", **{**options, "MAX_UPDATE": reached + 5})
    assert again.returncode == 0, again.stderr
    log = (tmp_path / "work" / "7_train.de-en.seed1.log").read_text(encoding="utf-8")
    assert "Loaded checkpoint" in log

"""A tiny German-English corpus with gold, and ways to run the steps of a recipe with this environment's programs."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import PROGRAMS, REPOSITORY

RECIPES = REPOSITORY / "recipes"
sys.path.insert(0, str(RECIPES / "common"))

WORDS = [
    ("Haus", "house"),
    ("Baum", "tree"),
    ("Brot", "bread"),
    ("Wasser", "water"),
    ("Straße", "street"),
    ("Fenster", "window"),
    ("Garten", "garden"),
    ("Schule", "school"),
]

Steps = Callable[..., subprocess.CompletedProcess]


def environment(tmp_path: Path, **variables: object) -> dict[str, str]:
    """As a user's, with a ``normalign`` that is this working copy."""
    paths = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    own = {"SETUP": "none", "PATH": paths, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "JOBS": "1"}
    return {**os.environ, **own, **{name: str(value) for name, value in variables.items()}}


@pytest.fixture
def run_step(tmp_path: Path) -> Steps:
    """run_step("wmt16_de_en/1_download.sh", WORK=..., ...)"""

    def run(script: str, **variables: object) -> subprocess.CompletedProcess:
        command = ["bash", str(RECIPES / script)]
        known = environment(tmp_path, **{"WORK": tmp_path / "work", "GPUS": 0, **variables})
        return subprocess.run(command, env=known, capture_output=True, text=True, timeout=3600, check=False)

    return run


@dataclass(frozen=True)
class Outcome:
    """What a user would have seen."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run_python(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """run_python("clean", ...): a step of recipe_steps by itself."""
    from recipe_steps.__main__ import main

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return run


def sentence(chance: random.Random) -> tuple[str, str]:
    """A raw German sentence and its English."""
    pairs = [chance.choice(WORDS) for _ in range(chance.randint(1, 4))]
    return ", das ".join(["Ich sehe das " + pairs[0][0], *(de for de, _ in pairs[1:])]) + ".", (
        ", the ".join(["I see the " + pairs[0][1], *(en for _, en in pairs[1:])]) + "."
    )


def write_corpus(directory: Path, *, train: int = 120, valid: int = 12, gold: int = 12) -> Path:
    """The folders that CORPUS= expects."""
    chance = random.Random(1)
    text, golden = directory / "europarl-deen", directory / "deen-gold"
    text.mkdir(parents=True)
    golden.mkdir()
    for split, size in (("train", train), ("valid", valid)):
        pairs = [sentence(chance) for _ in range(size)]
        for position, language in enumerate(("de", "en")):
            lines = "".join(f"{number} {pair[position]}\n" for number, pair in enumerate(pairs))
            (text / f"{split}.{language}").write_text(lines, encoding="utf-8")
    pairs = [sentence(chance) for _ in range(gold)]
    words = [[side.replace(",", " ,").replace(".", " .").split() for side in pair] for pair in pairs]
    for position, language in enumerate(("de", "en")):
        (golden / f"test.{language}").write_text(
            "".join(" ".join(pair[position]) + "\n" for pair in words), encoding="utf-8"
        )
    (golden / "alignment.talp").write_text(
        "".join(" ".join(f"{n}-{n}" for n in range(1, len(de) + 1)) + "\n" for de, _ in words), encoding="utf-8"
    )
    return directory

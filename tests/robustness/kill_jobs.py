"""The jobs that :mod:`tests.robustness.kills` kills: verbs of ours, and steps of the recipes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.cli.tiny_pair import TinyPair, write_text
from tests.conftest import REPOSITORY

from .kills import Job, forked, spawned

Arguments = Callable[[Path, bool], Sequence[object]]
"""A folder to write to, and whether an earlier run was killed -> a command line of ours."""


def in_process(arguments: Arguments, window: int = 64) -> Callable[[Path, bool], int]:
    """A verb of ours in a forked process; windows are small, so that there are many moments between two."""
    from fairseq_normalign.align import bitext
    from fairseq_normalign.cli import main

    def start(folder: Path, again: bool) -> int:
        given = [*map(str, arguments(folder, again))]

        def run() -> int:
            bitext.WINDOW = window
            return main(given)

        return forked(run)

    return start


def without_speed(name: str, content: bytes) -> bytes:
    """A table without the pairs a second, which no two runs share."""
    found = json.loads(content)
    for row in [*found["layers"], *found["systems"]]:
        row.pop("pairs_per_second", None)
    return json.dumps(found).encode()


def verbs(models: TinyPair, text: Path, pairs: int) -> dict[str, tuple[Arguments, list[str]]]:
    """Verbs of ours by name, and what each of them writes."""
    write_text(text, pairs, "many")
    (text / "gold").write_text("0-0\n" * pairs)
    (text / "marked").write_text("".join(f"<b>w{n % 9}</b> w2 <i>w3</i> w1\n" for n in range(pairs)))
    (text / "plain").write_text("w1 w2 w3 w4\n" * pairs)
    given = [*models.arguments(text / "many.de", text / "many.en"), "--readings", "default"]
    alone = [*given[: given.index("--source")], "--cpu", "--readings", "default"]
    marked = ["--markup", "--source", text / "marked", "--target", text / "plain", "--path", models.path()]
    two = ["--reverse-path", models.path("en-de"), "--reverse-data", models.folder]

    def resumed(again: bool) -> list[str]:
        return ["--resume"] if again else []

    return {
        "align --resume": (
            lambda folder, again: [
                *("align", *given, "-o", folder / "links", "--scores", folder / "scores", *resumed(again))
            ],
            ["links", "scores"],
        ),
        "check --resume": (
            lambda folder, again: ["check", *given, *two, "-o", folder / "checked", *resumed(again)],
            ["checked"],
        ),
        "align --dump": (
            lambda folder, again: ["align", *given, "-o", folder / "links", "--dump", folder / "dump"],
            ["links", "dump"],
        ),
        "translate": (
            lambda folder, again: [
                *("translate", *alone, "--source", text / "many.de", "--beam", 2),
                *("-o", folder / "translated", "--links", folder / "links"),
            ],
            ["translated", "links"],
        ),
        "project": (
            lambda folder, again: [
                *("project", *marked, *alone[2:], "-o", folder / "projected", "--report", folder / "report"),
            ],
            ["projected", "report"],
        ),
        "compare": (
            lambda folder, again: [
                *("compare", *given[: given.index("--readings")], "--gold", text / "gold", "--style", "json"),
                *("--bootstrap", 20, "-o", folder / "table"),
            ],
            ["table"],
        ),
    }


def jobs(models: TinyPair, *, pairs: int = 1500, lines: int = 6000, slow: bool = False) -> dict[str, Job]:
    """The jobs by name; ``slow``: those too that need a start of Python for every run."""
    text = models.folder / "kills"
    text.mkdir(exist_ok=True)
    found = {
        name: Job(in_process(arguments), results, without_speed if name == "compare" else Job.tidy)
        for name, (arguments, results) in verbs(models, text, pairs).items()
    }
    found["recipe: tokenize"] = Job(tokenizing(text, lines), ["tokens"])
    found["recipe: clean"] = Job(cleaning(text, lines), ["clean.de", "clean.en"])
    if slow:
        cleaned = [f"work/clean/{name}" for name in ("train.de", "train.en", "valid.de", "valid.en", "complete")]
        found["recipe: steps 2 to 4"] = Job(steps(text), ["work/raw/complete", "work/tokenized/train.de", *cleaned])
    return found


def recipe_step(arguments: Callable[[Path], Sequence[object]]) -> Callable[[Path, bool], int]:
    sys.path.insert(0, str(REPOSITORY / "recipes" / "common"))
    from recipe_steps.__main__ import main

    return lambda folder, again: forked(lambda: main([*map(str, arguments(folder))]))


def tokenizing(text: Path, lines: int) -> Callable[[Path, bool], int]:
    (text / "raw").write_text("".join(f"Das ist, sagt er, der {n}. Satz (mit Zeichen).\n" for n in range(lines)))
    return recipe_step(lambda folder: ["tokenize", text / "raw", folder / "tokens", "--language", "de"])


def cleaning(text: Path, lines: int) -> Callable[[Path, bool], int]:
    for side in ("de", "en"):
        (text / f"pairs.{side}").write_text("".join(f"{side} satz {n} {'x ' * (n % 9)}\n" for n in range(8 * lines)))
    return recipe_step(lambda folder: ["clean", text / "pairs", folder / "clean"])


def steps(text: Path) -> Callable[[Path, bool], int]:
    """The numbered scripts, as a user runs them."""
    from tests.recipes.conftest import write_corpus

    corpus = text / "corpus"
    if not corpus.exists():
        write_corpus(corpus, train=4000)
    scripts = [REPOSITORY / "recipes" / "wmt16_de_en" / name for name in ("2_gather.sh", "3_tokenize.sh", "4_clean.sh")]
    command = " && ".join(f"bash '{script}'" for script in scripts)

    def start(folder: Path, again: bool) -> int:
        own = {"SETUP": "none", "CORPUS": str(corpus), "PRESET": "cpu", "JOBS": "1", "GPUS": "0"}
        return spawned(["bash", "-c", command], WORK=str(folder / "work"), **own)

    return start

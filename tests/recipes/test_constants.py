"""The constants of the decision: the step decides as the package does, tunes on one part and reports on the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fairseq_normalign import toy
from fairseq_normalign.links.decide import decide, normalized

from .test_curve import recipe_steps, toy_text

constants = pytest.importorskip("recipe_steps.constants")

MODELS = ["--models", *(str(toy.FOLDER / f"{name}.pt") for name in ("de-en", "en-de"))]


def rows(text: str) -> dict[tuple[str, str], list[float]]:
    lines = [line.split("\t") for line in text.splitlines()[4:]]
    return {(line[0], line[1]): [float(value) for value in line[2:]] for line in lines}


def test_default_and_tuned_constants_in_one_direction_and_in_both(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(constants, "GRID", {**constants.GRID, "times": (1, 3), "epsilon": (0.01, 0.1)})
    assert recipe_steps.main(["constants", *MODELS, *toy_text(tmp_path), "--try", "one:floor=0.3,times=3"]) == 0
    found = rows(capsys.readouterr().out)
    for which in ("one", "both"):
        tuned_on, rest = found[which, "default"]
        assert 0 < rest < 30
        assert min(one[0] for (name, _), one in found.items() if name == which) < tuned_on
    tuned_on, rest, difference, low, high, p_value = found["one", "times 3, floor 0.3"]
    assert difference == pytest.approx(rest - found["one", "default"][1], abs=0.11)
    assert low <= difference <= high
    assert 0 < p_value <= 1
    assert ("both", "times 3, floor 0.3") not in found


@pytest.mark.parametrize("both", [False, True])
def test_with_the_default_constants_links_are_those_of_the_package(both: bool) -> None:
    chance = np.random.default_rng(3)
    for _ in range(50):
        height, width = chance.integers(1, 9, 2)
        sides = [
            constants.ReadSide([normalized(chance.random(shape) ** 4) for _ in range(2)], (1.0, 0.5))
            for shape in ((height, width), (width, height))
        ]
        softs = [normalized((side.shares[0] + 0.01) * (side.shares[1] + 0.01) ** 0.5) for side in sides]
        found = constants.links_with(constants.Constants(), sides[0], sides[1] if both else None)
        if both:
            expected, _ = decide(softs[0], "agreed-grow-diag", backward=softs[1], floor=0.1)
        else:
            expected, _ = decide(softs[0], "grow-diag", floor=0.1)
        assert [link for link, agreed in found.items() if agreed > 0.1] == expected


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--try", "floor=high"], "'floor=high' is not NAME=VALUE"),
        (["--try", "three:floor=1"], "is not NAME=VALUE"),
        (["--tune-gold", "gold"], "belong together"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, capsys, more: list[str], message: str) -> None:
    assert recipe_steps.main(["constants", *MODELS, *toy_text(tmp_path), *more]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1

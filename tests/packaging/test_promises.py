"""What docs/versions.md promises: flags, Python names and files are those of the committed lists.

``python -m tests.packaging.test_promises`` prints the list of now. What is new is added to promised.txt; what is gone
needs another minor version, and a line in the CHANGELOG that says what to type now.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fairseq_normalign
from fairseq_normalign.analysis.check_lines import columns_of
from fairseq_normalign.analysis.choose_readings import read_choice
from fairseq_normalign.cli import VERBS, main, verb_parser
from fairseq_normalign.links.dump import Dump
from fairseq_normalign.version import __version__

PROMISED = Path(__file__).with_name("promised.txt")
WRITTEN = Path(__file__).with_name("written_by_0.2")
TASK = "translation_normalign"
MINOR = ".".join(__version__.split(".")[:2])


def surface() -> Iterator[str]:
    """One line per flag with its choices, per Python name or argument, per flag of fairseq, and per column or key."""
    for verb in VERBS:
        parsers = [(verb, verb_parser(verb))]
        for name, parser in parsers:
            for action in parser._actions:
                if isinstance(action, argparse._SubParsersAction):
                    parsers += [(f"{name} {inner}", one) for inner, one in action.choices.items()]
                elif action.dest not in ("help", argparse.SUPPRESS):
                    choices = "|".join(map(str, action.choices or ()))
                    yield f"normalign {name} {', '.join(action.option_strings) or action.dest} {choices}".rstrip()
    for name in fairseq_normalign.__all__:
        value = getattr(fairseq_normalign, name)
        members = vars(value).items() if inspect.isclass(value) and not issubclass(value, Exception) else ()
        for shown, member in [(name, value), *((f"{name}.{inner}", one) for inner, one in members if inner[0] != "_")]:
            called = inspect.isfunction(member) or (inspect.isclass(member) and dataclasses.is_dataclass(member))
            given = [one for one in inspect.signature(member).parameters if one != "self"] if called else []
            yield f"python {shown}"
            yield from (f"python {shown} {one}" for one in given)
    fairseq_normalign.register()
    for field in dataclasses.fields(importlib.import_module("fairseq.tasks").TASK_DATACLASS_REGISTRY[TASK]):
        if field.name.startswith("normalign_"):
            yield f"fairseq --{field.name.replace('_', '-')}"
    yield from (f"check column {name}" for name in columns_of(reverse=True, full=True))


def test_the_surface_is_what_was_promised():
    head, *promised = PROMISED.read_text(encoding="utf-8").splitlines()
    assert head == f"# {MINOR}"
    now = set(surface())
    gone, new = sorted(set(promised) - now), sorted(now - set(promised))
    assert not gone, "only another minor version may drop or rename these"
    assert not new, "add these to promised.txt"


def test_files_written_by_this_minor_version_are_read(capsys):
    dump = Dump(WRITTEN / "dump")
    assert [pair.source.words for pair in dump] == [("ab", "c")]
    np.testing.assert_allclose(dump[0].layers, np.arange(24).reshape(2, 3, 4) / 24, atol=1e-3)
    choice = read_choice(WRITTEN / "choice.json")
    assert str(choice) == "norms:1.2:awi,norms:3:awo^0.5"
    (line,) = (WRITTEN / "links.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["normalign"] == 1
    assert main(["convert", str(WRITTEN / "links.jsonl"), "--to", "pharaoh", "--possible", "keep"]) == 0
    assert capsys.readouterr().out == "0-0 1-0\n"


@pytest.mark.parametrize(("moved", "said"), [("--setting", "--step"), ("--format", "--json"), ("--layr", "--layer")])
def test_a_name_of_the_version_before_says_what_to_type_now(capsys, moved, said):
    assert main(["align", moved, "x"]) == 2
    assert said in capsys.readouterr().err


if __name__ == "__main__":
    print(f"# {MINOR}", *surface(), sep="\n")

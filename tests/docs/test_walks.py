"""CONTRIBUTING names files and functions; they are where it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.conftest import PACKAGE, REPOSITORY

TEXT = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
WALKS = TEXT.partition("## Three walks")[2].partition("\n## ")[0]


def names_of(path: Path) -> set[str]:
    """Functions, classes and methods (``Class.method``) of a file."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        for inner in getattr(node, "body", []) if isinstance(node, ast.ClassDef) else []:
            if isinstance(inner, ast.FunctionDef):
                found.add(f"{node.name}.{inner.name}")
    return found


def named() -> list[tuple[str, str]]:
    return re.findall(r"`([\w/]+\.py)`:\s+`([\w.]+)`", WALKS)


def test_the_walks_have_five_or_six_steps():
    parts = re.split(r"^\*\*.*\*\*$", WALKS, flags=re.MULTILINE)[1:]
    assert [len(re.findall(r"^\d\. ", part, re.MULTILINE)) for part in parts] == [6, 6, 6]


@pytest.mark.parametrize(("file", "name"), named())
def test_what_a_walk_names_is_there(file, name):
    assert name in names_of(PACKAGE / file)


def test_files_named_without_a_function_are_there():
    assert len(named()) > 20
    for file in re.findall(r"`([\w/]+\.py)`", WALKS):
        assert (PACKAGE / file).is_file()


def test_every_room_is_in_the_table():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    table = TEXT.partition("## The rooms")[2].partition("\n## ")[0]
    assert {f"`{room}/`" for room in rooms} <= set(re.findall(r"`[\w.]+/?`", table))

"""The examples in docstrings are run, and every public function of alignment/ has one."""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "fairseq_normalign"
ROOMS = ("links", "analysis", "methods", "show")
TOP = "fairseq_normalign.alignment"
NEEDS_A_FILE = {"evaluate", "check_agreement", "open_alignment", "in_step", "read_gold", "read_links"}
NEEDS_A_FILE |= {
    "read_marked",
    "write_links",
    "read_bitext",
    "read_word_pairs",
    "read_naacl",
    "read_rwth",
    "read_ids",
    "read_giza",
    "read_czenali",
    "parse_plainly",
}
NEEDS_A_PROGRAM = {"align"}
RAISES_ONLY = {"check_density"}


def modules(room: str) -> list[str]:
    paths = sorted((PACKAGE / room).rglob("*.py"))
    return [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in paths]


def with_examples(room: str) -> list[str]:
    paths = {name: PACKAGE.parent / (name.replace(".", "/") + ".py") for name in modules(room)}
    return [name for name, path in paths.items() if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", [TOP, *(name for room in ROOMS for name in with_examples(room))])
def test_examples(name):
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module)
    assert tried
    assert not failed


def public_functions(path: Path) -> list[ast.FunctionDef]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return [node for node in body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]


def test_every_public_function_of_alignment_has_an_example():
    excused = NEEDS_A_FILE | NEEDS_A_PROGRAM | RAISES_ONLY
    without = [
        f"{path.name}: {node.name}"
        for path in sorted((PACKAGE / "links").rglob("*.py"))
        for node in public_functions(path)
        if node.name not in excused and ">>>" not in (ast.get_docstring(node) or "")
    ]
    assert not without

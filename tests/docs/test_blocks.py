"""Every code block of the documentation runs on the toy's models, or says why not."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from fairseq_normalign import toy
from tests.conftest import PROGRAMS, REPOSITORY, run
from tests.docs.blocks import RUNNABLE, CodeBlock, blocks_of, indented_blocks, page_mark, pages

FORMULAS = {"concepts.md"}
"""Pages whose indented blocks are no code."""


def run_block(block: CodeBlock, folder: Path) -> tuple[str, Path]:
    """Run a block in a folder; return what it prints and the folder that it leads to."""
    if block.language == "python":
        result, where = run("python", "-c", block.text, cwd=folder), folder
    else:
        kept = folder.parent / "where"
        path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
        settings = {**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1"}
        command = ["bash", "-euc", f"{block.text}\npwd > '{kept}'"]
        result = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", env=settings, check=False)
        where = Path(kept.read_text().strip()) if result.returncode == 0 else folder
    assert result.returncode == 0, f"{block.text}\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}"
    return result.stdout, where


def to_run(page: Path) -> list[CodeBlock]:
    return [block for block in blocks_of(page.read_text(encoding="utf-8")) if block.mark in ("run", "output")]


@pytest.mark.parametrize("page", pages(REPOSITORY), ids=lambda page: page.name)
def test_every_block_says_whether_it_runs(page):
    text = page.read_text(encoding="utf-8")
    assert page.name in FORMULAS or not indented_blocks(text)
    if page_mark(text) is None:
        assert not [block.text for block in blocks_of(text) if block.language in RUNNABLE and not block.mark]


@pytest.mark.parametrize("page", pages(REPOSITORY), ids=lambda page: page.name)
def test_blocks_are_what_a_user_types(page):
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.mark != "output":
            assert not re.search(r"^(assert |test |\$ )", block.text, re.MULTILINE), block.text


@pytest.mark.parametrize("page", [page for page in pages(REPOSITORY) if to_run(page)], ids=lambda page: page.name)
def test_blocks_run(page, tmp_path):
    pytest.importorskip("fairseq", reason="the toy is a pair of fairseq checkpoints")
    folder = tmp_path / "folder"
    if page.name == "getting_started.md":
        folder.mkdir()
    else:
        toy.copy_to(folder)
    printed = ""  # the blocks of a page run as they are copied: one after the other, each where the last one led
    for block in to_run(page):
        if block.mark == "output":
            assert [line.rstrip() for line in printed.strip("\n").splitlines()] == block.text.rstrip().splitlines()
        else:
            printed, folder = run_block(block, folder)


def test_the_script_of_the_readme_is_short_and_aligns(tmp_path):
    pytest.importorskip("fairseq", reason="the toy is a pair of fairseq checkpoints")
    (block,) = [block for block in to_run(REPOSITORY / "README.md") if block.language == "python"]
    assert len([line for line in block.text.splitlines() if line.strip()]) <= 15
    toy.copy_to(tmp_path / "folder")
    printed, _ = run_block(block, tmp_path / "folder")
    first, *_ = printed.splitlines()
    name, aer, *_ = first.replace(",", "").split()
    assert name == "AER"
    assert float(aer) < 40
    assert (tmp_path / "folder" / "first.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "folder" / "links.txt").read_text().splitlines()) == 100

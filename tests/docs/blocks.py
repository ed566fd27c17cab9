"""The code blocks of a Markdown page, and what the comment above each says of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- (run|output|not run: (?:(?!-->).)+?) -->\s*\Z", re.DOTALL)
PAGE_MARK = re.compile(r"<!-- page not run: ((?:(?!-->).)+?) -->", re.DOTALL)
RUNNABLE = {"sh", "bash", "python", ""}


@dataclass(frozen=True)
class CodeBlock:
    """A block between fences; ``mark`` is 'run', 'output', 'not run: ...' or empty."""

    language: str
    text: str
    mark: str


def blocks_of(page: str) -> list[CodeBlock]:
    """Return the fenced blocks of a page in their order."""
    found = []
    for match in FENCE.finditer(page):
        mark = MARK.search(page[: match.start()])
        text = re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE)
        found.append(CodeBlock(match[2], text, mark[1] if mark else ""))
    return found


def indented_blocks(page: str) -> list[str]:
    """Return the blocks that are code by their indentation alone."""
    without_lists = re.sub(r"^(\d+\.|-) .*\n(?:\n?(?:   +.*)\n)*", "", FENCE.sub("", page), flags=re.MULTILINE)
    return re.findall(r"(?<=\n\n)(?: {4}\S.*\n)+", without_lists)


def page_mark(page: str) -> str | None:
    """Return why no block of the page runs, if it says so."""
    found = PAGE_MARK.search(page)
    return found[1] if found else None


def pages(repository: Path) -> list[Path]:
    """Return the README and every page of docs/."""
    return [repository / "README.md", *sorted((repository / "docs").glob("*.md"))]

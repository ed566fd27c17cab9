"""Imports point one way, and the numpy room starts in a blink."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "fairseq_normalign"
MAY_IMPORT = {
    "alignment": set(),
    "text": {"alignment"},
    "projection": {"alignment", "text"},
    "attribution": {"alignment"},
    "analysis": {"alignment", "attribution"},
    "report": {"alignment", "analysis"},
    "hosts": {"alignment", "attribution", "analysis", "text", "aligning", "tasks"},
    "aligning": {"alignment", "attribution", "analysis", "text", "hosts"},
    "models": {"alignment", "attribution", "analysis", "hosts"},
    "tasks": {"alignment", "attribution", "analysis", "text", "hosts", "aligning"},
    "toy": set(),
    "cli": {
        *("toy", "alignment", "attribution", "analysis", "report", "text", "projection"),
        *("hosts", "aligning", "models", "tasks"),
    },
}
FORBIDDEN = {
    "alignment": {"torch", "fairseq", "matplotlib"},
    "text": {"torch", "fairseq", "transformers", "matplotlib"},
    "projection": {"torch", "fairseq", "transformers", "matplotlib"},
    "attribution": {"fairseq", "matplotlib"},
    "analysis": {"fairseq", "matplotlib"},
    "report": {"torch", "fairseq"},
}
COMMON = {"errors", "files", "half_precision", "packed", "requirements", "version"}


def imported(path: Path) -> set[str]:
    """The modules a file imports, ours as 'fairseq_normalign.room...'."""
    found = set()
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    package = parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, [base, node.module or ""]))
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_rooms_import_only_what_stands_below_them(room):
    allowed = MAY_IMPORT[room] | {room} | COMMON
    for path in sorted((PACKAGE / room).rglob("*.py")):
        for name in imported(path):
            parts = name.split(".")
            assert parts[0] not in FORBIDDEN.get(room, set()), f"{path.name} imports {name}"
            if parts[0] == PACKAGE.name and len(parts) > 1 and (PACKAGE / parts[1]).exists():
                assert parts[1] in allowed, f"{path.name} in {room}/ imports {name}"


def modules_after(code: str) -> set[str]:
    script = f"import sys; {code}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert result.stderr == ""
    return set(result.stdout.split())


@pytest.mark.parametrize(
    "code", ["import fairseq_normalign", "import fairseq_normalign.alignment", "import fairseq_normalign.cli"]
)
def test_light_imports_load_neither_torch_nor_fairseq(code):
    assert not {"torch", "fairseq"} & modules_after(code)

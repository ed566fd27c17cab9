"""Imports point one way, and the numpy room starts in a blink."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "fairseq_normalign"
MAY_IMPORT = {
    "links": set(),
    "text": {"links"},
    "projection": {"links", "text"},
    "methods": {"links"},
    "analysis": {"links", "methods"},
    "show": {"links", "analysis"},
    "hosts": {"links", "methods", "analysis", "text"},
    "align": {"links", "methods", "analysis", "text", "hosts"},
    "models": {"links", "methods", "analysis", "hosts"},
    "tasks": {"links", "methods", "analysis", "text", "hosts", "align"},
    "toy": set(),
    "cli": {
        *("toy", "links", "methods", "analysis", "show", "text", "projection"),
        *("hosts", "align", "models", "tasks"),
    },
}
FORBIDDEN = {
    "links": {"torch", "fairseq", "matplotlib"},
    "text": {"torch", "fairseq", "transformers", "matplotlib"},
    "projection": {"torch", "fairseq", "transformers", "matplotlib"},
    "methods": {"fairseq", "matplotlib"},
    "analysis": {"fairseq", "matplotlib"},
    "show": {"torch", "fairseq"},
}
COMMON = {"alignment", "errors", "files", "jobs", "options", "requirements", "version"}


TOP = {"__init__", "__main__", "interface", *COMMON}
"""Modules that stand in no room: the public interface, and what every room may use."""
HOSTS_OF = {"fairseq": ("hosts/fairseq", "models", "tasks"), "transformers": ("hosts/transformers", "hosts/marian")}
"""The only places that import a toolkit."""
BY_STRING = {
    "__init__.py": "public names, loaded when they are used; registration",
    "requirements.py": "whether fairseq is there",
    "cli/__init__.py": "the verb that is asked for",
    "hosts/__init__.py": "the host that a path belongs to",
    "hosts/fairseq/__init__.py": "packages of statistics, when a function of theirs is called",
    "hosts/fairseq/patches.py": "the models and tasks that fairseq has to know, as its own --user-dir imports them",
    "hosts/transformers/loading.py": "whether torchaudio can be imported",
}
"""The only files that import by a string, and what for: a static look cannot see where these imports point."""


def test_every_module_is_in_a_room_or_known_here():
    found = {path.stem for path in PACKAGE.glob("*.py")}
    assert found <= TOP, f"modules without a room: {sorted(found - TOP)}"
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(MAY_IMPORT)


def test_imports_by_string_are_known():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if name in ("import_module", "__import__"):
                found.add(path.relative_to(PACKAGE).as_posix())
    assert found == set(BY_STRING)


@pytest.mark.parametrize("host", sorted(HOSTS_OF))
def test_only_its_own_folder_imports_a_host(host):
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(HOSTS_OF[host]):
            assert not [name for name in imported(path) if name.split(".")[0] == host], f"{place} imports {host}"


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
    "code", ["import fairseq_normalign", "import fairseq_normalign.links", "import fairseq_normalign.cli"]
)
def test_light_imports_load_neither_torch_nor_fairseq(code):
    assert not {"torch", "fairseq"} & modules_after(code)

"""The site builds without a broken link, and its made pages hold every verb and every public name."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import fairseq_normalign
from fairseq_normalign.cli import VERBS
from tests.conftest import REPOSITORY


def script(name: str):
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", REPOSITORY / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="the site needs mkdocs-material: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = ["bash", str(REPOSITORY / "docs" / "build.sh"), str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, env={**_environment(), "PYTHON": sys.executable})
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


class Links(HTMLParser):
    """The places that a page points to, and those that can be pointed to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.links += [found[name] for name in ("href", "src") if found.get(name)]
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}


def test_no_link_of_the_site_is_broken(site):
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 20
    broken = []
    for page, found in pages.items():
        for link in found.links:
            if re.match(r"[a-z]+:", link):
                continue
            file, _, place = unquote(link).partition("#")
            target = (page.parent / file).resolve() if file else page
            if not target.exists() or (place and target in pages and place not in pages[target].ids):
                broken.append((page.name, link))
    assert not broken


def test_the_site_asks_nothing_of_the_network(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img)[^>]+src=[\"']https?:", text)
        assert not re.findall(r"<link[^>]+rel=[\"']stylesheet[\"'][^>]+href=[\"']https?:", text)


def test_the_page_of_the_command_line_has_every_verb():
    page = script("reference").command_line()
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == list(VERBS)
    assert "--reverse-path" in page


def test_the_page_of_the_python_interface_has_every_name():
    page = script("reference").python_interface()
    headings = {line[3:] for line in page.splitlines() if line.startswith("## ")}
    assert headings == set(fairseq_normalign.__all__) - {"__version__"}
    assert "### AlignmentModel.align_many" in page
    assert "- **bpe_codes, sentencepiece_model**: What splits words into pieces" in page


def test_links_of_the_documents_lead_to_files():
    for page in (REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")):
        for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            assert link.startswith("https:") or (REPOSITORY / link).exists(), f"{page.name}: {link}"


def test_the_notebook_is_that_of_its_script():
    made = script("make_notebook").notebook((REPOSITORY / "docs" / "notebook.py").read_text(encoding="utf-8"))
    assert (REPOSITORY / "docs" / "notebook.ipynb").read_text(encoding="utf-8") == made
    cells = json.loads(made)["cells"]
    assert {cell["cell_type"] for cell in cells} == {"markdown", "code"}


def test_the_script_of_the_notebook_runs(tmp_path, monkeypatch):
    pytest.importorskip("fairseq", reason="the toy is a pair of fairseq checkpoints")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile((REPOSITORY / "docs" / "notebook.py").read_text(encoding="utf-8"), "notebook.py", "exec"), names)
    rows = dict(names["rows"])
    assert rows["two looks, both directions"] < rows["two looks"] < rows["weights, top layer, AWO"]
    assert "<svg" in names["alignment"]._repr_html_()
    assert (tmp_path / "worst.png").stat().st_size > 1000

"""The site builds without a broken link, and its made pages hold every verb and every public name."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import fairseq_normalign
from fairseq_normalign.cli import VERBS
from tests.conftest import PACKAGE, REPOSITORY


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
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHON": sys.executable})
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


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
    assert "- **bpe_codes**: Subword-nmt or fastBPE codes" in page
    assert "source_text: str = ''," in page
    assert not re.search(r"::$| = ,", page, re.MULTILINE)


def test_every_recipe_has_a_page_and_is_linked_where_it_is_named(site):
    for readme in REPOSITORY.glob("recipes/*/README.md"):
        assert (site / "recipes" / f"{readme.parent.name}.html").exists()
    assert 'href="recipes/wmt16_de_en.html"' in (site / "results.html").read_text(encoding="utf-8")


def test_links_between_pages_lead_somewhere():
    """As the pages are read in the repository; the site has a test of its own."""
    folders = (REPOSITORY, REPOSITORY / "docs", *REPOSITORY.glob("recipes/*"), *PACKAGE.glob("*"))
    broken = []
    for page in (page for folder in folders for page in folder.glob("*.md")):
        for link in re.findall(
            r"\]\(([^)\s]+)", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        ):
            file, _, place = link.partition("#")
            target = page.parent / file if file else page
            if re.match(r"[a-z]+:", link):
                continue
            if not target.exists() or (place and place not in places_in(target)):
                broken.append(f"{page.relative_to(REPOSITORY)}: {link}")
    assert not broken


def places_in(page: Path) -> set[str]:
    """Return the names of a page's headings in links."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_the_notebook_is_what_its_script_gives(tmp_path, monkeypatch):
    pytest.importorskip("fairseq", reason="the toy is a pair of fairseq checkpoints")
    monkeypatch.chdir(tmp_path)
    made = script("make_notebook").notebook((REPOSITORY / "docs" / "notebook.py").read_text(encoding="utf-8"))
    kept = json.loads((REPOSITORY / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))
    assert [cell["source"] for cell in kept["cells"]] == [cell["source"] for cell in made["cells"]]
    shown = [[output["output_type"] for output in cell.get("outputs", [])] for cell in made["cells"]]
    assert shown == [[output["output_type"] for output in cell.get("outputs", [])] for cell in kept["cells"]]
    pictures = [
        out["data"]["text/html"]
        for cell in kept["cells"]
        for out in cell.get("outputs", [])
        if "data" in out and "text/html" in out["data"]
    ]
    assert len(pictures) == 2
    assert all("<svg" in picture[0] for picture in pictures)
    rows = dict(
        ast.literal_eval(
            next(cell for cell in made["cells"] if cell["source"][-1] == "rows")["outputs"][0]["data"]["text/plain"][0]
        )
    )
    assert rows["two looks, both directions"] < rows["two looks"] < rows["weights, top layer, AWO"]
    assert (tmp_path / "worst.png").stat().st_size > 1000

"""Makes pages of the site from what exists elsewhere: the command line from argparse, the Python interface from
docstrings, the front page from the README, and a page of each recipe. mkdocs calls the functions named on_...
"""

from __future__ import annotations

import argparse
import inspect
import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

import fairseq_normalign  # noqa: E402
from fairseq_normalign.cli import VERBS, verb_parser  # noqa: E402

PAGES = {"README.md": "index.md"}
PAGES |= {name: name.lower() for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")}
PAGES |= {
    str(path.relative_to(REPOSITORY)): f"recipes/{path.parent.name}.md"
    for path in sorted(REPOSITORY.glob("recipes/*/README.md"))
}
"""Files of the repository -> pages of the site."""


def command_line() -> str:
    """Return the page of the verbs."""
    os.environ["COLUMNS"] = "88"
    parts = [
        "# The command line\n\n`normalign VERB --help` prints the same. A mistake is one line on standard error and "
        "exit code 2; results go to standard output or to `-o`."
    ]
    for verb in VERBS:
        shown, parsers = "", [verb_parser(verb)]
        for parser in parsers:
            shown += parser.format_help().rstrip() + "\n\n"
            for action in parser._actions:
                parsers += action.choices.values() if isinstance(action, argparse._SubParsersAction) else []
        parts.append(f"## {verb}\n\n{VERBS[verb][0].upper()}{VERBS[verb][1:]}.\n\n```text\n{shown.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def python_interface() -> str:
    """Return the page of the public names: signatures and docstrings, and those of the methods of classes."""
    parts = ["# The Python interface", markdown(fairseq_normalign.__doc__ or "")]
    named = [(name, getattr(fairseq_normalign, name), 2) for name in fairseq_normalign.__all__ if name[0] != "_"]
    for name, value, level in named:
        members = list(vars(value).items()) if inspect.isclass(value) and not issubclass(value, Exception) else []
        shown = name.rpartition(".")[2] + ("" if isinstance(value, property) else signature(value))
        doc = inspect.getdoc(value) or ""
        generated = doc.startswith(f"{name}(")  # a dataclass without a docstring
        parts.append(f"{'#' * level} {name}\n\n```python\n{shown}\n```\n\n{'' if generated else markdown(doc)}")
        place = named.index((name, value, level)) + 1
        named[place:place] = [
            (f"{name}.{inner}", member, level + 1)
            for inner, member in members
            if inner[0] != "_" and (inspect.isfunction(member) or isinstance(member, property))
        ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def signature(value: Any) -> str:
    """Return the arguments of a function or class as they are written, on one line where they fit."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    shown = []
    for part in found.parameters.values():
        if part.kind is part.KEYWORD_ONLY and not any(one.startswith("*") for one in shown):
            shown.append("*")
        kind = "" if part.annotation is part.empty else f": {annotation(part.annotation)}"
        sign = " = " if kind else "="
        default = (
            "" if part.default is part.empty else sign + re.sub(r"<factory>|<.* at 0x.*>", "...", repr(part.default))
        )
        star = {part.VAR_POSITIONAL: "*", part.VAR_KEYWORD: "**"}.get(part.kind, "")
        if part.name != "self":
            shown.append(f"{star}{part.name}{kind}{default}")
    gives = found.return_annotation
    gives = "" if gives is found.empty or inspect.isclass(value) else f" -> {annotation(gives)}"
    short = f"({', '.join(shown)}){gives}"
    return short if len(short) < 80 else "(\n    " + ",\n    ".join(shown) + f",\n){gives}"


def annotation(value: Any) -> str:
    return value if isinstance(value, str) else inspect.formatannotation(value)


def markdown(text: str) -> str:
    """Return a docstring as Markdown: examples, code after two colons, lists of arguments, references to names."""
    parts = []
    for part in re.split(r"\n{2,}", inspect.cleandoc(text)):
        if part.startswith(">>>"):
            parts.append(f"```pycon\n{part}\n```")
        elif part.startswith("    ") and parts and parts[-1].endswith("::"):
            parts[-1] = parts[-1][:-1]
            parts.append(f"```python\n{inspect.cleandoc(part)}\n```")
        else:
            part = re.sub(r":\w+:`~?\.*([^`]+)`", lambda name: f"`{name[1].rpartition('.')[2]}`", part)
            if part.startswith("Args:"):
                items = re.sub(r"\n {8}", " ", part.partition("\n")[2])
                part = re.sub(r"^ {4}([\w, ]+): ", r"- **\1**: ", items, flags=re.MULTILINE)
            parts.append(part.replace("``", "`") if not part.endswith("::") else part)
    return "\n\n".join(parts)


def linked(text: str, file: str, page: str) -> str:
    """Return a text of the repository's ``file`` with links that lead from the site's ``page``.

    A folder with a page is a link to it, also where it is only named (`recipes/demo`); links to files that have no page
    become plain text.
    """
    known = {**PAGES, **{posixpath.dirname(name): made for name, made in PAGES.items() if "/" in name}}

    def link(found: re.Match[str]) -> str:
        label, (target, _, place) = found[1], found[2].partition("#")
        if ":" in target or not target:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
        to = known.get(path) or (path[5:] if path.startswith("docs/") and (REPOSITORY / path).is_file() else None)
        if to is None:
            return label if label.startswith("`") else f"`{label}`"
        return f"[{label}]({posixpath.relpath(to, posixpath.dirname(page) or '.')}{'#' if place else ''}{place})"

    def named(found: re.Match[str]) -> str:
        to = known.get(found[1].removesuffix("/README.md"))
        return (
            f"[{found[0]}]({posixpath.relpath(to, posixpath.dirname(page) or '.')})" if to and to != page else found[0]
        )

    text = re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", link, text)
    text = re.sub(r"(!\[[^\]]*\]\()docs/", r"\1", text) if file == "README.md" else text
    return re.sub(r"(?<!\[)`(recipes/\w+(?:/README\.md)?)`(?!\])", named, text)


def pages() -> dict[str, str]:
    """Return every made page by its name."""
    made = {page: linked((REPOSITORY / file).read_text(encoding="utf-8"), file, page) for file, page in PAGES.items()}
    return {**made, "command_line.md": command_line(), "python.md": python_interface()}


def on_config(config: Any) -> Any:
    """Add the recipes to the navigation, before the reference."""
    config.nav.insert(-1, {"Recipes": [page for page in PAGES.values() if page.startswith("recipes/")]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to what mkdocs builds."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    """Link the recipes that a page of docs/ names."""
    name = page.file.src_uri
    return text if page.file.generated_by else linked(text, f"docs/{name}", name)

"""Makes pages from what exists elsewhere: the command line from argparse, the Python interface from docstrings, and the
front page from the README. mkdocs calls ``on_files``; ``python docs/reference.py FOLDER`` writes the pages as files.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

import fairseq_normalign  # noqa: E402
from fairseq_normalign.cli import VERBS, verb_parser  # noqa: E402

OTHERS = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
OTHERS |= {"SECURITY.md": "security.md"}
"""Files of the repository -> pages of the site."""
CLASSES = ("Alignment", "AlignmentModel", "Gold", "Score", "Dump")


def command_line() -> str:
    """Return the page of the verbs."""
    parts = [
        "# The command line",
        "",
        "`normalign VERB --help` prints the same. A mistake is one line on standard error",
    ]
    parts[-1] += " and exit code 2; results go to standard output or to `-o`."
    for verb in VERBS:
        os.environ["COLUMNS"] = "110"
        parser = verb_parser(verb)
        parts += ["", f"## {verb}", "", f"{VERBS[verb][0].upper()}{VERBS[verb][1:]}.", "", "```text"]
        parts += [*_with_subverbs(parser), "```"]
    return "\n".join(parts) + "\n"


def _with_subverbs(parser: argparse.ArgumentParser) -> list[str]:
    """The help of a parser, and of those below it."""
    lines = parser.format_help().rstrip().splitlines()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                lines += ["", *_with_subverbs(inner)]
    return lines


def python_interface() -> str:
    """Return the page of the public names."""
    parts = ["# The Python interface", "", "```text", inspect.cleandoc(fairseq_normalign.__doc__ or ""), "```"]
    for name in fairseq_normalign.__all__:
        if name != "__version__":
            parts += _entry(name, getattr(fairseq_normalign, name), 2)
    return "\n".join(parts) + "\n"


def _entry(name: str, value: Any, level: int) -> list[str]:
    shown = "" if isinstance(value, property) else _signature(value)
    parts = ["", f"{'#' * level} {name}", "", f"```python\n{name.rpartition('.')[2]}{shown}\n```", "", _text(value)]
    if name in CLASSES:
        for inner, member in vars(value).items():
            if not inner.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                parts += _entry(f"{name}.{inner}", member, level + 1)
    return parts


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    arguments = [str(part) for part in found.parameters.values() if part.name != "self"]
    gives = "" if found.return_annotation is inspect.Signature.empty else f" -> {found.return_annotation}"
    one_line = f"({', '.join(arguments)}){gives}".replace("'", "")
    return (
        one_line
        if len(one_line) < 90
        else "(\n    " + ",\n    ".join(_starred(found)).replace("'", "") + f",\n){gives}"
    )


def _starred(found: inspect.Signature) -> list[str]:
    """The arguments, with the star before the first that has to be named."""
    shown: list[str] = []
    for part in found.parameters.values():
        if part.kind is part.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        if part.name != "self":
            shown.append(str(part))
    return shown


def _text(value: Any) -> str:
    """A docstring as Markdown: examples and lists of arguments are recognised by their first line."""
    text = inspect.getdoc(value) or ""
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n{2,}", text))


def _paragraph(text: str) -> str:
    if text.startswith(">>>"):
        return f"```pycon\n{text}\n```"
    text = re.sub(r":\w+:`~?\.*([^`]+)`", lambda found: f"`{found[1].rpartition('.')[2]}`", text).replace("``", "`")
    if not text.startswith("Args:"):
        return text
    items = re.sub(r"\n {8}", " ", text.partition("\n")[2])
    return re.sub(r"^ {4}([\w, ]+): ", r"- **\1**: ", items, flags=re.MULTILINE)


def from_repository(name: str) -> str:
    """Return a file of the repository as a page: links to docs/ become relative, those to folders plain text."""
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/", "](", text)
    for file, page in OTHERS.items():
        text = text.replace(f"]({file})", f"]({page})")
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]*(?<!\.md)(?<!\.png)(?<!\.ipynb)\)", r"`\1`", text)


def pages() -> dict[str, str]:
    """Return every made page by its name."""
    made = {page: from_repository(file) for file, page in OTHERS.items()}
    return {**made, "command_line.md": command_line(), "python.md": python_interface()}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to what mkdocs builds."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


if __name__ == "__main__":
    for page, content in pages().items():
        (Path(sys.argv[1]) / page).write_text(content, encoding="utf-8")

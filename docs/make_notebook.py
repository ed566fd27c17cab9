"""Runs docs/notebook.py cell by cell and writes docs/notebook.ipynb with what it prints and shows.

python docs/make_notebook.py
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import tempfile
import warnings
from pathlib import Path

SCRIPT = Path(__file__).with_name("notebook.py")


def notebook(script: str) -> dict:
    """Return the notebook of a script whose cells start with ``# %%``, or ``# %% [markdown]``; its code is run here."""
    parts = re.split(r"^# %%( \[markdown\])?\n", script, flags=re.MULTILINE)[1:]
    cells: list[dict] = []
    names: dict[str, object] = {}
    count = 0
    for number, (kind, text) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        text = text.strip("\n") if not kind else re.sub(r"^# ?", "", text.strip("\n"), flags=re.MULTILINE)
        shared = {"id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        if kind:
            cells.append({"cell_type": "markdown", **shared})
        else:
            count += 1
            cells.append({"cell_type": "code", **shared, "execution_count": count, "outputs": run(text, names, count)})
    return {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}


def run(code: str, names: dict[str, object], count: int) -> list[dict]:
    """Run a cell; return what it prints, and its last line if that is an expression."""
    body = ast.parse(code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        data = {"text/plain": [value.draw() if hasattr(value, "draw") else repr(value)]}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = [value._repr_html_()]
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return outputs


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=UserWarning, module="torch")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        made = notebook(SCRIPT.read_text(encoding="utf-8"))
    text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    SCRIPT.with_suffix(".ipynb").write_text(text, encoding="utf-8")

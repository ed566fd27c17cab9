"""Makes docs/notebook.ipynb of docs/notebook.py, cell by cell: ``python docs/make_notebook.py``."""

from __future__ import annotations

import json
import re
from pathlib import Path

SCRIPT = Path(__file__).with_name("notebook.py")


def notebook(script: str) -> str:
    """Return the notebook of a script whose cells start with ``# %%``, or ``# %% [markdown]``."""
    parts = re.split(r"^# %%( \[markdown\])?\n", script, flags=re.MULTILINE)[1:]
    kinds = zip(parts[::2], parts[1::2], strict=True)
    cells = [cell(number, bool(kind), text) for number, (kind, text) in enumerate(kinds)]
    metadata = {"language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def cell(number: int, is_text: bool, content: str) -> dict[str, object]:
    content = content.strip("\n")
    if is_text:
        content = re.sub(r"^# ?", "", content, flags=re.MULTILINE)
    shared = {"id": f"cell-{number}", "metadata": {}, "source": content.splitlines(keepends=True)}
    return {"cell_type": "markdown", **shared} if is_text else {
        "cell_type": "code", "execution_count": None, "outputs": [], **shared
    }  # fmt: skip


if __name__ == "__main__":
    SCRIPT.with_suffix(".ipynb").write_text(notebook(SCRIPT.read_text(encoding="utf-8")), encoding="utf-8")

"""The frame of a report's index: head, policy and style of a page that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import html

from .page import asset


def opening(title: str) -> str:
    """Return everything up to the title, which is escaped here; only the style inside may be used."""
    style = asset("report.css")
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    shown = html.escape(title)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>{shown}</title><style>{style}</style></head><body><main>
<h1>{shown}</h1>"""


def closing(signature: str) -> str:
    """Return the end, with a line that says how the figures were made."""
    return f"<footer>{html.escape(signature)}</footer></main></body></html>\n"

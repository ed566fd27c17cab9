"""The flags for reading alignment files, and the names of them in messages. Not a verb."""

from __future__ import annotations

import argparse
from typing import TypedDict

from ..links.formats import FORMATS, OptionNames


def add_format_arguments(group: argparse._ArgumentGroup, side: str) -> None:
    """How one alignment file is read: ``--gold-format``, ``--gold-base`` and ``--reverse-gold`` for the side 'gold'."""
    group.add_argument(f"--{side}-format", choices=("auto", *FORMATS), default="auto", help="(auto)")
    group.add_argument(f"--{side}-base", type=int, choices=(0, 1), help="what the first word is counted as")
    group.add_argument(
        f"--reverse-{side}", action=argparse.BooleanOptionalAction, help="whether links have the target word first"
    )


class FormatOptions(TypedDict):
    """How an alignment file is read; None: as the file itself tells."""

    format: str
    base: int | None
    reverse: bool | None


class TextFiles(TypedDict, total=False):
    """The texts that an alignment file belongs to."""

    source: str
    target: str


def format_options(args: argparse.Namespace, side: str) -> FormatOptions:
    """Return what the flags of :func:`add_format_arguments` say, for the readers of alignment files."""
    return {
        "format": getattr(args, f"{side}_format"),
        "base": getattr(args, f"{side}_base"),
        "reverse": getattr(args, f"reverse_{side}"),
    }


def reading_options(side: str, *, allow_missing: bool = False, no_reverse: bool = False) -> OptionNames:
    """The flags for reading one alignment file: ``--gold-format``, ``--gold-base``, ``--reverse-gold`` and so on."""
    reverse = f"--[no-]reverse-{side}" if no_reverse else f"--reverse-{side}"
    return OptionNames(f"--{side}-format", f"--{side}-base", reverse, "--allow-missing" if allow_missing else "")


GOLD_OPTIONS = reading_options("gold")
LINK_OPTIONS = reading_options("links")
CONVERT_OPTIONS = OptionNames(
    "normalign convert --from", "normalign convert --from-base", "normalign convert --reverse-input", ""
)
"""For files that a command reads without options of their own: they can be converted first."""

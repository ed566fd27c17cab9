"""The flags that messages of the alignment readers name. Not a verb."""

from __future__ import annotations

from ..alignment.formats import OptionNames


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

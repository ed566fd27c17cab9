"""The arguments that project and lexicon share: a text, how its words are found, and how a file of links is read. Not a
verb.
"""

from __future__ import annotations

import argparse

from ..text.words import WORD_KINDS
from .option_names import add_format_arguments


def add_sides(group: argparse._ArgumentGroup, target: str = "target lines") -> None:
    """Both sides, as two files or as one."""
    group.add_argument("--source", metavar="FILE", help="source lines ('-': standard input)")
    group.add_argument("--target", metavar="FILE", help=target)
    group.add_argument("--bitext", metavar="FILE", help="both, with ' ||| ' or a tab between, instead")


def add_words_and_links(group: argparse._ArgumentGroup) -> None:
    """How words are found, and what the file of links does not say of itself."""
    add_format_arguments(group, "links")
    group.add_argument("--words", choices=WORD_KINDS, default="spaces", help="how words are found (spaces)")
    group.add_argument("--source-language", default="en", help="for --words moses (en)")
    group.add_argument("--target-language", default="en", help="for --words moses (en)")

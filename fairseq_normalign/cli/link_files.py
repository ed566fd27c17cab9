"""Options for reading alignment files, and the names of them in messages. Not a verb."""

from __future__ import annotations

from typing import Any, ClassVar, TypedDict

from ..links.formats import FORMATS, OptionNames
from ..options import READS, option, options
from ..text.words import WORD_KINDS
from .shared import BitextOptions


def _format() -> Any:
    return option(default="auto", help="how the file is written", choices=("auto", *FORMATS))


def _base() -> Any:
    return option(default=None, help="what the first word is counted as", choices=(0, 1), parse=int)


def _turned() -> Any:
    return option(default=None, help="whether links have the target word first", parse=bool)


@options
class GoldFormat:
    """How gold is read where the file does not show it."""

    GROUP: ClassVar = "gold"
    gold_format: str = _format()
    gold_base: int | None = _base()
    reverse_gold: bool | None = _turned()


@options
class LinksFormat:
    """How ``--links`` is read where the file does not show it."""

    GROUP: ClassVar = "links"
    links_format: str = _format()
    links_base: int | None = _base()
    reverse_links: bool | None = _turned()


@options
class HypFormat:
    """How the alignments to score are read where the files do not show it."""

    GROUP: ClassVar = "reading"
    hyp_format: str = _format()
    hyp_base: int | None = _base()
    reverse_hyp: bool | None = _turned()


@options
class FirstFormat:
    """How the first of two alignment files is read."""

    GROUP: ClassVar = "reading"
    first_format: str = _format()
    first_base: int | None = _base()
    reverse_first: bool | None = _turned()


@options
class SecondFormat:
    """How the second of two alignment files is read."""

    GROUP: ClassVar = "reading"
    second_format: str = _format()
    second_base: int | None = _base()
    reverse_second: bool | None = _turned()


@options
class LengthOptions:
    """The texts, by which the ranges of links are checked."""

    GROUP: ClassVar = "reading"
    source: str | None = option(
        default=None, help="source sentences, words separated by spaces: checks ranges", metavar="FILE", role=READS
    )
    target: str | None = option(default=None, help="target sentences", metavar="FILE", role=READS)


@options
class LogOptions:
    """How the log of fairseq-generate is read."""

    GROUP: ClassVar = "reading"
    nth: int = option(default=1, help="which hypothesis of an n-best fairseq log; 1 is the best", parse=int)
    allow_missing: bool = option(default=False, help="sentences missing in a fairseq log are empty")


@options
class LinkedText(LinksFormat, BitextOptions):
    """A text in two files or one, its links, and how its words are found."""

    GROUP: ClassVar = "text"
    source_language: str | None = option(default=None, help="for --words moses (en)")
    target_language: str | None = option(default=None, help="for --words moses (en)")


def word_kind(default: str | None = "spaces") -> Any:
    """Return the option for the words of a text without a model."""
    return option(default=default, help="how words are found", choices=WORD_KINDS, group="text")


class FormatOptions(TypedDict):
    """How an alignment file is read; None: as the file itself tells."""

    format: str
    base: int | None
    reverse: bool | None


class TextFiles(TypedDict, total=False):
    """The texts that an alignment file belongs to."""

    source: str
    target: str


def format_options(args: object, side: str) -> FormatOptions:
    """Return what the options of a side ('gold', 'links' and so on) say, for the readers of alignment files."""
    return {
        "format": getattr(args, f"{side}_format"),
        "base": getattr(args, f"{side}_base"),
        "reverse": getattr(args, f"reverse_{side}"),
    }


def reading_options(side: str, *, allow_missing: bool = False, no_reverse: bool = False) -> OptionNames:
    """Return the flags for reading one alignment file: ``--gold-format``, ``--gold-base``, ``--reverse-gold`` etc."""
    reverse = f"--[no-]reverse-{side}" if no_reverse else f"--reverse-{side}"
    return OptionNames(f"--{side}-format", f"--{side}-base", reverse, "--allow-missing" if allow_missing else "")


GOLD_OPTIONS = reading_options("gold")
LINK_OPTIONS = reading_options("links")
CONVERT_OPTIONS = OptionNames(
    "normalign convert --from", "normalign convert --from-base", "normalign convert --reverse-input", ""
)
"""For files that a command reads without options of their own: they can be converted first."""

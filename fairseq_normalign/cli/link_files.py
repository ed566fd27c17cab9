"""Options for reading alignment files and the text that they belong to. Not a verb."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypedDict, TypeVar

from ..links.formats import FORMATS, OptionNames
from ..options import READS, option, optional, options, switch, written
from ..text.words import WORD_KINDS
from .bitext import BitextOptions

C = TypeVar("C", bound=type)


def alignment_files(*sides: str, group: str = "reading") -> Callable[[C], C]:
    """Add options that say how the alignments of these sides are read where the file does not show it.

    Of the side "gold" they are ``--gold-format``, ``--gold-base`` and ``--[no-]reverse-gold``.
    """

    def decorate(cls: C) -> C:
        for side in sides:
            for name, kind, declared in (
                (f"{side}_format", "str", option("how the file is written", default="auto", choices=("auto", *FORMATS),
                                                 group=group)),
                (f"{side}_base", "int", optional("what the first word is counted as", choices=(0, 1), group=group)),
                (f"reverse_{side}", "bool", optional("whether links have the target word first", group=group)),
            ):  # fmt: skip
                cls.__annotations__[name] = kind
                setattr(cls, name, declared)
        return cls

    return decorate


class Reading(TypedDict):
    """How an alignment file is read; None: as the file itself tells."""

    format: str
    base: int | None
    reverse: bool | None
    options: OptionNames


def reading_of(args: object, side: str) -> Reading:
    """Return what the options of a side say, for the readers of alignment files."""
    missing = "--allow-missing" if hasattr(args, "allow_missing") else ""
    return {
        "format": getattr(args, f"{side}_format"),
        "base": getattr(args, f"{side}_base"),
        "reverse": getattr(args, f"reverse_{side}"),
        "options": OptionNames(f"--{side}-format", f"--{side}-base", f"--[no-]reverse-{side}", missing),
    }


CONVERT_OPTIONS = OptionNames(
    "normalign convert --from", "normalign convert --from-base", "normalign convert --reverse-input", ""
)
"""For files that a command reads without options of their own: they can be converted first."""


class TextFiles(TypedDict, total=False):
    """The texts that an alignment file belongs to."""

    source: str
    target: str


@options
class LengthOptions:
    """The texts, by which the ranges of links are checked."""

    GROUP: ClassVar = "reading"
    source: str | None = optional("source sentences, words separated by spaces: checks ranges", role=READS)
    target: str | None = optional("target sentences", role=READS)


@options
class LogOptions:
    """How the log of fairseq-generate is read."""

    GROUP: ClassVar = "reading"
    nth: int = option("which hypothesis of an n-best fairseq log; 1 is the best", default=1, least=1)
    allow_missing: bool = switch("sentences missing in a fairseq log are empty")


@options
@alignment_files("links", group="links")
class LinkedText(BitextOptions):
    """A text in two files or one, its links, and how its words are found."""

    GROUP: ClassVar = "text"
    source_lang: Any = optional(
        "source language (that of the model, or en)", flags=["--source-language", "--source-lang"], metavar="L"
    )
    target_lang: Any = optional("target language", flags=["--target-language", "--target-lang"], metavar="L")


def word_kind(default: str | None = "spaces") -> Any:
    """Return the option for the words of a text without a model."""
    return option("how words are found", default=default, choices=WORD_KINDS, group="text")


def layouts(choices: Sequence[str], help: str = "how results are laid out") -> Any:
    """Return the option for the layout of results; JSON is asked for by ``--json`` in every verb."""
    return option(help, default="table", choices=[one for one in choices if one != "json"], group="writing")


def written_base() -> Any:
    """Return the option for the number that the first word is written as."""
    return optional("what the first word is written as (the format's own)", choices=(0, 1), group="writing")


def drawing(help: str, **others: Any) -> Any:
    """Return the option for a figure that is drawn beside the results."""
    from ..show.figures import figure_format

    def parse(path: str) -> str:
        if path:
            figure_format(path)
        return path

    return written(f"{help} (.png, .svg, .pdf)", parse=parse, **others)

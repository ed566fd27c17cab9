"""Alignment files of ten formats, read block by block."""

from .blocks import Block, Lengths
from .files import (
    FORMATS,
    PYTHON_OPTIONS,
    WRITERS,
    AlignmentFile,
    OptionNames,
    Writer,
    in_step,
    open_alignment,
    pharaoh,
)
from .json_lines import AlignedPair, JsonLines, from_json, to_json

__all__ = [
    "FORMATS",
    "PYTHON_OPTIONS",
    "WRITERS",
    "AlignedPair",
    "AlignmentFile",
    "Block",
    "JsonLines",
    "Lengths",
    "OptionNames",
    "Writer",
    "from_json",
    "in_step",
    "open_alignment",
    "pharaoh",
    "to_json",
]

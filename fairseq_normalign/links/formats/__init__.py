"""Alignment files of ten formats, read block by block."""

from .blocks import Block, Lengths
from .files import PYTHON_OPTIONS, AlignmentFile, OptionNames, Writer, in_step, open_alignment
from .json_lines import AlignedPair, from_json, to_json
from .readers import FORMATS, WRITERS, JsonLines, pharaoh

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

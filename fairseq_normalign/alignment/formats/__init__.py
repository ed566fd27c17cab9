"""Alignment files: Pharaoh, talp, NAACL, RWTH, JSON lines and fairseq-generate's log, read block by block."""

from .blocks import Block, Lengths
from .json_lines import AlignedPair, JsonLines, from_json, to_json
from .open import FORMATS, AlignmentFile, OptionNames, open_alignment
from .together import in_step
from .writing import WRITERS, Writer, pharaoh

__all__ = [
    "FORMATS",
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

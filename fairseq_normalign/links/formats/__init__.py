"""Alignment files: Pharaoh, talp, NAACL, RWTH, JSON lines and fairseq-generate's log, read block by block."""

from .blocks import Block, Lengths
from .json_lines import AlignedPair, JsonLines, from_json, to_json
from .open import FORMATS, AlignmentFile, open_alignment
from .option_names import PYTHON_OPTIONS, OptionNames
from .together import in_step
from .writing import WRITERS, Writer, pharaoh

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

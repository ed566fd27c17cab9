"""Alignment files: Pharaoh, talp, NAACL, RWTH and fairseq-generate's log, read and written block by block."""

from .blocks import Block, Lengths
from .open import FORMATS, AlignmentFile, open_alignment
from .option_names import PYTHON_OPTIONS, OptionNames
from .together import in_step
from .writing import WRITERS, Writer, pharaoh

__all__ = [
    "FORMATS",
    "PYTHON_OPTIONS",
    "WRITERS",
    "AlignmentFile",
    "Block",
    "Lengths",
    "OptionNames",
    "Writer",
    "in_step",
    "open_alignment",
    "pharaoh",
]

"""Alignment files: Pharaoh, talp, NAACL, RWTH and fairseq-generate's log, read and written block by block."""

from .blocks import Block, Lengths
from .open import FORMATS, AlignmentFile, OptionNames, open_alignment
from .together import in_step
from .writing import WRITERS, Writer, pharaoh

__all__ = [
    "FORMATS",
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

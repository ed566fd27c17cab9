"""Word alignments from fairseq Transformers, by the lengths of the vectors they add."""

from .version import __version__

__all__ = ["__version__"]

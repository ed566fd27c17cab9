"""The version, in a file of its own so that reading it loads nothing."""

__version__ = "0.2.0"

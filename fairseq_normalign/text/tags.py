"""Language tags, which stand in front of a sentence and are no words."""

from __future__ import annotations

TAGS = r"__\w+__|<2\w+>|>>\w+<<|\[\w\w_\w\w\]|<lang:\w+>"
"""Language tags as they are commonly written; they count as tags only in front of a sentence."""

"""``--task translation_normalign`` and the multilingual tasks: fairseq's own, with alignments that can be trusted.

They take any encoder-decoder Transformer as it is. Beside alignments they repair what would lose or shift sentences.
"""

from ..hosts.fairseq.patches import apply_patches
from .with_alignments import add_alignments

apply_patches()  # fairseq imports this file when it imports the user-dir

TRANSLATION_TASKS = (
    "translation",
    "translation_multi_simple_epoch",
    "multilingual_translation",
    "translation_from_pretrained_bart",
)
"""Each is there as ``{name}_normalign``."""

for name in TRANSLATION_TASKS:
    add_alignments(name)

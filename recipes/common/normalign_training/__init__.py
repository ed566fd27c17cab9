"""A user-dir of fairseq's with what only the recipes' trainings need: three criteria and gates on heads.

``--user-dir recipes/common/normalign_training`` loads it and fairseq_normalign, whose tasks and models it needs.
"""

import fairseq_normalign

fairseq_normalign.register()

from . import chunked_cross_entropy, gated_heads, guided_alignment  # noqa: E402, F401  (each registers itself)

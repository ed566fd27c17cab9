"""fairseq's ``--user-dir`` of this recipe: all of fairseq_normalign, and the criterion that teaches alignments."""

from fairseq_normalign.hosts.fairseq.register import register

register()

from . import criterion  # noqa: E402, F401

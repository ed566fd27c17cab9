"""``python -m fairseq_normalign.cli``: the same as the command ``normalign``."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())

"""``python -m fairseq_normalign``: the same as the command ``normalign``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())

"""Print the path to pass to fairseq's --user-dir."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ..options import options


@options
class Options:
    """There are none."""

    EXAMPLE: ClassVar = "fairseq-generate data --user-dir $(normalign user-dir) --path model.pt ..."


def run(args: Options) -> None:
    print(Path(__file__).resolve().parent.parent)

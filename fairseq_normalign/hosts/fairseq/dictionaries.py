"""fairseq's dictionaries, read so that an error names the damaged line."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from ...analysis.attention_batch import Inventory
from ...errors import NormalignError
from ...files import read_lines
from ...text.vocabulary import TAGS

OVERWRITE = "#fairseq:overwrite"
_ENTRY = re.compile(rf"(?P<symbol>.+) (?P<count>[0-9]{{1,18}})(?P<overwrite> {OVERWRITE})?")


def load_dictionary(path: str | Path) -> Any:
    """Return the dictionary at ``path``, a file with one line ``symbol count`` per entry.

    Lines end at ``\\n`` alone; a byte-order mark and Windows line ends are no part of a symbol.
    """
    from fairseq.data import Dictionary

    dictionary = Dictionary()
    seen = set(dictionary.symbols)
    lines = []
    for number, line in enumerate(read_lines(path), start=1):
        entry = _ENTRY.fullmatch(line.rstrip(" "))
        if entry is None or "\r" in line:
            raise NormalignError.at(path, number, f"'{line[:60]}' is not a symbol and its count")
        if entry["symbol"] in seen and not entry["overwrite"]:
            raise NormalignError.at(path, number, f"the symbol '{entry['symbol'][:60]}' is there twice")
        seen.add(entry["symbol"])
        lines.append(f"{line.rstrip(' ')}\n")
    dictionary.add_from_file(io.StringIO("".join(lines), newline="\n"))
    return dictionary


def dictionary_inventory(dictionary: Any, tags: str = TAGS) -> Inventory:
    """The pieces of a fairseq dictionary; language tags and ``<mask>`` are special, unknown words are not."""
    symbols = list(dictionary.symbols)
    special = {dictionary.bos(), dictionary.eos(), dictionary.pad()}
    is_tag = re.compile(rf"{tags}|<mask>").fullmatch
    special |= {number for number, symbol in enumerate(symbols) if is_tag(symbol)}
    return Inventory(symbols, frozenset(special), np.array(dictionary.count))

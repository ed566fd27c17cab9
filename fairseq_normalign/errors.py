"""Errors caused by user input, and how messages and values are shown."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def one_line(message: object) -> str:
    r"""The message as it may be shown: what it quotes from a file can neither break the line nor steer the terminal.

    Control letters, BiDi controls and letters without width are escaped.

    >>> one_line("a\tb\u202ec")
    'a\\tb\\u202ec'
    """
    shown = (
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in str(message)
    )
    return "".join(shown)


def note(message: object) -> None:
    """Print a message on standard error, in one line."""
    print(one_line(message), file=sys.stderr)


def json_text(value: object, indent: int | None = None) -> str:
    """Return JSON in which control letters and the like are escaped, so that it can be shown in a terminal.

    >>> json_text(["ä", chr(0x202e)])
    '["ä", "\\\\u202e"]'
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return re.sub("[^ -~\n]", lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)


def reason_of(error: OSError) -> str:
    """Return what an operating-system error says, in lower case, to follow the name of a file.

    >>> reason_of(FileNotFoundError(2, "No such file or directory", "a.txt"))
    'no such file or directory'
    """
    return (error.strerror or str(error)).lower()


class NormalignError(Exception):
    """A mistake in what the user gave: shown as one line, exit code 2, never a traceback.

    ``option``: the option that corrects it, by its name in Python; the command line names its flag.
    """

    def __init__(self, message: str = "", *, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option

    @classmethod
    def at(cls, path: str | Path, line: int | None, message: str) -> NormalignError:
        """An error that names its place: ``file:line: message`` (``line`` is 1-based)."""
        place = f"{path}:{line}" if line is not None else str(path)
        return cls(f"{place}: {message}")


def json_field(
    record: Mapping[str, Any],
    name: str,
    kind: type | tuple[type, ...],
    allowed: str,
    fits: Callable[[Any], bool] = lambda value: True,
) -> Any:
    """Return a value of a JSON object that somebody wrote; one of another kind, or that does not fit, is an error.

    >>> json_field({"layer": 2}, "layer", int, "a whole number from 1 on", lambda number: number >= 1)
    2
    """
    value = record.get(name)
    if (isinstance(value, bool) and kind is not bool) or not isinstance(value, kind) or not fits(value):
        raise NormalignError(f"'{name}' has to be {allowed}, not {str(value)[:40]!a}")
    return value


class MissingExtra(NormalignError):
    """An optional package is needed here and is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package '{package}': pip install 'fairseq-normalign[{extra}]'")

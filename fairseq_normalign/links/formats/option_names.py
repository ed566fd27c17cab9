"""How messages name the options of readers and writers: Python arguments, or the flags of a command."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OptionNames:
    """Names for messages that ask for an option. A command passes its flags; the defaults are Python arguments."""

    format: str = "format"
    base: str = "base"
    reverse: str = "reverse"
    allow_missing: str = "allow_missing=True"
    """Empty: there is no such option to name."""

    @property
    def missing_hint(self) -> str:
        """What to do about missing sentences, for the end of a message."""
        return f"{self.allow_missing} takes them as empty" if self.allow_missing else ""


PYTHON_OPTIONS = OptionNames()


def with_value(option: str, value: object) -> str:
    """Write an option with its value, as it is typed.

    >>> with_value("base", 1), with_value("--base", 1)
    ('base=1', '--base 1')
    """
    return f"{option} {value}" if option.startswith("-") else f"{option}={value}"

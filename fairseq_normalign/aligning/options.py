"""How alignments are to be read: one set of options for fairseq's task, our commands and the Python interface."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..alignment.decide import NULL_POLICIES
from ..alignment.readings import Reading
from ..alignment.steps_to_words import SETTINGS
from ..attribution import get_method, method_class
from ..errors import NormalignError
from ..text.tags import TAGS

DEFAULT_SETTING = "default"
"""The setting that suits the method: the one its class names."""


@dataclass(frozen=True)
class AlignmentOptions:
    """Method, layer, head and setting, all as a person types them: layer and head count from 1."""

    method: str = "norms"
    layer: int | None = None
    """1-based; None: the bottom third of the decoder (2 of 6, 1 of 3), or its top if the method is read there."""
    head: int | None = None
    """1-based; None: all heads together."""
    setting: str = DEFAULT_SETTING
    """awi or awo; the default becomes the method's own."""
    null: str = "best"
    tags: str = TAGS
    check: bool = False
    """Verify on every batch that what is read adds up to what the model computed; costs a second pass."""

    def __post_init__(self) -> None:
        self._settle_method()
        _choose("null policy", self.null, NULL_POLICIES)
        try:
            re.compile(self.tags)
        except re.error as error:
            raise NormalignError(f"the pattern for language tags '{self.tags}' is not valid: {error}") from None

    def _settle_method(self) -> None:
        get_method(self.method)
        method = method_class(self.method)
        if self.setting == DEFAULT_SETTING:
            object.__setattr__(self, "setting", method.default_setting)
        _choose("setting", self.setting, SETTINGS)
        if self.setting not in method.settings:
            raise NormalignError(
                f"the method '{method.name}' explains the word that a step puts out: "
                f"the setting is {' or '.join(method.settings)}, not {self.setting}"
            )
        if self.layer is not None and not method.layerwise:
            raise NormalignError(
                f"the method '{method.name}' looks at the whole model: it has no layers to choose from"
            )
        if self.head is not None and not method.has_heads:
            raise NormalignError(f"the method '{method.name}' has no single heads to read")

    def layer_of(self, count: int) -> int:
        """Return the 0-based layer to read of a decoder with ``count`` layers."""
        method = method_class(self.method)
        if not method.layerwise:
            return 0
        if self.layer is None:
            return count - 1 if method.default_layer == "top" else bottom_third(count) - 1
        if not 1 <= self.layer <= count:
            raise NormalignError(f"there is no decoder layer {self.layer}; the model has {count}, counted from 1")
        return self.layer - 1

    def reading(self, count: int) -> Reading:
        """Return what is read of a decoder with ``count`` layers."""
        return Reading(self.method, self.layer_of(count), None if self.head is None else self.head - 1, self.setting)


def bottom_third(layers: int) -> int:
    """The 1-based layer a third of the way up: where norms align best in the papers and in our measurements."""
    return max(1, round(layers / 3))


def layer_argument(text: str | int | None) -> int | str | None:
    """'auto', a 1-based number, or nothing."""
    if text is None or text == "auto" or isinstance(text, int):
        return text
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise NormalignError(f"layer '{text}' is neither 'auto' nor a number from 1 on")
    return number


def _choose(what: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise NormalignError(f"unknown {what} '{value}'; choose one of {', '.join(choices)}")

"""How alignments are to be read: one set of options for fairseq's task, our commands and the Python interface."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..errors import NormalignError
from ..links.decide import NULL_POLICIES, parse_decision
from ..links.experts import OWN_AGREEMENT_FLOOR, Expert, bottom_third, default_expert, parse_expert
from ..links.readings import Reading
from ..links.words import STEPS
from ..methods import get_method, method_class
from ..methods.registry import ReadsLayer
from ..text.tags import TAGS

DEFAULT_STEP = "default"
"""The step that suits the method: the one its class names."""


@dataclass(frozen=True)
class AlignmentOptions:
    """Method, layer, head and step, all as a person types them: layer and head count from 1."""

    method: str = "norms"
    layer: int | None = None
    """1-based; None: the bottom third of the decoder (2 of 6, 1 of 3), or its top if the method is read there."""
    head: int | None = None
    """1-based; None: all heads together."""
    step: str = DEFAULT_STEP
    """awi or awo; the default becomes the method's own."""
    readings: str | None = None
    """Readings to multiply, as :func:`~fairseq_normalign.links.experts.parse_expert` reads them. None: the one that
    ``layer``, ``head`` and ``step`` name or, where none of them is given, two looks (see :meth:`expert`)."""
    decision: str | None = None
    """How links are decided, one of :data:`~fairseq_normalign.links.decide.DECISIONS`; None: argmax for one
    reading, grow-diag for several."""
    floor: float | None = None
    """The agreement that a link must exceed; None: what suits one direction, or two."""
    null: str = "best"
    tags: str = TAGS
    check: bool = False
    """Verify on every batch that what is read adds up to what the model computed; costs a second pass."""

    def __post_init__(self) -> None:
        one = self.layer is not None or self.head is not None or self.step != DEFAULT_STEP
        if one and self.readings is not None:
            raise NormalignError("give readings, or a layer, a head and a step, not both")
        object.__setattr__(self, "_names_one_reading", one)
        self._settle_method()
        if self.decision is not None:
            parse_decision(self.decision)
        if self.floor is not None and not 0 <= self.floor <= 1:
            raise NormalignError(f"the agreement that a link must exceed is a number from 0 to 1, not {self.floor}")
        _choose("null policy", self.null, NULL_POLICIES)
        try:
            re.compile(self.tags)
        except re.error as error:
            raise NormalignError(f"the pattern for language tags '{self.tags}' is not valid: {error}") from None

    def _settle_method(self) -> None:
        get_method(self.method)
        method = method_class(self.method)
        if self.step == DEFAULT_STEP:
            object.__setattr__(self, "step", method.default_step)
        _choose("step", self.step, STEPS)
        if self.step not in method.steps:
            raise NormalignError(
                f"the method '{method.name}' explains the word that a step puts out: "
                f"the step is {' or '.join(method.steps)}, not {self.step}"
            )
        for name, number in (("layer", self.layer), ("head", self.head)):
            if number is not None and (type(number) is not int or number < 1):
                raise NormalignError(f"the {name} is a whole number from 1 on, not {number!r}")
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
            return count - 1 if method.default_layer == "top" else bottom_third(count)
        if not 1 <= self.layer <= count:
            raise NormalignError(f"there is no decoder layer {self.layer}; the model has {count}, counted from 1")
        return self.layer - 1

    @property
    def names_one_reading(self) -> bool:
        """Whether a layer, a head or a step was given."""
        return bool(getattr(self, "_names_one_reading"))  # noqa: B009

    @property
    def can_look_twice(self) -> bool:
        """Whether the method reads single layers at both decoder steps."""
        method = method_class(self.method)
        return issubclass(method, ReadsLayer) and set(STEPS) <= set(method.steps)

    def expert(self, count: int) -> Expert:
        """Return the readings that decide, of a decoder with ``count`` layers.

        Without a choice these are two looks: the bottom third at AWI times the top layer at AWO.
        """
        if self.readings is not None:
            return self.checked(parse_expert(self.readings, method=self.method), count)
        if self.names_one_reading or not self.can_look_twice:
            return Expert((self.reading(count),), (1.0,))
        return default_expert(count, method=self.method)

    def checked(self, expert: Expert, count: int) -> Expert:
        """Return the expert; readings that a decoder with ``count`` layers does not have are an error."""
        for reading in expert.readings:
            head = None if reading.head is None else reading.head + 1
            replace(self, readings=None, method=reading.method, layer=None, head=head, step=reading.step)
            if reading.layer >= count:
                raise NormalignError(
                    f"there is no decoder layer {reading.layer + 1}; the model has {count}, counted from 1"
                )
        return expert

    def decision_for(self, expert: Expert) -> tuple[str, float]:
        """Return how the links of one direction are decided, and the agreement that they must exceed."""
        decision = self.decision or ("argmax" if len(expert.readings) == 1 else "grow-diag")
        return decision, OWN_AGREEMENT_FLOOR if self.floor is None else self.floor

    def reading(self, count: int) -> Reading:
        """Return the one reading that layer, head and step name, of a decoder with ``count`` layers."""
        return Reading(self.method, self.layer_of(count), None if self.head is None else self.head - 1, self.step)


def _choose(what: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise NormalignError(f"unknown {what} '{value}'; choose one of {', '.join(choices)}")

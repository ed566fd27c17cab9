"""How alignments are read, and everything else that loading a model for aligning takes: declared here once.

The command line, :func:`fairseq_normalign.load` and the fairseq tasks take their options from these classes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from ..errors import NormalignError
from ..links.decide import DECISIONS, NULL_POLICIES, parse_decision
from ..links.experts import AGREEMENT_FLOOR, OWN_AGREEMENT_FLOOR, Expert, bottom_third, default_expert, parse_expert
from ..links.pieces import LEVELS
from ..links.readings import Reading
from ..links.symmetrize import AGREED, SOFT_SYMMETRIZATIONS, SYMMETRIZATIONS
from ..links.words import STEPS
from ..options import (
    MODEL,
    READS,
    FilePath,
    FilePaths,
    check_values,
    option,
    optional,
    options,
    part_of,
    paths,
    switch,
)
from ..text.options import TextOptions
from ..text.vocabulary import TAGS

AUTO, DEFAULT = "auto", "default"
"""Readings that are chosen by the text, and those that suit most models."""
ALIKE = "agreed-grow-diag"
"""How two directions are combined where nothing else is asked for."""


@options
class AlignmentOptions:
    """Method, layer, head and step, all as a person types them: layer and head count from 1."""

    GROUP: ClassVar = "reading"
    method: str = option("norms, weights, or another registered method", default="norms", metavar="METHOD")
    readings: str | None = optional(
        "readings to multiply, for example 1.2:awi,3:awo^0.5 (LAYER[.HEAD]:STEP[^EXPONENT]); 'auto': one look "
        "after the word and one before it, chosen by the text if there is enough of it (the default where a text is "
        "aligned); 'default': the bottom third at awi times the top layer at awo",
        metavar="LIST",
    )
    layer: int | None = optional("one reading: this decoder layer, from 1 (the bottom third)", least=1)
    head: int | None = optional("one reading: this head alone, from 1 (all heads together)", least=1)
    step: str | None = optional(
        "one reading: where the word is the decoder's output (awo) or its input (awi); by default what suits the "
        "method (norms: awi)",
        choices=STEPS,
    )
    decision: str | None = optional(
        f"how links are decided: {', '.join(DECISIONS)}; with two directions by what they agree on (one direction "
        "with one reading: argmax, with several: grow-diag)",
        flags=["--decide"],
        metavar="HOW",
    )
    floor: float | None = optional(
        f"drop links with an agreement of X or less ({AGREEMENT_FLOOR} for two directions, {OWN_AGREEMENT_FLOOR} "
        "for one that is decided by grow-diag)",
        least=0,
        most=1,
    )
    null: str = option(
        "when the end of the sentence or a tag wins: link the best word, or leave the word unaligned",
        default="best",
        choices=NULL_POLICIES,
    )
    tags: str = option(
        "pattern of language tags in front of a sentence; tags are not words", default=TAGS, metavar="REGEX"
    )
    self_test: bool = switch("verify on every batch that what is read adds up to what the model computed (slow)")

    def __post_init__(self) -> None:
        from ..methods import get_method, method_class

        if self.names_one_reading and self.readings is not None:
            raise NormalignError("give readings, or a layer, a head and a step, not both")
        check_values(self)
        get_method(self.method)
        method = method_class(self.method)
        if self.step is not None and self.step not in method.steps:
            raise NormalignError(
                f"the method '{method.name}' explains the word that a step puts out: "
                f"the step is {' or '.join(method.steps)}, not {self.step}"
            )
        if self.layer is not None and not method.layerwise:
            raise NormalignError(
                f"the method '{method.name}' looks at the whole model: it has no layers to choose from"
            )
        if self.head is not None and not method.has_heads:
            raise NormalignError(f"the method '{method.name}' has no single heads to read")
        if self.decision is not None:
            parse_decision(self.decision)
        try:
            re.compile(self.tags)
        except re.error as error:
            raise NormalignError(f"the pattern for language tags '{self.tags}' is not valid: {error}") from None

    @property
    def names_one_reading(self) -> bool:
        """Whether a layer, a head or a step was given."""
        return not (self.layer is None and self.head is None and self.step is None)

    @property
    def can_look_twice(self) -> bool:
        """Whether the method reads single layers at both decoder steps."""
        from ..methods import method_class
        from ..methods.registry import ReadsLayer

        method = method_class(self.method)
        return issubclass(method, ReadsLayer) and set(STEPS) <= set(method.steps)

    def layer_of(self, count: int) -> int:
        """Return the 0-based layer to read of a decoder with ``count`` layers."""
        from ..methods import method_class

        method = method_class(self.method)
        if not method.layerwise:
            return 0
        if self.layer is None:
            return count - 1 if method.default_layer == "top" else bottom_third(count)
        if not 1 <= self.layer <= count:
            raise NormalignError(f"there is no decoder layer {self.layer}; the model has {count}, counted from 1")
        return self.layer - 1

    def expert(self, count: int) -> Expert:
        """Return the readings that decide, of a decoder with ``count`` layers, as long as none are chosen by a text.

        Without a choice these are two looks: the bottom third at AWI times the top layer at AWO.
        """
        if self.readings is not None and self.readings not in (AUTO, DEFAULT):
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
        from ..methods import method_class

        step = self.step or method_class(self.method).default_step
        return Reading(self.method, self.layer_of(count), None if self.head is None else self.head - 1, step)


@options
class ModelFields:
    """Which model, and where and how it computes."""

    GROUP: ClassVar = "model"
    path: FilePath = option(
        "fairseq checkpoint (a.pt:b.pt is an ensemble), folder or hub name of transformers, or a file, folder or "
        "archive of Marian, Firefox or CTranslate2",
        role=MODEL,
        kw_only=False,
    )
    data: FilePath | None = optional(
        "directory of the dictionaries (default: the checkpoint's)", metavar="DIR", role=MODEL
    )
    source_lang: str | None = optional("source language, where the model does not tell it or has several", metavar="L")
    target_lang: str | None = optional("target language", metavar="L")
    fixed_dictionary: FilePath | None = optional("multilingual: the dictionary of all languages", role=READS)
    lang_dict: FilePath | None = optional("multilingual: its languages, one per line, in their order", role=READS)
    lang_pairs: str | None = optional("multilingual: its directions, as a list or a file", metavar="PAIRS")
    user_dir: FilePaths = option(
        "code of an architecture or task for fairseq; repeatable", default=(), metavar="DIR", repeat=True, role=READS
    )
    device: str | None = optional(
        "where the model computes, for example cuda:1 (a GPU if there is one)",
        also={"--cpu": ("cpu", "use no GPU")},
    )
    precision: str = option(
        "in what the model computes: float32 by this processor's fastest products (auto) or by torch's own (float32); "
        "bfloat16, float16; int8 on a CPU. Norms are computed in float32",
        default="auto",
        choices=("auto", "float32", "bfloat16", "int8", "float16"),
    )
    max_tokens: int = option("pieces in a batch, per side, with padding", default=4000, least=1)


@options
class ReverseFields:
    """The model of the other direction, and how two directions are combined."""

    GROUP: ClassVar = "the other direction"
    reverse: FilePath | None = option(
        "model that translates target to source",
        default=None,
        flags=["--reverse-path"],
        also={"--reverse": ("", "the model of --path, the other way round, if it is multilingual")},
        role=MODEL,
        kw_only=False,
    )
    reverse_data: FilePath | None = optional(
        "dictionaries of the reverse model (default: next to it)", metavar="DIR", role=MODEL
    )
    reverse_bpe_codes: FilePaths = option(
        "codes of the reverse model: of both its sides, or its source and target (default: those of the first "
        "model, exchanged)",
        default=(),
        nargs="+",
        role=READS,
    )
    reverse_sentencepiece_model: FilePaths = option("the same for SentencePiece", default=(), nargs="+", role=READS)
    reverse_readings: str | None = optional("readings of the reverse model", metavar="LIST")
    symmetrize: str | None = optional(
        f"how two directions are combined: {', '.join(SYMMETRIZATIONS)}; with '{AGREED}' in front the soft "
        f"alignments are multiplied first ({ALIKE})",
        choices=(*SYMMETRIZATIONS, *SOFT_SYMMETRIZATIONS),
        metavar="WAY",
        needs=("reverse",),
    )


@options
class LoadOptions(ReverseFields, AlignmentOptions, TextOptions, ModelFields):
    """Everything that loading the model of one direction, or those of both, takes."""

    GROUP: ClassVar = "reading"
    choice: FilePaths = option(
        "readings that 'normalign layers --save' wrote: for the model and, if there is one, for the reverse model",
        default=(),
        nargs="+",
        role=READS,
    )
    level: str = option("what links count", default="word", choices=LEVELS)

    def text(self, *, reverse: bool = False) -> TextOptions:
        """Return how lines become pieces; ``reverse``: for the model of the other direction."""
        text = part_of(TextOptions, self)
        if reverse and (self.reverse_bpe_codes or self.reverse_sentencepiece_model):
            codes, models = self.reverse_bpe_codes, self.reverse_sentencepiece_model
            return replace(text, bpe_codes=codes, sentencepiece_model=models)
        return text.reversed() if reverse else text

    def alignment(self) -> AlignmentOptions:
        """Return how alignments are read."""
        return part_of(AlignmentOptions, self)

    def chooses_readings(self) -> bool:
        """Whether the readings are to be chosen by the text."""
        by_text = self.readings == AUTO or (self.readings is None and not self.names_one_reading)
        return by_text and not self.choice and self.can_look_twice

    def given_readings(self, chosen: Sequence[Expert] = ()) -> list[Expert | None]:
        """Return the readings of each direction that were saved or given, or ``chosen``; None: the default."""
        from ..analysis.choose_readings import read_choice

        found: list[Expert | None] = [read_choice(file) for file in paths(self.choice)] or list(chosen)
        if self.reverse_readings:
            found = [*(found or [None])[:1], parse_expert(self.reverse_readings, method=self.method)]
        return found

    def check_choice(self) -> None:
        """Refuse saved choices that other options contradict."""
        if self.choice and (self.readings or self.names_one_reading):
            raise NormalignError("a saved choice holds the readings; leave readings, layer, head and step out")
        if len(paths(self.choice)) > (1 if self.reverse is None else 2):
            raise NormalignError("a saved choice is needed for each model, and there are fewer models")
